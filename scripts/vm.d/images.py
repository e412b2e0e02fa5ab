"""Kernels and initial RAM disks for the guest of scripts/vm: fetched from Debian's archive, kept in a cache.

A cached kernel is a folder  <cache>/<series>/  with  package  (its name and version),  vmlinuz  and  modules/  (only those
that the guest needs, unpacked). A folder is complete or not there: it is made under another name and renamed. The RAM
disk is made from it and from the files beside this one, and made again when one of those changes.
"""
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERIES = ("6.12", "6.1")  # the first is the default
MODULES = (  # the host's files, the channels to the host, entropy
    "virtio_pci", "virtio_console", "virtio_rng", "9p", "9pnet_virtio", "overlay",
    # from an NVDIMM to a memory node
    "nfit", "libnvdimm", "nd_pmem", "dax_pmem", "device_dax", "kmem")
UNUSED_DAYS = 7  # after which a RAM disk goes; another checkout may still use one of another version
LAYOUT = "1"  # of the cached folder; another one is fetched anew


class Unavailable(Exception):
    """Something that the guest needs is not on this machine; the text says what and how to get it."""


class FetchFailed(Exception):
    pass


def cache_folder():
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hearth" / "vm"
    return Path(os.environ.get("HEARTH_VM_CACHE") or default)


def run(*command, **options):
    result = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, check=False, **options)
    if result.returncode != 0:
        raise FetchFailed(f"{' '.join(map(str, command))}: {(result.stderr or result.stdout).strip()[-600:]}")
    return result.stdout


# --- the packages ---------------------------------------------------------------------------------------------------

def numbers(name):
    return [int(number) for number in re.findall(r"\d+", name)]


def newest_package(series):
    """The newest linux-image package of a series that apt knows of, None if it knows none."""
    pattern = rf"^linux-image-{re.escape(series)}\.[0-9][0-9.+a-z~-]*-amd64$"
    names = [line.split()[0] for line in run("apt-cache", "search", "--names-only", pattern).splitlines()]
    names = [name for name in names if not re.search(r"-(cloud|rt)-amd64$", name)]
    return max(names, key=numbers, default=None)


def update_lists():
    """apt's lists are as old as the last update, and an archive drops old versions. False where we may not update."""
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    with contextlib.suppress(FetchFailed, OSError):
        run(*prefix, "apt-get", "-o", "DPkg::Lock::Timeout=300", "update")
        return True
    return False


def download(package, folder):
    """Downloads and unpacks a package into `folder`/root, and returns its version."""
    # apt's own user cannot write into a folder of ours
    run("apt-get", "-o", "APT::Sandbox::User=root", "download", package, cwd=folder)
    archive, = folder.glob("*.deb")
    run("dpkg-deb", "--extract", archive, folder / "root")
    version = run("dpkg-deb", "--field", archive, "Version").strip()
    archive.unlink()
    return version


def fetch(series, say):
    """Makes sure that the kernel of a series and a busybox are in the cache."""
    for tool in ("apt-get", "dpkg-deb", "cpio", "modinfo", "depmod", "xz"):
        if shutil.which(tool, path=search_path()) is None:
            raise Unavailable(f"{tool} is missing: apt-get install cpio kmod xz-utils (kernels come from Debian's archive)")
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / "fetch.lock"):
        for wanted, present, make in (("busybox", busybox().is_file(), make_busybox),
                                      (series, kernel_is_cached(series), make_kernel)):
            if present:
                say(f"{wanted}: in {cache}")
                continue
            with tempfile.TemporaryDirectory(prefix="fetch.", dir=cache) as temporary:
                try:
                    make(series, Path(temporary), say)
                except FetchFailed as failure:
                    say(f"{wanted}: {failure}; apt-get update, and again")
                    if not update_lists():
                        raise
                    shutil.rmtree(temporary)
                    Path(temporary).mkdir()
                    make(series, Path(temporary), say)
    initramfs(series)


def make_busybox(_series, folder, say):
    say("busybox: downloading busybox-static")
    download("busybox-static", folder)
    program = next(path for path in (folder / "root/bin/busybox", folder / "root/usr/bin/busybox") if path.exists())
    os.replace(program, busybox())


def make_kernel(series, folder, say):
    package = newest_package(series)
    if package is None:
        raise FetchFailed(f"apt knows no linux-image-{series}.*-amd64 package")
    say(f"{series}: downloading {package} (about 100 MB)")
    version = download(package, folder)
    say(f"{series}: unpacking what the guest needs of it")
    result = folder / "kernel"
    result.mkdir()
    shutil.move(next((folder / "root/boot").glob("vmlinuz-*")), result / "vmlinuz")
    # /usr/lib since Debian 13
    tree = next(path for path in (folder / "root/lib/modules", folder / "root/usr/lib/modules") if path.is_dir())
    collect_modules(next(tree.iterdir()), result / "modules")
    (result / "package").write_text(f"{LAYOUT} {package} {version}\n")
    shutil.rmtree(cache_folder() / series, ignore_errors=True)
    os.rename(result, cache_folder() / series)


def collect_modules(tree, target):
    """Copies MODULES and what they depend on, unpacked, with the index that modprobe reads."""
    def name_of(path):
        return path.name.split(".")[0].replace("-", "_")

    files = {name_of(path): path for path in tree.rglob("*.ko*")}
    built_in = {name_of(Path(line)) for line in (tree / "modules.builtin").read_text().split()}
    folder = target / "lib/modules" / tree.name
    folder.mkdir(parents=True)
    needed, seen = [name.replace("-", "_") for name in MODULES], set()
    while needed:
        name = needed.pop()
        if name in built_in or name in seen:
            continue
        if name not in files:
            raise FetchFailed(f"the kernel {tree.name} has no module {name}")
        seen.add(name)
        needed += [other.replace("-", "_") for other in run("modinfo", "-F", "depends", files[name],
                                                            env=tools_environment()).strip().split(",") if other]
        shutil.copy(files[name], folder)
    for packed in folder.glob("*.ko.xz"):
        run("xz", "--decompress", packed)
    for index in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copy(tree / index, folder)
    run("depmod", "--basedir", target, tree.name, env=tools_environment())


def search_path():
    """Where kmod's tools are, which the path of an ordinary user leaves out."""
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def tools_environment():
    return {**os.environ, "PATH": search_path(), "LC_ALL": "C"}


@contextlib.contextmanager
def locked(path):
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# --- the cache ------------------------------------------------------------------------------------------------------

def busybox():
    return cache_folder() / "busybox"


def package_of(series):
    """'LAYOUT NAME VERSION' of the cached kernel, or ''."""
    with contextlib.suppress(OSError):
        return (cache_folder() / series / "package").read_text()
    return ""


def kernel_is_cached(series):
    return package_of(series).startswith(LAYOUT + " ")


def kernel(series):
    """The kernel's file. Raises Unavailable if it was not fetched."""
    if not kernel_is_cached(series) or not busybox().is_file():
        raise Unavailable(f"kernel {series} is not in {cache_folder()}: run scripts/vm --fetch")
    return cache_folder() / series / "vmlinuz"


def initramfs(series):
    """The RAM disk: busybox, the modules, and `init`. Made by whoever needs it first."""
    kernel(series)
    init = HERE / "init"
    key = hashlib.sha256(init.read_bytes() + package_of(series).encode() + Path(__file__).read_bytes()).hexdigest()[:16]
    image = cache_folder() / f"initramfs-{series}-{key}.cpio"
    with contextlib.suppress(FileNotFoundError):
        os.utime(image)  # the time of its last use
        return image
    if shutil.which("cpio") is None:
        raise Unavailable("cpio is missing: apt-get install cpio")
    with tempfile.TemporaryDirectory(prefix="image.", dir=cache_folder()) as temporary:
        root = Path(temporary) / "root"
        shutil.copytree(cache_folder() / series / "modules", root)
        for folder in ("bin", "dev", "proc", "sys", "host", "top", "root", "run"):
            (root / folder).mkdir()
        shutil.copy(busybox(), root / "bin/busybox")
        (root / "bin/sh").symlink_to("busybox")
        (root / "sbin").symlink_to("bin")
        shutil.copy(init, root / "init")
        os.chmod(root / "init", 0o755)
        made = Path(temporary) / "image"
        files = "\n".join(["."] + sorted(str(path.relative_to(root)) for path in root.rglob("*")))
        with open(made, "wb") as output:
            subprocess.run(["cpio", "--create", "--format=newc", "--quiet", "--owner=0:0"], cwd=root, check=True,
                           input=files.encode(), stdout=output)
        os.rename(made, image)
    for other in cache_folder().glob(f"initramfs-{series}-*.cpio"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - other.stat().st_mtime > UNUSED_DAYS * 86400:
                other.unlink()
    return image
