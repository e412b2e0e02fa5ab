"""Which storages each op announces, how, and how much of them."""
import unittest
import warnings

import torch

from recorder import READ, READ_WRITE, TORCH, WRITE, AdapterTest, storage_address, storage_bytes

warnings.filterwarnings("ignore", message=".*(nested tensors|[Ss]parse CSR|prototype).*")


class Accesses(AdapterTest):
    def test_out_of_place(self):
        a, b, kept = torch.ones(3), torch.ones(3), []
        record = self.record(lambda: kept.append(torch.add(a, b)))
        self.assertEqual(record.accesses("aten::add", a), [READ])
        self.assertEqual(record.accesses("aten::add", b), [READ])
        self.assertEqual(record.accesses("aten::add", kept[0]), [WRITE])

    def test_in_place(self):
        a, b = torch.ones(3), torch.ones(3)
        record = self.record(lambda: a.add_(b))
        self.assertEqual(record.accesses("aten::add_", a), [READ_WRITE])
        self.assertEqual(record.accesses("aten::add_", b), [READ])

    def test_overwriting_in_place_does_not_read(self):
        a, b = torch.ones(3), torch.ones(3)
        record = self.record(lambda: a.copy_(b).zero_().uniform_().fill_(2.0))
        for op in ("copy_", "zero_", "uniform_"):
            self.assertEqual(record.accesses("aten::" + op, a), [WRITE], op)
        self.assertEqual(set(record.accesses("aten::fill_", a)), {WRITE})
        self.assertEqual(record.accesses("aten::copy_", b), [READ])

    def test_out_variant_is_announced_with_the_storage_it_ends_with(self):
        a, out, grown = torch.ones(300), torch.empty(300), torch.empty(0)
        record = self.record(lambda: (torch.neg(a, out=out), torch.neg(a, out=grown)))
        self.assertEqual(record.accesses("aten::neg", out), [WRITE])
        self.assertEqual(record.accesses("aten::neg", grown), [WRITE])
        self.assertEqual(record.accesses("aten::neg", a), [READ, READ])

    def test_views_touch_nothing(self):
        a, own = torch.ones(4, 4), torch.ones(4, 4)
        views = {
            "view": lambda: a.view(16), "t": lambda: a.t(), "transpose": lambda: a.transpose(0, 1),
            "expand": lambda: a.expand(2, 4, 4), "slice": lambda: a[1:3], "select": lambda: a[1],
            "detach": lambda: a.detach(), "unsqueeze": lambda: a.unsqueeze(0), "alias": lambda: torch.ops.aten.alias(a),
            "as_strided": lambda: a.as_strided((2,), (1,)), "split": lambda: a.split(2), "chunk": lambda: a.chunk(2),
            "unbind": lambda: a.unbind(), "t_": lambda: own.t_(), "diagonal": lambda: a.diagonal(),
            "_unsafe_view": lambda: torch.ops.aten._unsafe_view(a, [16]), "permute": lambda: a.permute(1, 0),
        }
        for op, action in views.items():
            record = self.record(action)
            self.assertTrue(record.named("aten::" + op), op)
            self.assertEqual([o.operands for o in record.ops() if o.operands], [], op)

    def test_allocation_writes_nothing(self):
        a = torch.ones(4)
        record = self.record(lambda: (torch.empty(4), torch.empty_like(a), a.new_empty(4), torch.empty_strided((2,), (1,))))
        self.assertEqual([op.operands for op in record.ops() if op.operands], [])

    def test_making_a_like_does_not_read(self):
        a, kept = torch.ones(400), []
        record = self.record(lambda: kept.append(torch.zeros_like(a)))
        self.assertEqual(record.accesses("aten::zeros_like", a), [])
        self.assertEqual(record.accesses("aten::zero_", kept[0]), [WRITE])

    def test_composite_operators_leave_it_to_those_they_call(self):
        a, w = torch.ones(2, 3), torch.ones(4, 3)
        record = self.record(lambda: torch.nn.functional.linear(a, w))
        self.assertEqual(record.named("aten::linear")[0].operands, [])
        self.assertIn(READ, [x for op in ("aten::mm", "aten::matmul", "aten::addmm") for x in record.accesses(op, w)])

    def test_foreach_lists(self):
        lists = [[torch.ones(3) for _ in range(3)] for _ in range(2)]
        record = self.record(lambda: (torch._foreach_add_(lists[0], lists[1]), torch._foreach_zero_(lists[1])))
        for tensor in lists[0]:
            self.assertEqual(record.accesses("aten::_foreach_add_", tensor), [READ_WRITE])
        for tensor in lists[1]:
            self.assertEqual(record.accesses("aten::_foreach_add_", tensor), [READ])
            self.assertEqual(record.accesses("aten::_foreach_zero_", tensor), [WRITE])

    def test_lists_in_and_out(self):
        parts, kept = [torch.ones(2), torch.ones(3)], []
        record = self.record(lambda: kept.append(torch.cat(parts)))
        ops = ("aten::cat", "aten::_cat")
        for tensor, access in ((parts[0], READ), (parts[1], READ), (kept[0], WRITE)):
            self.assertIn(access, [x for op in ops for x in record.accesses(op, tensor)])

    def test_optional_tensors_in_lists(self):
        a, index = torch.ones(4, 4), torch.tensor([0, 2])
        record = self.record(lambda: a[:, index])
        self.assertEqual(record.accesses("aten::index", index), [READ])

    def test_running_statistics_are_written_in_training_only(self):
        norm, x = torch.nn.BatchNorm1d(3), torch.randn(8, 3)
        record = self.record(lambda: norm(x))
        self.assertEqual(record.accesses("aten::native_batch_norm", norm.running_mean), [READ_WRITE])
        norm.eval()
        record = self.record(lambda: norm(x))
        self.assertEqual(record.accesses("aten::native_batch_norm", norm.running_var), [READ])

    def test_bytes_span_the_view(self):
        base = torch.ones(10, 10)
        cases = [(base, 400), (base[2:4], 80), (base[:, 3], (9 * 10 + 1) * 4), (base.t(), 400),
                 (base[0, :1].expand(5), 4), (base[::2, ::3], (8 * 10 + 9 + 1) * 4)]
        for view, span in cases:
            record = self.record(lambda: view.neg())
            (operand,) = [o for op in record.named("aten::neg") for o in op.operands if o[0] == storage_address(base)]
            self.assertEqual(operand[1:], (storage_bytes(base), span, READ))


class SpecialTensors(AdapterTest):
    def test_undefined_and_empty(self):
        record = self.record(lambda: torch.nn.functional.layer_norm(torch.ones(2, 3), (3,)).sum() + torch.ones(0).sum())
        self.assertTrue(all(operand[2] > 0 for op in record.ops() for operand in op.operands))

    def test_meta(self):
        record = self.record(lambda: torch.ones(4, device="meta").neg())
        self.assertTrue(record.named("aten::neg"))
        self.assertEqual([op.operands for op in record.ops() if op.operands], [])

    def test_sparse_shows_indices_and_values(self):
        dense = torch.eye(4)
        sparse = dense.to_sparse()
        record = self.record(lambda: torch.sparse.mm(sparse, dense))
        announced = {operand[0] for op in record.ops() for operand in op.operands}
        self.assertIn(storage_address(sparse._values()), announced)
        self.assertIn(storage_address(sparse._indices()), announced)

    def test_what_a_sparse_tensor_tells_of_itself_touches_nothing(self):
        sparse = torch.eye(4).to_sparse()
        record = self.record(lambda: (sparse._nnz(), sparse.sparse_dim(), sparse.dense_dim(), sparse.is_coalesced()))
        self.assertTrue(record.ops())
        self.assertEqual([op.operands for op in record.ops() if op.operands], [])

    def test_compressed_sparse(self):
        dense = torch.eye(4)
        sparse = dense.to_sparse_csr()
        record = self.record(lambda: sparse.to_dense())
        announced = {operand[0] for op in record.ops() for operand in op.operands}
        for part in (sparse.values(), sparse.crow_indices(), sparse.col_indices()):
            self.assertIn(storage_address(part), announced)

    def test_quantized(self):
        quantized = torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.quint8)
        record = self.record(quantized.dequantize)
        self.assertEqual(record.accesses("aten::dequantize", quantized), [READ])

    def test_nested(self):
        parts = [torch.ones(2, 3), torch.ones(4, 3)]
        nested = (torch.nested.nested_tensor if TORCH >= (1, 13) else torch.nested_tensor)(parts)
        record = self.record(lambda: nested * 2)
        self.assertTrue(any(op.operands for op in record.ops()))

    @unittest.skipUnless(torch.backends.mkldnn.is_available(), "this PyTorch has no oneDNN")
    def test_opaque(self):
        opaque = torch.ones(4, 4).to_mkldnn()
        record = self.record(opaque.relu)
        self.assertEqual([op.operands for op in record.named("aten::relu") if op.operands], [])

    @unittest.skipUnless(hasattr(torch, "_lazy_clone"), "no copy-on-write tensors before 2.2")
    def test_copy_on_write_stays_lazy(self):
        base = torch.ones(100)
        clone = torch._lazy_clone(base)
        self.assertTrue(torch._C._is_cow_tensor(base) and torch._C._is_cow_tensor(clone))
        record = self.record(lambda: (clone + 1, torch.add(base, 1)))
        self.assertTrue(torch._C._is_cow_tensor(base) and torch._C._is_cow_tensor(clone))
        self.assertEqual(record.accesses("aten::add", clone), [READ, READ])  # one storage, twice

    def test_subclass_and_vmap(self):
        class Mine(torch.Tensor):
            pass

        mine = torch.ones(3).as_subclass(Mine)
        record = self.record(lambda: mine.neg())
        self.assertEqual(record.accesses("aten::neg", mine.as_subclass(torch.Tensor)), [READ])
        if TORCH >= (2, 0):
            rows = torch.ones(4, 3)
            record = self.record(lambda: torch.func.vmap(torch.sin)(rows))
            self.assertIn(READ, record.accesses("aten::sin", rows))


if __name__ == "__main__":
    unittest.main()
