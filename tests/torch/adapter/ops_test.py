"""Op begin and end pair whatever the program does; names, scopes and steps are right."""
import threading
import unittest

import torch

import recorder
from recorder import AdapterTest, BACKWARD_FUNCTION, FUNCTION, MARKS, OFF, OPERANDS, STEPS, TORCH, lib, recording


class Pairing(AdapterTest):
    def test_nested_ops_are_inside_their_caller(self):
        a, b, c = torch.ones(3), torch.ones(4, 3), torch.ones(4)
        record = self.record(lambda: torch.nn.functional.linear(a, b, c), MARKS)
        (linear,) = record.named("aten::linear")
        self.assertEqual(linear.scope, FUNCTION)
        self.assertGreater(len(list(linear.walk())), 2)
        self.assertEqual([op for op in record.ops() if op.operands], [])

    def test_an_op_that_raises_ends(self):
        def action():
            for _ in range(3):
                with self.assertRaises(RuntimeError):
                    torch.mm(torch.ones(2, 3), torch.ones(2, 3))
            torch.ones(2) + 1

        for level in (MARKS, OPERANDS):
            record = self.record(action, level)
            self.assertEqual(len(record.named("aten::mm")), 3)
            self.assertTrue(all(op.ended for op in record.named("aten::mm")))

    def test_user_scopes_that_are_left_in_the_wrong_order(self):
        def action():
            first = torch.autograd.profiler.record_function("first")
            second = torch.autograd.profiler.record_function("second")
            first.__enter__()
            second.__enter__()
            first.__exit__(None, None, None)
            torch.ones(2).neg()
            second.__exit__(None, None, None)
            torch.ones(2).abs()

        record = self.record(action, MARKS)
        (second,) = record.named("second")
        self.assertEqual([op.name for op in second.inner if op.name == "aten::neg"], ["aten::neg"])
        outermost = [op.name for op in list(record.threads.values())[0]]
        self.assertIn("aten::abs", outermost)

    def test_a_scope_that_ends_on_another_thread(self):
        def action():
            scope = torch.autograd.profiler.record_function("wanders")
            scope.__enter__()
            thread = threading.Thread(target=lambda: scope.__exit__(None, None, None))
            thread.start()
            thread.join()
            torch.ones(2).abs()

        record = self.record(action, MARKS)
        (scope,) = record.named("wanders")
        self.assertNotIn("aten::abs", [op.name for op in scope.walk()])

    def test_very_deep_nesting(self):
        def descend(depth):
            if depth == 0:
                return torch.ones(1)
            with torch.autograd.profiler.record_function("level"):
                return descend(depth - 1)

        record = self.record(lambda: descend(300), MARKS)
        self.assertEqual(len(record.named("level")), 300)

    def test_threads_have_stacks_of_their_own(self):
        def work():
            for _ in range(50):
                (torch.ones(8, requires_grad=True) * 2).sum().backward()

        def action():
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        record = self.record(action, OPERANDS)
        self.assertEqual(len([t for t, ops in record.threads.items() if ops]), 4)
        self.assertEqual(len(record.named("aten::sum")) >= 200, True)


class Names(AdapterTest):
    def test_backward(self):
        weight = torch.ones(3, requires_grad=True)
        record = self.record(lambda: (weight * 2).sum().backward(), MARKS)
        (node,) = record.named("MulBackward0")
        self.assertEqual(node.scope, BACKWARD_FUNCTION)
        (forward,) = record.named("aten::mul")[:1]
        self.assertEqual(node.sequence, forward.sequence)
        self.assertTrue(record.named("autograd::engine::evaluate_function: MulBackward0"))
        self.assertTrue(record.named("torch::autograd::AccumulateGrad"))

    def test_scopes_whose_names_share_memory(self):
        names = ["scope %d" % i for i in range(200)] * 2
        def action():
            for name in names:
                with torch.autograd.profiler.record_function(name):
                    pass

        record = self.record(action, MARKS)
        self.assertEqual([op.name for op in record.ops() if op.name.startswith("scope ")], names)

    @unittest.skipIf(TORCH < (2, 0), "torch.library cannot take a definition back before 2.0")
    def test_an_operator_that_takes_the_place_of_another(self):
        for name in ("first", "second", "third"):
            library = torch.library.Library("hearth_" + name, "DEF")
            library.define("%s(Tensor x) -> Tensor" % name)
            library.impl(name, lambda x: x.neg(), "CPU")
            op = getattr(getattr(torch.ops, "hearth_" + name), name)
            record = self.record(lambda: op(torch.ones(2)))
            (called,) = record.named("hearth_%s::%s" % (name, name))
            self.assertEqual([operand[3] for operand in called.operands], [recorder.READ, recorder.WRITE])
            library._destroy()
            del op, library


class Levels(AdapterTest):
    def test_off_reports_nothing(self):
        before = lib.recorder_events()
        torch.ones(3).add(1)
        self.assertEqual(lib.recorder_events(), before)

    def test_steps_reports_steps_only(self):
        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([weight], lr=0.1)

        def action():
            weight.sum().backward()
            optimizer.step()

        record = self.record(action, STEPS)
        self.assertEqual(list(record.ops()), [])
        self.assertEqual([step[1] for step in record.steps], ["Optimizer.step#SGD.step"] * 2)

    def test_changes_from_inside_every_callback(self):
        """Ops that are open while the level changes still end, and what follows has the new level."""
        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.Adam([weight])

        def step():
            (weight * 2).sum().backward()
            optimizer.step()

        step()
        for kind in b"BESsO":
            for start in (STEPS, MARKS, OPERANDS):
                for target in (OFF, STEPS, MARKS, OPERANDS):
                    if (start == STEPS and kind in b"BEO") or (start == MARKS and kind in b"O"):
                        continue
                    with recording(start) as result:
                        lib.recorder_level_at(bytes([kind]), target)
                        step()
                        self.assertEqual(lib.recorder_level_status(), 0)
                    self.assert_paired(result[0])
                    with recording(target) as after:
                        step()
                    self.assert_paired(after[0])
                    self.assertEqual(bool(after[0].named("aten::mul")), target >= MARKS)
                    self.assertEqual(bool(after[0].steps), target >= STEPS)

    def test_changes_while_other_threads_work(self):
        stop = threading.Event()

        def work():
            while not stop.is_set():
                torch.ones(4).add(1).sum()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        lib.recorder_take()
        for i in range(300):
            self.assertEqual(lib.recorder_level((MARKS, OPERANDS, OFF, STEPS)[i % 4]), 0)
        lib.recorder_level(OFF)
        stop.set()
        for thread in threads:
            thread.join()
        self.assert_paired(recorder.Recording(lib.recorder_take().decode()))

    def test_an_unknown_level_is_refused(self):
        self.assertNotEqual(lib.recorder_level(4), 0)


class Steps(AdapterTest):
    def test_two_optimizers_of_one_class_differ(self):
        make = lambda: torch.optim.Adam([torch.nn.Parameter(torch.ones(3))])
        generator, discriminator = make(), make()
        for optimizer in (generator, discriminator):
            optimizer.param_groups[0]["params"][0].grad = torch.ones(3)

        def action():
            discriminator.step()
            generator.step()
            discriminator.step()

        record = self.record(action, STEPS)
        order = [id(discriminator), id(generator), id(discriminator)]
        self.assertEqual([step[2] for step in record.steps], [i for i in order for _ in range(2)])
        self.assertEqual([step[0] for step in record.steps], ["begin", "end"] * 3)

    def test_identity_keeps_no_reference_and_no_error(self):
        import sys

        weight = torch.nn.Parameter(torch.ones(3))
        weight.grad = torch.ones(3)
        optimizer = torch.optim.SGD([weight], lr=0.1)
        optimizer.step()
        before = sys.getrefcount(optimizer)
        record = self.record(lambda: [optimizer.step() for _ in range(5)] and None, STEPS)
        self.assertEqual(sys.getrefcount(optimizer), before)
        self.assertEqual(len(record.steps), 10)

    def test_lbfgs_runs_its_closures_inside_the_step(self):
        weight = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
        optimizer = torch.optim.LBFGS([weight], max_iter=4)

        def closure():
            optimizer.zero_grad()
            loss = (weight * weight * weight).sum()
            loss.backward()
            return loss

        record = self.record(lambda: optimizer.step(closure), MARKS)
        self.assertEqual([(step[0], step[2]) for step in record.steps], [("begin", id(optimizer)), ("end", id(optimizer))])
        self.assertGreater(len(record.named("MulBackward0")), 2)
        self.assertTrue(record.named("Optimizer.zero_grad#LBFGS.zero_grad"))

    def test_a_step_that_raises_ends(self):
        class Broken(torch.optim.Optimizer):
            def __init__(self, parameters):
                super().__init__(parameters, {})

            def step(self, closure=None):
                raise ValueError("no")

        optimizer = Broken([torch.nn.Parameter(torch.ones(1))])

        def action():
            with self.assertRaises(ValueError):
                optimizer.step()

        record = self.record(action, STEPS)
        self.assertEqual([step[2] for step in record.steps], [id(optimizer)] * 2)

    def test_a_scope_of_that_name_without_optimizer(self):
        def action():
            with torch.autograd.profiler.record_function("Optimizer.step#Mine.step"):
                pass

        record = self.record(action, STEPS)
        self.assertEqual([step[1:3] for step in record.steps], [("Optimizer.step#Mine.step", 0)] * 2)


if __name__ == "__main__":
    unittest.main()
