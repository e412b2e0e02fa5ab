"""What can go wrong with two kinds of memory: the training goes on, its losses are those of a plain run, and one line
says what is lost.

In one boot: a cpuset that hides the slow node; the system calls of placement, of moves and of profiling refused, all at
once and each alone; and, last, the slow node set offline in the middle of the training.
"""
import json
import tempfile
from pathlib import Path

import guest
from check_training import losses

STEPS, GOES_AFTER, AFTERWARDS = 5, 8, 18
CALLS = ("mbind", "move_pages", "get_mempolicy", "set_mempolicy", "perf_event_open", "userfaultfd")
# Those without which there are no two tiers: no page can be placed, moved or found.
OF_TIERS = {"mbind", "move_pages"}
REFUSALS = [(CALLS, "EPERM"), (CALLS, "ENOSYS"), *(((call,), error) for call in CALLS for error in ("EPERM", "ENOSYS"))]
SLOW_NODE = "/sys/devices/system/node/node1"

# The first child of the root group that may use node 0 alone; the command becomes a member.
IN_CPUSET = """
set -e
mkdir /tmp/groups
mount -t cgroup2 none /tmp/groups
echo +cpuset >/tmp/groups/cgroup.subtree_control
mkdir /tmp/groups/one
echo 0 >/tmp/groups/one/cpuset.mems
echo $$ >/tmp/groups/one/cgroup.procs
exec "$@"
"""

# Runs in place of a look from outside, while the training pauses.
OFFLINE = f"""#!/bin/sh
for block in {SLOW_NODE}/memory[0-9]*; do
  echo offline >$block/state || exit 1
done
cat /sys/devices/system/node/has_memory
"""


def warnings_of(result):
    return [line for line in result["stderr"].splitlines() if line.strip()]


def problems_of_run(name, plain, steps, result, report, lines):
    if len(losses(plain)) != AFTERWARDS or losses(result) != losses(plain)[:steps]:
        yield f"{name}: other losses:\n{losses(result)}\ninstead of\n{losses(plain)}"
    if report is None:
        yield f"{name}: no report, so it did not run under Hearth"
    if len(warnings_of(result)) != lines or any("W: " not in line for line in warnings_of(result)):
        yield f"{name}: {lines} warnings expected:\n{result['stderr']}"


def problems_of_degradations(name, report, present, what):
    """What is lost is in the report, too."""
    if report["tiers"]["present"] != present:
        yield f"{name}: tiers: {report['tiers']}"
    told = [each["what"] for each in report["degradations"] if each["what"] == "tiers"]
    if told != what:
        yield f"{name}: {report['degradations']}"


def problems_of_refusal(name, calls, report, result):
    lost = bool(OF_TIERS & set(calls))
    yield from problems_of_degradations(name, report, not lost, ["tiers"] if lost else [])
    if lost and "is refused here" not in result["stderr"]:
        yield f"{name}: the line does not say that a call is refused: {result['stderr']}"


def problems_of_offline(name, report, result):
    yield from problems_of_degradations(name, report, True, ["tiers"])
    if [look.strip() for look in result["looks"]] != ["0"]:
        yield f"{name}: the slow node is still there: {result['looks']}"
    tiers = report["tiers"]
    if tiers["unbound_bytes"] + tiers["not_moved"]["bytes"] == 0:
        yield f"{name}: nothing was asked of the node that had gone: {tiers}"


class Trouble:
    """The jobs, each with the report that it leaves."""

    def __init__(self, options, folder):
        self.program, self.folder = options.program, folder
        self.preload = f"LD_PRELOAD={options.library}"
        self.plain = guest.Job("plain", [self.program, str(AFTERWARDS)])
        self.cpuset = guest.Job("cpuset", ["sh", "-c", IN_CPUSET, "sh", *self.preloaded(STEPS)], self.knobs("cpuset"))
        script = folder / "offline.sh"
        script.write_text(OFFLINE)
        script.chmod(0o755)
        self.offline = guest.Job("offline", self.preloaded(AFTERWARDS, GOES_AFTER), self.knobs("offline"),
                                 where=[str(script)], alone=True)
        (folder / "cases").write_text("".join(self.case(*refusal) for refusal in REFUSALS))
        self.refusals = guest.Job("refusals", self.preloaded("--each", folder / "cases", STEPS), timeout=600)
        self.jobs = [self.plain, self.refusals, self.cpuset, self.offline]

    def preloaded(self, *words):
        return ["env", self.preload, self.program, *map(str, words)]

    def knobs(self, name):
        return {"HEARTH_TIERS": "numa", "HEARTH_FAST_CAPACITY": "2M", "HEARTH_REPORT": f"{self.folder}/{name}.json"}

    def case(self, calls, error):
        name = name_of(calls, error)
        knobs = " ".join(f"{knob}={value}" for knob, value in self.knobs(name).items())
        return f"{name} {error} {','.join(calls)} {knobs}\n"

    def report(self, name):
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def refused(self, name):
        """As guest.run() tells of a job. Empty if the guest never came to it."""
        texts = {suffix: Path(self.folder, f"{name}.{suffix}") for suffix in ("out", "err", "status")}
        if not all(path.exists() for path in texts.values()):
            return {}
        return {"stdout": texts["out"].read_text(), "stderr": texts["err"].read_text(),
                "status": int(texts["status"].read_text())}


def name_of(calls, error):
    return f"{error}-for-{'all' if calls == CALLS else calls[0]}"


def problems_of_refusals(trouble, plain):
    for calls, error in REFUSALS:
        name = name_of(calls, error)
        result, report = trouble.refused(name), trouble.report(name)
        if not result or result["status"] != 0:
            yield f"{name} ended badly: {result}"
            continue
        found = list(problems_of_run(name, plain, STEPS, result, report, int(bool(OF_TIERS & set(calls)))))
        yield from found
        if not found:
            yield from problems_of_refusal(name, calls, report, result)


def problems_of_cpuset(trouble, plain, result):
    report = trouble.report("cpuset")
    found = list(problems_of_run("cpuset", plain, STEPS, result, report, 1))
    yield from found or problems_of_degradations("cpuset", report, False, ["tiers"])
    if "cpuset" not in result["stderr"]:
        yield f"cpuset: the line does not say why: {result['stderr']}"


def main():
    options = guest.arguments(__doc__, ("--library", {"required": True}),
                              ("program", {"help": "a train of tests/numa"}))
    with tempfile.TemporaryDirectory(prefix="hearth-numa.") as folder:
        trouble = Trouble(options, Path(folder))
        results = guest.run(trouble.jobs, options.kernel, options.nodes, cpus=2, folder=folder, timeout=800, at_once=2)
        problems = list(guest.problems_of(trouble.jobs, results))
        if not problems:
            plain, offline = results["plain"], results["offline"]
            problems += problems_of_refusals(trouble, plain)
            problems += problems_of_cpuset(trouble, plain, results["cpuset"])
            found = list(problems_of_run("offline", plain, AFTERWARDS, offline, trouble.report("offline"), 1))
            problems += found or problems_of_offline("offline", trouble.report("offline"), offline)
    guest.end(problems, f"{len(REFUSALS) + 2} trainings in trouble went on, losses equal")


if __name__ == "__main__":
    main()
