"""The allocators that rivals.py compares, with the settings that users give them, and how to start a program with one.

A tuned configuration keeps what it was given: no memory goes back to the system, no large block to munmap. Names of
settings that only some versions of a library read are all set; the others are ignored without a word."""
import os
import pathlib
import platform
from dataclasses import dataclass, field

HEARTH = "hearth"
TUNED_GLIBC = "glibc-tuned"
MIB, TIB = 1 << 20, 1 << 40

FOLDERS = tuple(pathlib.Path(folder) for folder in (
    f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"))
# Left in the environment, any of these would make a configuration something else than its name says.
FOREIGN_PREFIXES = ("HEARTH_", "MALLOC_", "JE_MALLOC_", "TCMALLOC_", "MIMALLOC_", "mimalloc_")
FOREIGN_NAMES = ("LD_PRELOAD", "GLIBC_TUNABLES", "THP_MEM_ALLOC_ENABLE")
# The dynamic linker and the allocators run on where they could not do as told, and say so in these words.
REFUSALS = ("cannot be preloaded", "<jemalloc>: Invalid conf", "mimalloc: error", "mimalloc: warning")


@dataclass(frozen=True)
class Library:
    package: str      # of Debian
    sonames: tuple    # first found, first taken

    def find(self, folders=FOLDERS):
        for soname in self.sonames:
            for folder in folders:
                if (folder / soname).is_file():
                    return folder / soname
        return None


@dataclass(frozen=True)
class Allocator:
    name: str
    summary: str
    library: Library = None
    settings: dict = field(default_factory=dict)
    asks_torch: bool = False  # by a variable that PyTorch itself reads, where it is new enough


JEMALLOC = Library("libjemalloc2", ("libjemalloc.so.2",))
TCMALLOC = Library("libtcmalloc-minimal4", ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4"))
MIMALLOC = Library("libmimalloc2.0", ("libmimalloc.so.2", "libmimalloc.so.2.0"))

GLIBC_KEEPS = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(TIB), "MALLOC_TOP_PAD_": str(256 * MIB)}
# The first three are what torch.backends.xeon.run_cpu sets; the other two keep freed pages for ever.
JEMALLOC_KEEPS = "oversize_threshold:1,background_thread:true,metadata_thp:auto,dirty_decay_ms:-1,muzzy_decay_ms:-1"
TCMALLOC_KEEPS = {
    "TCMALLOC_RELEASE_RATE": "0",
    "TCMALLOC_AGGRESSIVE_DECOMMIT": "0",
    "TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD": str(TIB),
    "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": str(256 * MIB),
}
MIMALLOC_KEEPS = {
    "MIMALLOC_LARGE_OS_PAGES": "1", "MIMALLOC_ALLOW_DECOMMIT": "0",        # 2.0
    "MIMALLOC_ALLOW_LARGE_OS_PAGES": "1", "MIMALLOC_PURGE_DELAY": "-1",    # 2.1 and later
}

ALLOCATORS = {allocator.name: allocator for allocator in (
    Allocator(HEARTH, "libhearth.so, default settings"),
    Allocator("glibc", "the C library's malloc, default settings"),
    Allocator(TUNED_GLIBC, "no mmap, no trimming, top pad of 256 MiB", settings=GLIBC_KEEPS),
    Allocator("glibc-tuned-thp", "the same with glibc.malloc.hugetlb=1",
              settings={**GLIBC_KEEPS, "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
    Allocator("torch-thp", "the C library's malloc; PyTorch asks for huge pages (THP_MEM_ALLOC_ENABLE=1)",
              settings={"THP_MEM_ALLOC_ENABLE": "1"}, asks_torch=True),
    Allocator("jemalloc", "default settings", JEMALLOC),
    Allocator("jemalloc-tuned", JEMALLOC_KEEPS, JEMALLOC, {"MALLOC_CONF": JEMALLOC_KEEPS}),
    Allocator("jemalloc-thp", "the same with thp:always", JEMALLOC, {"MALLOC_CONF": JEMALLOC_KEEPS + ",thp:always"}),
    Allocator("tcmalloc", "gperftools, default settings", TCMALLOC),
    Allocator("tcmalloc-tuned", "no release to the system, thread caches of 256 MiB", TCMALLOC, TCMALLOC_KEEPS),
    Allocator("mimalloc", "default settings", MIMALLOC),
    Allocator("mimalloc-tuned", "large OS pages, no decommit, no purge", MIMALLOC, MIMALLOC_KEEPS),
)}

# Imports torch for its library's path only: which file it is differs between pip and the distributions.
TORCH_PROBE = """
import torch
maps = (line.split()[-1] for line in open("/proc/self/maps") if "/libc10.so" in line)
print(any(b"THP_MEM_ALLOC_ENABLE" in open(path, "rb").read() for path in set(maps)))
"""


def parse_names(text):
    """A comma-separated list as names without repetition; ValueError names what there is."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in ALLOCATORS]
    if unknown or not names:
        raise ValueError(f"{', '.join(unknown) or 'nothing'} is no allocator known here; there are: "
                         + ", ".join(ALLOCATORS))
    return names


def absence(allocator, torch_asks, folders=FOLDERS):
    """Why this configuration cannot run, or empty."""
    if allocator.library and not allocator.library.find(folders):
        return f"not installed: apt-get install {allocator.library.package}"
    if allocator.asks_torch and not torch_asks:
        return "this PyTorch does not read THP_MEM_ALLOC_ENABLE"
    return ""


def clean(environment):
    return {name: value for name, value in environment.items()
            if name not in FOREIGN_NAMES and not name.startswith(FOREIGN_PREFIXES)}


def environment(allocator, hearth_library, report, settings=(), base=None):
    """The caller's environment with this allocator and nothing of any other; `settings` are for Hearth alone."""
    env = {**clean(os.environ if base is None else base), "PYTHONHASHSEED": "0", **allocator.settings}
    if allocator.library:
        env["LD_PRELOAD"] = str(allocator.library.find())
    if allocator.name == HEARTH:
        env.update(LD_PRELOAD=str(hearth_library), HEARTH_REPORT=str(report))
        env.update(setting.split("=", 1) for setting in settings)
    return env


def refusal(stderr):
    """The first line that says that the allocator or a setting was not taken, or empty."""
    return next((line for line in stderr.splitlines() if any(words in line for words in REFUSALS)), "")
