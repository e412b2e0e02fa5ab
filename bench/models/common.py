"""What every workload shares: options, threads, seeds, the timed loop and the JSON record of a run.

A workload file declares its sizes, builds a `Workload` (one training step as a function) and hands both to `main`.
Import this module before torch: it fixes the thread counts of OpenMP, OpenBLAS and MKL, which read them once.
"""
import argparse
import ctypes
import json
import os
import resource
import sys
import time
import zlib
from dataclasses import dataclass, field

SCHEMA_VERSION = 1
DEFAULT_THREADS = 2


def _fix_thread_environment():
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--threads", type=int, default=DEFAULT_THREADS)
    threads = early.parse_known_args()[0].threads
    # torch.set_num_threads bounds neither OpenBLAS's own pool nor the pool that OpenMP has already started.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)


_fix_thread_environment()

try:
    import torch
except ImportError as error:
    sys.exit(f"this workload needs PyTorch: {error}")


@dataclass(frozen=True)
class Size:
    """An integer option with a default for full runs and one for --small."""
    name: str
    full: int
    small: int
    help: str


@dataclass
class Workload:
    step: object               # callable: runs one training step, returns its losses (tensors without grad)
    modules: dict              # name -> nn.Module, for the parameter count and the checksum of the result
    data: str                  # what the input is, in one line
    sample: object = None      # a tensor whose bytes identify the input data
    closing: dict = field(default_factory=dict)  # facts to add to the record


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def parse(description, sizes, add_options=None, argv=None):
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    parser.add_argument("--small", action="store_true", help="sizes for tests: a step takes a fraction of a second")
    parser.add_argument("--steps", type=positive, default=12, help="training steps (default 12)")
    parser.add_argument("--threads", type=positive, default=DEFAULT_THREADS,
                        help=f"threads of PyTorch and its BLAS (default {DEFAULT_THREADS})")
    parser.add_argument("--seed", type=int, default=1, help="of weights, dropout and the order of the data (default 1)")
    parser.add_argument("--json", metavar="OUT", help="write the record of the run to this file")
    for size in sizes:
        parser.add_argument("--" + size.name.replace("_", "-"), type=positive, metavar="N",
                            help=f"{size.help} (default {size.full}, with --small {size.small})")
    if add_options:
        add_options(parser)
    options = parser.parse_args(argv)
    for size in sizes:
        if getattr(options, size.name) is None:
            setattr(options, size.name, size.small if options.small else size.full)
    return options


def make_deterministic(options):
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    torch.use_deterministic_algorithms(True)
    # From 2.2 on, deterministic mode also fills every torch.empty with NaN: a write that no user's program makes.
    if hasattr(torch.utils, "deterministic"):
        torch.utils.deterministic.fill_uninitialized_memory = False


def keep_scale(module):
    """Weights with which a signal keeps its size through any number of layers with ReLU (He et al., ICCV 2015): without
    normalization it dies out otherwise, and numbers next to nothing are slow to compute with."""
    for layer in module.modules():
        if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)):
            torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            torch.nn.init.zeros_(layer.bias)


class HearthState:
    """State of the Hearth runtime as the public C API tells it; None throughout where it is not preloaded."""

    class Counters(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_uint32), ("state", ctypes.c_uint32)] + [
            (name, ctypes.c_uint64) for name in (
                "allocations", "frees", "live_tensors", "live_bytes", "peak_bytes", "iterations", "profiled",
                "page_faults_caught")]

    def __init__(self):
        process = ctypes.CDLL(None)
        self._state = getattr(process, "hearth_get_state", None)
        self._counters = getattr(process, "hearth_get_counters", None)

    def state(self):
        return self._state() if self._state else None

    def counters(self):
        if not self._counters:
            return None
        counters = self.Counters(struct_size=ctypes.sizeof(self.Counters))
        self._counters(ctypes.byref(counters))
        return {name: getattr(counters, name) for name, _ in self.Counters._fields_[1:]}


def status_bytes(key):
    # Not ru_maxrss: that one survives exec and would report the launcher's memory where it was larger.
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    return 0


def checksum(tensors):
    crc = 0
    for tensor in tensors:
        # torch has no dtype-independent view of its bytes in 1.13; numpy shares the memory, so nothing is copied.
        crc = zlib.crc32(tensor.detach().contiguous().numpy().reshape(-1).view("uint8"), crc)
    return f"{crc:08x}"


def timed_steps(workload, count):
    """Runs the steps; per step the losses, wall and CPU time, minor faults, and Hearth's state before it."""
    hearth = HearthState()
    steps = []
    for _ in range(count):
        state = hearth.state()
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        losses = [float(loss) for loss in workload.step()]
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        steps.append({
            "losses": [loss.hex() for loss in losses],
            "wall_ns": wall,
            "cpu_ns": cpu,
            "minor_faults": resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults,
            "hearth_state": state,
        })
    return steps, hearth.counters()


def record(name, options, workload, steps, counters, rss_before, rss_at_end):
    parameters = [p for m in workload.modules.values() for p in m.parameters()]
    state = [t for m in workload.modules.values() for t in m.state_dict().values()]
    settings = {k: v for k, v in vars(options).items() if k not in ("json", "steps", "seed", "threads")}
    return {
        "schema_version": SCHEMA_VERSION,
        "model": name,
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "interpreter": sys.executable,
        "threads": torch.get_num_threads(),
        "seed": options.seed,
        "settings": settings,
        "data": workload.data,
        "data_crc32": checksum([workload.sample]) if workload.sample is not None else None,
        "parameters": sum(p.numel() for p in parameters),
        "losses": [step["losses"] for step in steps],
        "result_crc32": checksum(state),
        "step_wall_ns": [step["wall_ns"] for step in steps],
        "step_cpu_ns": [step["cpu_ns"] for step in steps],
        "step_minor_faults": [step["minor_faults"] for step in steps],
        "step_hearth_state": [step["hearth_state"] for step in steps],
        "hearth": counters,
        "rss_after_import_bytes": rss_before,
        "rss_at_end_bytes": rss_at_end,
        "peak_rss_bytes": status_bytes("VmHWM"),
        **workload.closing,
    }


def write_json(path, value):
    temporary = f"{path}.{os.getpid()}.part"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.replace(temporary, path)


def describe(result):
    wall = sorted(result["step_wall_ns"][1:] or result["step_wall_ns"])
    first, last = result["losses"][0], result["losses"][-1]
    losses = ", ".join(f"{float.fromhex(a):.4f} -> {float.fromhex(b):.4f}" for a, b in zip(first, last))
    return (f"{result['model']}: torch {result['torch']}, {result['threads']} threads, "
            f"{result['parameters'] / 1e6:.1f} M parameters, loss {losses}, "
            f"median step {wall[len(wall) // 2] / 1e6:.1f} ms, peak RSS {result['peak_rss_bytes'] / 2**20:.0f} MiB "
            f"({result['rss_after_import_bytes'] / 2**20:.0f} MiB after import)")


def main(name, description, sizes, build, add_options=None):
    options = parse(description, sizes, add_options)
    make_deterministic(options)
    rss_before = status_bytes("VmRSS")
    workload = build(options)
    steps, counters = timed_steps(workload, options.steps)
    rss_at_end = status_bytes("VmRSS")  # before the checksums, which copy tensors
    result = record(name, options, workload, steps, counters, rss_before, rss_at_end)
    print(describe(result))
    if options.json:
        write_json(options.json, result)
