#!/usr/bin/env python3
"""AutoTM's trainings, of hundreds of gigabytes, simulated from traces of small batches.

Traces each network at two small batches, has `hearth scale` extrapolate them to the batch of the paper (Hildebrand et al.,
ASPLOS 2020), and simulates with `hearth sweep` what a step takes with the paper's limit of fast memory, and with slow
memory 8, 4 and 1 times the fast one. Prints the paper's figures beside ours, and every assumption. Neither time nor
footprint is measured at those batches. --set conventional takes the paper's smaller batches.

--folder keeps traces and sweeps: a run that was stopped goes on with what is there."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass

import autotm
import runs
import tiered
from autotm import MODES, geomean, header, row

SCHEMA_VERSION = 1
STEPS = 2  # the second one is profiled: plain SGD has no state to make in the first
LIMIT = 185_000_000_000
LIMIT_NAME = "185 GB"
SIZES = {**autotm.SIZES, LIMIT_NAME: str(LIMIT)}
POLICIES = ("all-slow", "first-touch", *MODES, "sentinel")


@dataclass(frozen=True)
class Network:
    title: str
    model: str       # in bench/models
    options: tuple
    batches: tuple   # that are traced
    paper: dict      # by set: the paper's batch, and its footprint in GB where a comment in AutoTM's repository has it


NETWORKS = {
    "resnet200": Network("ResNet-200", "resnet50", ("--layers", 200, "--image", 224), (16, 32),
                         {"large": (2560, 651), "conventional": (512, None)}),
    "vgg416": Network("VGG-416", "vgg", ("--layers", 416), (1, 2), {"large": (320, 658)}),
    "vgg19": Network("VGG-19", "vgg", ("--layers", 19), (8, 16), {"conventional": (2048, None)}),
    "densenet264": Network("DenseNet-264", "densenet", (), (16, 32), {"large": (3072, 688), "conventional": (512, None)}),
    "inception_v4": Network("Inception v4", "inception_v4", (), (16, 32),
                            {"large": (6144, 659), "conventional": (1024, None)}),
}
SETS = {"large": tuple(SIZES), "conventional": tuple(autotm.SIZES)}
# What the paper's abstract says, geometric means over networks that it does not name.
PUBLISHED_FIRST_TOUCH, PUBLISHED_AUTOTM = 0.719, 0.277

ASSUMPTIONS = """\
1. **Bytes and times are extrapolated.** Every tensor's bytes and every op's time lie on the line through two measured
   batches ({batches}). Op times are of one thread, {clock}. For what caches hold at those batches and not at the
   paper's, only the traffic of assumption 5 stands.
2. **The networks** are those of AutoTM's repository (`zoo/*.jl`) written in PyTorch: VGG-416 has 81 + 81 + 82 + 83 + 83
   convolutions, DenseNet's transitions go back to 64 channels, Inception has no batch normalization. ResNet-200 is that of
   He et al., with momentum; AutoTM's has no normalization after the first convolution and strides elsewhere.
3. **The framework** is PyTorch, not nGraph: what autograd keeps, and what it does in place, decides the footprint.
4. **The machine** is the preset `{machine}`, scaled to one thread of this host ({gflops:.0f} GFLOP/s), so that arithmetic and
   memory are in the proportion that they have there; nothing of its memory is measured. NUMA, page faults and the cost of
   single moves are left out.
5. **An op's time** is the greater one of its own and its operands' traffic. AutoTM measured each op in each placement.
6. **All that is traced has a place:** weights and gradients too, which AutoTM pins in DRAM and does not count.
7. **Slow copies stay valid** until what was fetched is written, as in AutoTM.
8. **Programs had {seconds:g} s each** with {solver}: their schedules are not the best ones (`gap`). Where one was no better
   than sentinel's, mode `asynchronous` has that. AutoTM's CPU figures are of mode `synchronous`.
9. **A ratio** is that of slow to fast memory, both together the peak of all tensors; {limit} are 185 x 10^9 bytes."""


def trace_settings(arguments, path):
    settings = [f"HEARTH_TRACE={path}", "HEARTH_PROFILE_AT=1", "HEARTH_PLAN=off"]
    if arguments.cpu_clock:
        settings += ["HEARTH_PERF=off", f"LD_PRELOAD={arguments.library}:{arguments.cpu_clock}"]
    return settings


def trace(network, batch, arguments, path):
    if path.is_file():
        return
    runs.progress(f"tracing {network.title} at batch {batch}")
    options = ["--steps", STEPS, "--threads", 1, "--batch", batch, *network.options]
    done = runs.run(network.model, "ops", arguments.python, arguments.library, options, timeout=4 * 3600,
                    settings=trace_settings(arguments, path))
    if done.error or not path.is_file():
        sys.exit(f"{network.title}, batch {batch}: {done.error or 'no trace was written'}")


def told(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {runs.last_line(done.stderr)}")
    return json.loads(done.stdout)


def cached(path, make):
    """What the file holds; made and written if it is not there."""
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8"))
    made = make()
    runs.save(path, made)
    return made


def scaled(name, network, batch, arguments, folder):
    measured = {size: folder / f"{name}-b{size}.trace" for size in network.batches}
    for size, path in measured.items(): trace(network, size, arguments, path)
    made = folder / f"{name}-b{batch}-scaled.trace"
    return made, told([arguments.tool, "scale", *(f"{size}={path}" for size, path in measured.items()), "--to", batch, "-o",
                       made, "--json"])


def sweep(arguments, path, machine, mode, size, folder):
    """`hearth sweep` at one size: a program that is solved need not be solved again."""
    name = f"{path.stem}-{mode}-{size.replace(':', 'to').replace(' ', '')}-{arguments.time_limit:g}s-{arguments.slots}.json"

    def make():
        runs.progress(f"{path.stem}, {mode}, {size}")
        return told([arguments.tool, "sweep", path, "--machine", machine, "--sizes", SIZES[size], "--autotm", "--mode", mode,
                     "--time-limit", arguments.time_limit, "--slots", arguments.slots, "--json"])

    return cached(folder / name, make)


def figures_of(name, network, paper, scale, swept):
    """`swept`: by size, then by mode."""
    any_size = next(iter(swept.values()))[MODES[-1]]
    figures = {"network": name, "title": network.title, "batch": paper[0], "paper_gb": paper[1],
               "traced": list(network.batches), "scale": scale, "ops": any_size["ops"],
               "peak_bytes": any_size["peak_bytes"], "all_fast_ns": any_size["all_fast_ns"], "points": {}}
    for size, by_mode in swept.items():
        points = {mode: each["points"][0] for mode, each in by_mode.items()}
        point = points[MODES[-1]]
        steps = {"all-slow": any_size["all_slow_ns"]}
        steps.update({policy: point["step_ns"][policy] for policy in ("first-touch", "sentinel")})
        steps.update({mode: each["step_ns"][f"autotm-{mode}"] for mode, each in points.items()})
        figures["points"][size] = {"fast_bytes": point["fast_bytes"], "step_ns": steps,
                                   "autotm": {mode: each["autotm"] for mode, each in points.items()}}
    return figures


def footprints_table(networks):
    lines = header("network", "batches traced", "their peaks", "batch", "peak here", "the paper's", "here / there",
                   "a step, all fast", "without counterpart")
    for each in networks:
        peaks, scale = each["scale"]["peak_bytes"], each["scale"]
        gb, paper = each["peak_bytes"] / 1e9, each["paper_gb"]
        lines.append(row(each["title"], ", ".join(map(str, each["traced"])),
                         ", ".join(f"{peak / 1e9:.2f} GB" for peak in peaks[:2]), each["batch"], f"{gb:.0f} GB",
                         f"{paper:g} GB" if paper else "", f"{gb / paper:.2f}" if paper else "",
                         f"{each['all_fast_ns'] / 60e9:.0f} min",
                         f"{scale['events_alone'] / scale['events'] * 100:.2f} %"))
    return lines


def loss(each, size, policy):
    return each["points"][size]["step_ns"][policy] / each["all_fast_ns"]


def times_table(networks, size):
    """Step times as multiples of everything fast, and their geometric mean."""
    lines = header("network", "fast memory", *POLICIES)
    for each in networks:
        lines.append(row(each["title"], f"{each['points'][size]['fast_bytes'] / 1e9:.0f} GB",
                         *(f"{loss(each, size, policy):.2f}" for policy in POLICIES)))
    means = [geomean([loss(each, size, policy) for each in networks]) for policy in POLICIES]
    lines.append(row("geometric mean", "", *(f"{mean:.2f}" for mean in means)))
    return lines


def programs_table(networks, size):
    lines = header("network", "ops", "columns", "rows", *(f"{mode}: gap" for mode in MODES), "memory")
    for each in networks:
        programs = each["points"][size]["autotm"]
        last = programs[MODES[-1]]
        lines.append(row(each["title"], each["ops"], last["columns"], last["rows"],
                         *(f"{programs[mode]['gap'] * 100:.1f} %" for mode in MODES),
                         f"{last['peak_bytes'] / 2**20:.0f} MiB"))
    return lines


def published_table(networks, sizes):
    """Geometric means of what a step takes longer than with everything fast."""
    def mean(size, policy): return f"{(geomean([loss(each, size, policy) for each in networks]) - 1) * 100:+.1f} %"

    published = {"first-touch": PUBLISHED_FIRST_TOUCH, "synchronous": PUBLISHED_AUTOTM}
    lines = header("geometric mean", "published, 50 to 80 % of DRAM replaced", *sizes)
    for policy in POLICIES[1:]:
        told = f"{published[policy] * 100:+.1f} %" if policy in published else ""
        lines.append(row(policy, told, *(mean(size, policy) for size in sizes)))
    return lines


def memory_mode_line(networks):
    gains = [loss(each, LIMIT_NAME, "first-touch") / loss(each, LIMIT_NAME, "synchronous") for each in networks]
    return (f"Of the large set the paper says that mode synchronous is twice as quick as Memory Mode. That one is not simulated; "
            f"with {LIMIT_NAME} synchronous is {geomean(gains):.2f} times as quick as first touch here.")


def markdown(results):
    networks = results["networks"]
    lines = ["Peak of all tensors, extrapolated, beside the paper's footprint:", "", *footprints_table(networks)]
    for size in results["sizes"]:
        title = f"{size} of fast memory" if size == LIMIT_NAME else f"Slow to fast memory {size}"
        lines += ["", f"{title}; step time, everything fast = 1:", "", *times_table(networks, size)]
    lines += ["", "How much longer a step takes than with everything fast, beside what the paper's abstract says:", "",
              *published_table(networks, results["sizes"])]
    if LIMIT_NAME in results["sizes"]: lines += ["", memory_mode_line(networks)]
    size = results["sizes"][-1]
    lines += ["", f"The programs, {size}:", "", *programs_table(networks, size), "", "Assumptions:", ""]
    batches = "; ".join(f"{each['title']} {', '.join(map(str, each['traced']))}" for each in networks)
    clock = "by the CPU time that they took" if results["cpu_clock"] else "by the clock"
    assumptions = ASSUMPTIONS.format(batches=batches, clock=clock, machine=results["machine"], gflops=results["gemm"] / 1e9,
                                     seconds=results["seconds"], solver=results["solver"], limit=LIMIT_NAME)
    for each in re.split(r"\n(?=\d)", assumptions):
        lines.append(textwrap.fill(" ".join(each.split()), 120, subsequent_indent="   ", break_on_hyphens=False))
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = runs.PROJECT / "build"
    parser.add_argument("--set", choices=SETS, default="large", help="the paper's batches (default large)")
    parser.add_argument("--network", nargs="+", choices=NETWORKS, help="default: all of the set")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, help="default: all of the set")
    parser.add_argument("--python", default=runs.default_pythons()[0])
    parser.add_argument("--library", default=build / "lib" / "libhearth.so")
    parser.add_argument("--tool", default=build / "bin" / "hearth")
    parser.add_argument("--machine", default="optane-100")
    parser.add_argument("--time-limit", type=float, default=30, help="seconds for each program (default 30)")
    parser.add_argument("--slots", type=int, default=192)
    parser.add_argument("--cpu-clock", metavar="LIBRARY",
                        help="ops take CPU time: on a machine with other load (build/lib/libhearth_cpu_clock.so)")
    parser.add_argument("--folder", type=pathlib.Path, help="keep traces and sweeps here, and take those that are there")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures to this file")
    arguments = parser.parse_args()
    arguments.sizes = arguments.sizes or list(SETS[arguments.set])
    there_are = [name for name, network in NETWORKS.items() if arguments.set in network.paper]
    arguments.network = arguments.network or there_are
    if not set(arguments.network) <= set(there_are): parser.error(f"the {arguments.set} set has {', '.join(there_are)}")
    return arguments


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory(prefix="hearth-paper-") as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        machine = tiered.machine_file(arguments.tool, arguments.machine, arguments.python, folder / f"{arguments.machine}.json")
        found = json.loads(machine.read_text(encoding="utf-8"))
        results = {"schema_version": SCHEMA_VERSION, "simulated": True, "extrapolated": True, "set": arguments.set,
                   "machine": arguments.machine, "gemm": found["machine"]["gemm"], "seconds": arguments.time_limit,
                   "slots": arguments.slots, "sizes": arguments.sizes, "cpu_clock": bool(arguments.cpu_clock),
                   "networks": []}
        for name in arguments.network:
            network = NETWORKS[name]
            paper = network.paper[arguments.set]
            path, scale = scaled(name, network, paper[0], arguments, folder)
            swept = {size: {mode: sweep(arguments, path, machine, mode, size, folder) for mode in MODES}
                     for size in arguments.sizes}
            figures = figures_of(name, network, paper, scale, swept)
            results["networks"].append(figures)
            results["solver"] = figures["points"][arguments.sizes[-1]]["autotm"][MODES[-1]]["solver"]
    runs.save(arguments.json, results)
    print(markdown(results))


if __name__ == "__main__":
    main()
