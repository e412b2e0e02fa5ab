"""Of what is looked up by indices, only the rows are announced; of everything else, all that the view spans."""
import os
import subprocess
import sys
import unittest
import warnings

import torch
from torch.nn import functional as F

from recorder import READ, READ_WRITE, TORCH, WRITE, AdapterTest, storage_address, storage_bytes

warnings.filterwarnings("ignore", message="Sparse invariant checks")
ROW = 16 * 4


class Gathers(AdapterTest):
    def setUp(self):
        super().setUp()
        self.table, self.index = torch.ones(1000, 16), torch.tensor([3, 500, 3])

    def check(self, op, action, tensor, rows, row, access):
        record = self.record(action)
        self.assertEqual(record.gathers("aten::" + op, tensor), [(rows, row, access)], op)
        self.assertEqual(record.accesses("aten::" + op, tensor), [access], op)
        return record

    def test_rows_that_are_read(self):
        table, index = self.table, self.index
        offsets = torch.tensor([0, 2])
        self.check("embedding", lambda: torch.embedding(table, index), table, 3, ROW, READ)
        self.check("embedding", lambda: torch.embedding(table, index.view(3, 1)), table, 3, ROW, READ)
        self.check("_embedding_bag", lambda: F.embedding_bag(index, table.requires_grad_(), offsets, mode="sum"), table,
                   3, ROW, READ)
        table = table.detach()
        self.check("_embedding_bag_forward_only", lambda: F.embedding_bag(index, table, offsets), table, 3, ROW, READ)
        self.check("index_select", lambda: torch.index_select(table, 0, index), table, 3, ROW, READ)
        self.check("index_select", lambda: torch.index_select(table, -2, index), table, 3, ROW, READ)
        self.check("index", lambda: table[index], table, 3, ROW, READ)
        self.check("take", lambda: torch.take(table, index), table, 3, 4, READ)

    def test_rows_that_are_written(self):
        table, index, rows = self.table, self.index, torch.ones(3, 16)
        self.check("index_add_", lambda: table.index_add_(0, index, rows), table, 3, ROW, READ_WRITE)
        self.check("index_copy_", lambda: table.index_copy_(0, index, rows), table, 3, ROW, READ_WRITE)
        self.check("index_put_", lambda: table.index_put_((index,), rows, accumulate=True), table, 3, ROW, READ_WRITE)
        self.check("scatter_add_", lambda: table.scatter_add_(0, index.view(3, 1), rows), table, 3, 4, READ_WRITE)
        self.check("put_", lambda: table.put_(index, torch.ones(3)), table, 3, 4, READ_WRITE)

    def test_indices_that_were_expanded_name_rows(self):
        table, index, rows = self.table, self.index.view(3, 1).expand(3, 16), torch.ones(3, 16)
        self.check("gather", lambda: torch.gather(table, 0, index), table, 3, ROW, READ)
        self.check("gather", lambda: torch.gather(table, 0, index[:, :8]), table, 3, ROW // 2, READ)
        self.check("scatter_add_", lambda: table.scatter_add_(0, index, rows), table, 3, ROW, READ_WRITE)
        self.check("gather", lambda: torch.gather(table, 0, index.contiguous()), table, 3 * 16, 4, READ)
        # Down a column of a transposed table, neighbours in the index are none in memory.
        turned = torch.ones(16, 1000).t()
        self.check("gather", lambda: torch.gather(turned, 0, index), turned, 3 * 16, 4, READ)

    def test_sparse_updates(self):
        table = self.table
        sparse = torch.sparse_coo_tensor(torch.tensor([[3, 500]]), torch.ones(2, 16), (1000, 16)).coalesce()
        record = self.check("add_", lambda: table.add_(sparse, alpha=-0.1), table, 2, ROW, READ_WRITE)
        self.assertEqual(record.accesses("aten::add", table), [READ_WRITE])  # it calls the variant with an output
        self.check("sparse_mask", lambda: table.sparse_mask(sparse), table, 2, ROW, READ)
        record = self.record(lambda: torch.add(table, sparse))
        self.assertEqual(record.gathers("aten::add", table), [])

    @unittest.skipIf(TORCH < (2, 0), "no product of a dense and a sparse tensor before 2.0")
    def test_sparse_products(self):
        table = self.table
        sparse = torch.sparse_coo_tensor(torch.tensor([[3, 500]]), torch.ones(2, 16), (1000, 16)).coalesce()
        for product in (lambda: table * sparse, lambda: sparse * table):
            self.assertEqual(set(self.record(product).gathers("aten::mul", table)), {(2, ROW, READ)})

    def test_sparse_optimizers(self):
        """Nothing that an optimizer does with the sparse gradient of an embedding touches all of it."""
        for name in ("SGD", "Adagrad", "SparseAdam"):
            table = torch.nn.Embedding(1000, 16, sparse=True)
            optimizer = getattr(torch.optim, name)(table.parameters(), 0.1)

            def step():
                optimizer.zero_grad()
                table(self.index).sum().backward()
                optimizer.step()

            step()  # makes the state
            record = self.record(step)
            states = [state for state in optimizer.state[table.weight].values()
                      if torch.is_tensor(state) and state.dim() == 2]
            rows = 3 if name == "SGD" else 2  # the others add up what belongs to the same row first
            for op in ("add_", "add"):
                self.assertEqual(record.gathers("aten::" + op, table.weight), [(rows, ROW, READ_WRITE)], (name, op))
            for state in states:
                self.assertEqual(record.gathers("aten::add_", state), [(2, ROW, READ_WRITE)], name)
                self.assertEqual(record.gathers("aten::sparse_mask", state), [(2, ROW, READ)], name)
            for tensor in (table.weight, *states):
                whole = [op.name for op in record.ops() for operand in op.operands
                         if operand[0] == storage_address(tensor) and operand[2] == storage_bytes(tensor)]
                self.assertEqual(whole, [], name)

    def test_a_dense_gradient_is_written_whole(self):
        table = self.table.requires_grad_()
        record = self.record(lambda: torch.embedding(table, self.index).sum().backward())
        whole = (storage_address(table.grad), storage_bytes(table.grad), storage_bytes(table.grad), WRITE)
        self.assertIn(whole, [o for op in record.named("aten::embedding_dense_backward") for o in op.operands])

    def test_what_may_touch_all_of_it_is_no_gather(self):
        table, mask = self.table, torch.zeros(1000, dtype=torch.bool)
        actions = {
            "another dimension": lambda: torch.index_select(table, 1, self.index % 16),
            "two indices": lambda: table[self.index, self.index % 16],
            "not the first": lambda: table[:, self.index % 16],
            "a mask": lambda: table[mask],
            "more rows than there are": lambda: torch.embedding(table, torch.zeros(5000, dtype=torch.long)),
            "dense": lambda: table.add_(torch.ones(1000, 16)),
            "a number": lambda: table.add_(1),
        }
        for what, action in actions.items():
            record = self.record(action)
            self.assertEqual([op.name for op in record.ops() if op.gathers], [], what)
            views = {o[2] for each in record.ops() for o in each.operands if o[0] == storage_address(table)}
            self.assertEqual(views, {storage_bytes(table)}, what)

    def test_mistakes_are_the_operators_to_tell(self):
        for action in (lambda: torch.gather(self.table, -7, self.index.view(3, 1)),
                       lambda: torch.gather(self.table, 9, self.index.view(3, 1)),
                       lambda: torch.index_select(self.table, 5, self.index),
                       lambda: torch.embedding(self.table, torch.ones(3))):
            def fails():
                with self.assertRaises((RuntimeError, IndexError)): action()
            self.assertEqual(self.record(fails).open_ops(), [])

    @unittest.skipIf(TORCH < (2, 0), "torch.func came with 2.0")
    def test_wrapped_tensors(self):
        rows = torch.tensor([[1, 2], [3, 4]])
        record = self.record(lambda: torch.func.vmap(lambda each: torch.embedding(self.table, each))(rows))
        self.assertIn(READ, [x for op in record.ops() for x in record.accesses(op.name, self.table)])


class Bridges(unittest.TestCase):
    """An adapter and a runtime of different age."""
    PROGRAM = ("import torch\nfrom recorder import *\ntable, index = torch.ones(1000, 16), torch.tensor([3, 500])\n"
               "with recording(OPERANDS) as got: torch.embedding(table, index)\n"
               "(operand,) = [o for op in got[0].named('aten::embedding') for o in op.operands\n"
               "              if o[0] == storage_address(table)]\n"
               "print(operand[2], operand[3], len(got[0].gathers('aten::embedding', table)))")

    def attach(self, version):
        environment = dict(os.environ, HEARTH_TEST_BRIDGE=str(version))
        return subprocess.run([sys.executable, "-B", "-c", self.PROGRAM], env=environment, capture_output=True,
                              text=True, timeout=120, check=False)

    def test_an_older_runtime_is_told_the_bytes(self):
        done = self.attach(1)
        self.assertEqual((done.returncode, done.stdout.split()), (0, [str(2 * ROW), str(READ), "0"]), done.stderr)

    def test_a_newer_runtime_is_told_the_rows(self):
        done = self.attach(1000)
        self.assertEqual((done.returncode, done.stdout.split()), (0, [str(2 * ROW), str(READ), "1"]), done.stderr)

    def test_no_version_is_refused(self):
        done = self.attach(0)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("EPROTO", done.stderr)


if __name__ == "__main__":
    unittest.main()
