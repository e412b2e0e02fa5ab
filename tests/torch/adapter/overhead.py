"""Cost of the adapter by level: nanoseconds that one RecordFunction event adds, with a runtime that only counts.

Not a test. PYTHON overhead.py, with HEARTH_TEST_RECORDER and HEARTH_TEST_ADAPTER set as for the tests. Levels are
interleaved and the minimum of many short rounds is taken, so that a busy machine disturbs it least.
"""
import time

import torch

import recorder

LEVELS = {"off": recorder.OFF, "steps": recorder.STEPS, "marks": recorder.MARKS, "operands": recorder.OPERANDS}


def events_of(action):
    before = recorder.lib.recorder_events()
    recorder.lib.recorder_level(recorder.MARKS)
    action()
    recorder.lib.recorder_level(recorder.OFF)
    return (recorder.lib.recorder_events() - before) / 2  # begin and end


def measure(label, action, rounds):
    events = events_of(action)
    best = dict.fromkeys(LEVELS, float("inf"))
    for _ in range(rounds):
        for name, level in LEVELS.items():
            recorder.lib.recorder_level(level)
            begin = time.perf_counter_ns()
            action()
            best[name] = min(best[name], time.perf_counter_ns() - begin)
    recorder.lib.recorder_level(recorder.OFF)
    added = ", ".join("%s +%.0f ns" % (n, (best[n] - best["off"]) / events) for n in LEVELS if n != "off")
    slower = ", ".join("%s %+.1f %%" % (n, 100 * (best[n] / best["off"] - 1)) for n in LEVELS if n != "off")
    print("%-22s %6.0f events, %8.1f us; per event: %s; time: %s" % (label, events, best["off"] / 1e3, added, slower))


def small_mlp():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(32, 32) for _ in range(10)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters())
    data = torch.randn(16, 32)

    def step():
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()

    step()
    return step


def repeated(action, times):
    def run():
        for _ in range(times):
            action()

    return run


if __name__ == "__main__":
    torch.set_num_threads(1)
    recorder.lib.recorder_silent(1)
    one = torch.ones(4)
    view = torch.ones(4, 4)
    measure("torch.empty(0) x 100", repeated(lambda: torch.empty(0), 100), 2000)
    measure("view(16) x 100", repeated(lambda: view.view(16), 100), 2000)
    measure("x + x, 4 numbers x 100", repeated(lambda: one + one, 100), 2000)
    measure("MLP 10 x 32, Adam", small_mlp(), 1000)
