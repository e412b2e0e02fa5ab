"""TorchScript's forked tasks: a task that waits may go on, and end, on another thread.

In a process of its own: a scope that ended elsewhere is closed when the thread that began it begins its next op, which a
thread of the pool may do much later.
"""
import time
import unittest

import torch

from recorder import FUNCTION, OPERANDS, TORCHSCRIPT_FUNCTION, AdapterTest, recording


@torch.jit.script
def child(x: torch.Tensor):
    return (x @ x).relu()


@torch.jit.script
def parent(x: torch.Tensor):
    tasks = [torch.jit.fork(child, x) for _ in range(8)]
    total = torch.zeros_like(x)
    for task in tasks:
        total += torch.jit.wait(task)
    return total


class Tasks(AdapterTest):
    def test_every_op_ends_and_the_main_thread_is_left_with_nothing_open(self):
        x = torch.ones(4, 4)
        expected = parent(x)
        with recording(OPERANDS) as result:
            torch.ones(1)
            results = [parent(x) for _ in range(10)]
            time.sleep(0.2)  # the tasks' frames are destroyed after their results are there
            torch.ones(2).neg()
            torch.ones(2).abs()
        self.assertTrue(all(torch.equal(value, expected) for value in results))
        (record,) = result
        self.assertEqual(len(record.named("<forked function>")), 80)
        self.assertEqual([op.name for op in record.ops() if op.scope == FUNCTION and not op.ended], [])
        self.assertEqual((record.unmatched_ends, record.stray_operands), (0, 0))
        main = record.threads["1"]
        self.assertEqual([op.name for op in main if not op.ended], [])
        self.assertEqual([op.name for op in main if op.name == "aten::abs"], ["aten::abs"])
        self.assertEqual({op.scope for op in record.ops() if not op.ended} - {TORCHSCRIPT_FUNCTION}, set())


if __name__ == "__main__":
    unittest.main()
