"""The Python module with the real library and a real PyTorch: run under LD_PRELOAD, ends with status 0 if all holds."""

import json
import os
import tempfile

import torch

import hearth

first = torch.empty(1 << 18)
assert hearth.active() and hearth.state() == "observe", hearth.state()

before = hearth.counters()
kept = [torch.empty(1 << 16) for _ in range(5)]
after = hearth.counters()
assert after.allocations - before.allocations == 5, (before, after)
assert after.live_bytes - before.live_bytes == 5 * (4 << 16), (before, after)

found = hearth.find(first[1000:2000])
assert found is not None and found.address == first.data_ptr() and found.bytes == 4 << 18, found
assert hearth.find(id(first)) is None
del first
assert hearth.find(found.address) is None


@hearth.iteration
def step():
    return (kept[0] * 2).sum()


for _ in range(6):
    step()
    with hearth.iteration():
        kept[1].add_(1)
assert hearth.counters().iterations >= 10, hearth.counters()

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "report.json")
    assert hearth.write_report(path)
    with open(path) as file:
        assert json.load(file)["schema_version"] == 1
    try:
        hearth.write_report(os.path.join(folder, "absent", "report.json"))
    except OSError as error:
        assert error.errno != 0
    else:
        raise AssertionError("a report into a folder that does not exist should fail")
print("ok")
