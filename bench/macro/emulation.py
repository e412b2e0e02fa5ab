#!/usr/bin/env python3
"""Are the emulated tiers as slow as their machine's figures say?

Four ops whose traffic is known: a large add, an Adam step on one large parameter, a matrix product, a gather of rows.
Each runs under Hearth with one tier, with everything fast and with everything slow (HEARTH_TIERS=emulated), in turn, and
the times of both tiers are compared with what the roofline of docs/tiers.md predicts from the first: max(time with one
tier, time of the traffic). Shown is the median over the rounds, and the error of the emulation against the prediction.

--models adds whole trainings (all of bench/models, or those that are named): step time with everything fast and with
everything slow, and what part of their difference the emulation says it waited.

--machine FILE is a machine.json with two tiers, as `hearth probe --scale optane-100 -o FILE` writes it."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import runs

FLOAT = 4
ELEMENTS = 16 << 20  # of the large tensors: 64 MiB, beyond any cache
ROWS, WIDTH, GATHERED = 1 << 21, 64, 1 << 17  # a table of 512 MiB
SIDE = 2048
WARM_UP_STEPS = 2

PROGRAM = """
import json, sys, time, torch
torch.set_num_threads(int(sys.argv[2])); torch.manual_seed(0)
n, rows, width, gathered, side, repeats = map(int, sys.argv[3:9])
which = sys.argv[1]
if which == "add":
    a, b, out = torch.ones(n), torch.ones(n), torch.empty(n)
    step = lambda: torch.add(a, b, out=out)
elif which == "adam":
    p = torch.nn.Parameter(torch.ones(n)); p.grad = torch.ones(n)
    optimizer = torch.optim.Adam([p], foreach=False)
    step = optimizer.step
elif which == "product":
    a, b, out = torch.ones(side, side), torch.ones(side, side), torch.empty(side, side)
    step = lambda: torch.mm(a, b, out=out)
else:
    table = torch.ones(rows, width); index = torch.randint(rows, (gathered,))
    step = lambda: torch.nn.functional.embedding(index, table)
times = []
for _ in range(repeats + 2):
    begin = time.perf_counter_ns(); step(); times.append(time.perf_counter_ns() - begin)
print(json.dumps(times[2:]))
"""


def seconds(traffic, speed):
    """traffic: (bytes read, bytes written)"""
    return traffic[0] / speed["read"] + traffic[1] / speed["write"]


def predictions(machine, tier, version):
    """op: seconds of its traffic with everything on that tier."""
    speed = machine[tier]
    large = ELEMENTS * FLOAT
    cores = machine["cores"] or 1
    by_latency = GATHERED * speed["latency_ns"] * 1e-9 / (machine["outstanding"] * cores)
    by_bytes = GATHERED * WIDTH * FLOAT / speed["read"]
    gathered = GATHERED * WIDTH * FLOAT
    # PyTorch 1.x updates the first moment by mul_ and add_, which reads and writes it once more than lerp_ does.
    first_moment = seconds((large, large), speed) if version.startswith("1.") else 0
    return {
        "add": seconds((2 * large, large), speed),
        # exp_avg.lerp_, exp_avg_sq.mul_, .addcmul_, sqrt, / bias, + eps, param.addcdiv_: operands of each, in turn
        "adam": first_moment + seconds((2 * large, large), speed) + seconds((large, large), speed) +
        seconds((3 * large, large), speed) + 3 * seconds((large, large), speed) + seconds((3 * large, large), speed),
        "product": seconds((2 * SIDE * SIDE * FLOAT, SIDE * SIDE * FLOAT), speed),
        "gather": max(by_latency, by_bytes) + seconds((GATHERED * 8, gathered), speed),
    }


def run(op, policy, arguments, python):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEARTH_")}
    environment.update(LD_PRELOAD=str(arguments.library), HEARTH_PROFILE="off", HEARTH_TIERS="single")
    if policy:
        environment.update(HEARTH_TIERS="emulated", HEARTH_POLICY=policy, HEARTH_MACHINE=str(arguments.machine))
    words = [op, arguments.threads, ELEMENTS, ROWS, WIDTH, GATHERED, SIDE, arguments.repeats]
    done = subprocess.run([python, "-c", PROGRAM, *map(str, words)], env=environment, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{op} {policy or 'with one tier'}: {done.stderr[-500:]}")
    return statistics.median(json.loads(done.stdout.splitlines()[-1])) / 1e9


def run_model(model, policy, arguments):
    """Median seconds of a step without the first ones, and seconds waited in a step."""
    settings = ("HEARTH_TIERS=emulated", f"HEARTH_POLICY={policy}", f"HEARTH_MACHINE={arguments.machine}")
    done = runs.run(model, "observing", arguments.python, arguments.library,
                    runs.step_options(model, arguments.steps, arguments.threads, arguments.small), settings=settings)
    if done.error:
        sys.exit(f"{model} with {policy}: {done.error}")
    steps = done.record["step_wall_ns"]
    waited = done.report["tiers"]["emulation"]["charged_ns"] / len(steps)
    return statistics.median(steps[WARM_UP_STEPS:]) / 1e9, waited / 1e9


def show_models(arguments):
    rows = []
    for model in arguments.models or runs.MODELS:
        fast, _ = run_model(model, "all-fast", arguments)
        slow, waited = run_model(model, "all-slow", arguments)
        rows.append((model, f"{fast * 1e3:.1f}", f"{slow * 1e3:.1f}", f"{slow / fast:.2f}", f"{waited * 1e3:.1f}"))
        runs.progress(f"{model}: {slow / fast:.2f}")
    print()
    print(runs.markdown(("model", "all fast, ms", "all slow, ms", "ratio", "waited in a step, ms"), rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, default=runs.PROJECT / "build/lib/libhearth.so")
    parser.add_argument("--machine", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--models", nargs="*", metavar="NAME", help="whole trainings too; without names all")
    parser.add_argument("--small", action="store_true", help="the small sizes of the trainings")
    parser.add_argument("--steps", type=int, default=8, help="of a training (default 8)")
    arguments = parser.parse_args()
    version = subprocess.run([arguments.python, "-c", "import torch; print(torch.__version__)"], capture_output=True,
                             text=True, check=True).stdout
    machine = json.loads(arguments.machine.read_text(encoding="utf-8"))["machine"]
    tiers = {"fast": "all-fast", "slow": "all-slow"}
    predicted = {tier: predictions(machine, tier, version) for tier in tiers}
    rows = []
    for op in predicted["slow"]:
        times = {policy: [] for policy in ("", *tiers.values())}
        for _ in range(arguments.rounds):
            for policy, taken in times.items():
                taken.append(run(op, policy, arguments, arguments.python))
        host = statistics.median(times[""])
        for tier, policy in tiers.items():
            traffic, measured = predicted[tier][op], statistics.median(times[policy])
            expected = max(host, traffic)
            rows.append((op, tier, f"{host * 1e3:.2f}", f"{traffic * 1e3:.2f}", f"{expected * 1e3:.2f}",
                         f"{measured * 1e3:.2f}", f"{(measured / expected - 1) * 100:+.1f} %"))
    print(runs.markdown(("op", "everything", "one tier, ms", "its traffic, ms", "predicted, ms", "emulated, ms",
                         "error"), rows))
    if arguments.models is not None:
        show_models(arguments)


if __name__ == "__main__":
    main()
