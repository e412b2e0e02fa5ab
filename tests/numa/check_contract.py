"""Runs GoogleTest programs of the build on real memory nodes, all in one boot, and tells of every case that failed.
--tool: and whether the nodes are as promised, as check_topology.py does in a boot of its own.

A skip that a program has on any machine is none of ours; a program that ran no case at all has failed.
"""
import json
import tempfile
from pathlib import Path

import check_topology
import guest

CPUS = 2


def cases_of(report):
    for suite in report["testsuites"]:
        for case in suite["testsuite"]:
            yield f"{suite['name']}.{case['name']}", case


def problems_of(program, result, report):
    """What is wrong with one program: its failed cases by name, or that it came to no end."""
    if result is None:
        yield f"{program}: the guest never got to it"
        return
    if report is None:
        running = [line for line in result["stdout"].splitlines() if line.startswith("[ RUN")][-1:]
        why = "was stopped, out of time" if result["timed_out"] else f"ended with {result['status']} and no report"
        yield f"{program} {why}; last: {''.join(running) or 'no case'}\n{result['stderr'][-2000:]}"
        return
    cases = list(cases_of(report))
    failed = [(name, case["failures"]) for name, case in cases if case.get("failures")]
    for name, failures in failed:
        yield f"{program}: {name}\n" + "\n".join(failure["failure"] for failure in failures[:3])
    if not any(case["result"] == "COMPLETED" for _, case in cases):
        yield f"{program} ran no case"
    if result["status"] != 0 and not failed:
        yield f"{program} ended with {result['status']} although no case failed"


def main():
    options = guest.arguments(__doc__, ("--tool", {"help": "the built hearth"}),
                              ("programs", {"nargs": "+", "type": Path}))
    with tempfile.TemporaryDirectory(prefix="hearth-numa.") as folder:
        jobs = [guest.Job(program.name, [str(program), f"--gtest_output=json:{folder}/{program.name}.json"],
                          {"HEARTH_TEST_NUMA": "1"}) for program in options.programs]
        topology = check_topology.jobs_for(options.tool) if options.tool else []
        results = guest.run(topology + jobs, options.kernel, options.nodes, cpus=CPUS, folder=folder)
        reports = {}
        for job in jobs:
            path = Path(folder, f"{job.name}.json")
            reports[job.name] = json.loads(path.read_text()) if path.exists() else None
    counts = {}
    for report in filter(None, reports.values()):
        for _, case in cases_of(report):
            fate = "failed" if case.get("failures") else case["result"].lower()
            counts[fate] = counts.get(fate, 0) + 1
    print(", ".join(f"{count} {fate}" for fate, count in sorted(counts.items())))
    problems = check_topology.problems_of(topology, results, options.kernel, options.nodes, CPUS) if topology else []
    problems += [problem for job in jobs
                 for problem in problems_of(job.name, results.get(job.name), reports[job.name])]
    guest.end(problems, "every case as it should be")


if __name__ == "__main__":
    main()
