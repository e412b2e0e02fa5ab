"""What a page fault costs on this machine: the first touch of fresh anonymous memory, one byte per page.

The cost includes what the kernel does for the page, clearing it above all. Virtual machines whose host maps memory
lazily pay more for pages that the guest never had before: one untimed pass goes first, so that the figure is that of
memory the guest uses again, as a training loop does."""
import ctypes
import mmap
import resource
import statistics
import time

SMALL, HUGE = 4 << 10, 2 << 20
MAPPING = 64 << 20
SAMPLES_AT_A_TIME = 3


def touch(mapping, offset, step):
    """Writes one byte every `step`; (nanoseconds, minor faults). The loop is mmap's own, in C."""
    ones = b"\1" * (MAPPING // step)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    begin = time.perf_counter_ns()
    mapping[offset:offset + MAPPING:step] = ones
    elapsed = time.perf_counter_ns() - begin
    return elapsed, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults


def aligned_mapping(advice):
    """A fresh private mapping and the offset in it of the first huge page."""
    mapping = mmap.mmap(-1, MAPPING + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    mapping.madvise(advice)
    view = ctypes.c_char.from_buffer(mapping)
    offset = -ctypes.addressof(view) % HUGE
    del view  # an exported view would keep the mapping from being closed
    return mapping, offset


def small_page_ns():
    """Nanoseconds per fault of a 4 KiB page, without the time of the touch itself."""
    mapping, offset = aligned_mapping(mmap.MADV_NOHUGEPAGE)
    with mapping:
        first, faults = touch(mapping, offset, SMALL)
        again, _ = touch(mapping, offset, SMALL)
    return (first - again) / faults


def huge_page_ns():
    """Nanoseconds per fault of a 2 MiB page; None where the kernel gives none."""
    mapping, offset = aligned_mapping(mmap.MADV_HUGEPAGE)
    with mapping:
        elapsed, faults = touch(mapping, offset, HUGE)
        _, missing = touch(mapping, offset, SMALL)
    # Some few may fail for fragmentation: those leave 511 small pages each.
    if not faults or missing > MAPPING // HUGE:
        return None
    return elapsed / faults


class FaultCost:
    """Samples spread over a long run, so that the figure is of the same machine as the steps."""

    def __init__(self):
        self.small, self.huge = [], []
        small_page_ns()
        try:
            self._huge_pages = huge_page_ns() is not None
        except OSError:  # a kernel without them refuses the advice
            self._huge_pages = False

    def sample(self):
        self.small += [small_page_ns() for _ in range(SAMPLES_AT_A_TIME)]
        if self._huge_pages:
            self.huge += [cost for cost in (huge_page_ns() for _ in range(SAMPLES_AT_A_TIME)) if cost is not None]

    def figures(self):
        return {"small_page_ns": middle(self.small), "huge_page_ns": middle(self.huge)}


def middle(samples):
    """{median, min, max, samples}, or None without any."""
    if not samples:
        return None
    return {"median": statistics.median(samples), "min": min(samples), "max": max(samples), "samples": len(samples)}
