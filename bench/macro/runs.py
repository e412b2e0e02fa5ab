"""Launching workloads with and without Hearth: what overhead.py, agreement.py and identity.py share.

Needs Python's standard library only; PyTorch runs in the interpreters that it launches."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

PROJECT = pathlib.Path(__file__).resolve().parents[2]
MODELS_FOLDER = PROJECT / "bench" / "models"
MODELS = ("resnet50", "mobilenetv2", "dcgan", "lstm_lm", "gpt2", "bert_base", "dlrm", "vit")
IMAGE_MODELS = ("resnet50", "mobilenetv2", "dcgan", "vit", "vgg", "densenet", "inception_v4")
PROFILING_MODES = ("ops", "faults", "pages")
MODES = {
    "plain": None,
    "disabled": {"HEARTH_ENABLE": "0"},
    "observing": {"HEARTH_PROFILE": "off"},
    **{mode: {"HEARTH_PROFILE": mode} for mode in PROFILING_MODES},
}
# No two steps of dlrm allocate alike (the sizes of its sparse gradients follow the data): Hearth waits long for a
# repetition before it profiles such a loop all the same.
DEFAULT_STEPS = {"dlrm": 30}
USUAL_STEPS = 12
STATE_PROFILE = 2  # hearth_state in include/hearth/hearth.h


@dataclass
class Run:
    """One finished run of a workload. `error` says why there is no record, or is empty."""
    model: str
    mode: str
    python: str
    record: dict = field(default_factory=dict)
    report: dict = field(default_factory=dict)
    stderr: str = ""
    error: str = ""


def environment(mode, library, report, settings=()):
    """The caller's environment without its own Hearth settings, with those of `mode` and `settings` (NAME=VALUE)."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HEARTH_")}
    env["PYTHONHASHSEED"] = "0"  # so that both runs of a pair walk their dicts and sets alike
    if MODES[mode] is None:
        return env
    others = [entry for entry in env.get("LD_PRELOAD", "").split(":") if entry and "libhearth" not in entry]
    env["LD_PRELOAD"] = ":".join([str(library), *others])
    env.update(MODES[mode])
    env.update(setting.split("=", 1) for setting in settings)
    if mode != "disabled":
        env["HEARTH_REPORT"] = str(report)
    return env


def run(model, mode, python, library, options=(), timeout=3600, settings=()):
    with tempfile.TemporaryDirectory(prefix="hearth-bench-") as folder:
        record, report = pathlib.Path(folder, "record.json"), pathlib.Path(folder, "report.json")
        command = [str(python), str(MODELS_FOLDER / f"{model}.py"), "--json", str(record), *map(str, options)]
        result = Run(model, mode, str(python))
        try:
            done = subprocess.run(command, env=environment(mode, library, report, settings), timeout=timeout,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                  check=False)
        except subprocess.TimeoutExpired as expired:
            result.error = f"no end after {timeout} s"
            result.stderr = (expired.stderr or b"").decode(errors="replace")
            return result
        except OSError as error:
            result.error = str(error)
            return result
        result.stderr = done.stderr
        if done.returncode:
            result.error = f"exit status {done.returncode}: {last_line(done.stderr)}"
        if record.is_file():
            result.record = json.loads(record.read_text(encoding="utf-8"))
        elif not result.error:
            result.error = "the workload wrote no record"
        if report.is_file():
            result.report = json.loads(report.read_text(encoding="utf-8"))
        return result


def step_options(model, steps, threads, small):
    """The workload's options; `steps` None or 0 means as many as a profile takes."""
    chosen = steps or DEFAULT_STEPS.get(model, USUAL_STEPS)
    return ["--steps", chosen, "--threads", threads] + (["--small"] if small else [])


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "nothing on stderr"


def torch_version(python):
    """The interpreter's PyTorch version, or empty."""
    try:
        done = subprocess.run([str(python), "-c", "import torch; print(torch.__version__)"], capture_output=True,
                              text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def default_pythons():
    listed = PROJECT / "build" / "torch-pythons"
    if listed.is_file():
        pythons = [line.strip() for line in listed.read_text(encoding="utf-8").splitlines() if line.strip()]
        if pythons:
            return pythons
    return [shutil.which("python3") or sys.executable]


def setting(text):
    if not text.startswith("HEARTH_") or "=" not in text:
        raise argparse.ArgumentTypeError(f"{text} is not of the form HEARTH_NAME=VALUE")
    return text


def parser(description):
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--python", action="append", metavar="PATH",
                        help="interpreter with PyTorch; repeatable (default: those that scripts/setup found, listed in "
                             "build/torch-pythons, else python3)")
    result.add_argument("--library", default=PROJECT / "build" / "lib" / "libhearth.so", type=pathlib.Path,
                        help="default build/lib/libhearth.so")
    result.add_argument("--model", action="append", metavar="NAME", help="workload; repeatable (default: all)")
    result.add_argument("--threads", type=int, default=2, help="threads of PyTorch and its BLAS (default 2)")
    result.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", type=setting,
                        help="a HEARTH_ variable for the runs under Hearth; repeatable")
    result.add_argument("--timeout", type=int, default=3600, help="seconds after which a run is given up")
    result.add_argument("--json", metavar="OUT", help="write the figures to this file")
    return result


def check(arguments, models=MODELS):
    """Fills defaults that depend on the machine; ends the program where nothing could be measured."""
    arguments.model = arguments.model or list(models)
    for model in arguments.model:
        if not (MODELS_FOLDER / f"{model}.py").is_file():
            sys.exit(f"no workload {model}; there are: {', '.join(models)}")
    arguments.library = arguments.library.resolve()
    if not arguments.library.is_file():
        sys.exit(f"{arguments.library} is missing: build it with ./scripts/setup, or name another with --library")
    versions = {python: torch_version(python) for python in arguments.python or default_pythons()}
    for python, version in versions.items():
        if not version:
            sys.exit(f"{python} cannot import torch: name an interpreter that can with --python")
    arguments.python = list(versions)
    return versions


def hearth_lines(stderr):
    return [line for line in stderr.splitlines() if line.startswith("[hearth:")]


def markdown(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def progress(text):
    print(text, file=sys.stderr, flush=True)


def save(path, value):
    if path:
        pathlib.Path(path).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
