"""Runs a list of jobs inside the guest, in their order, and writes down what came of each.

usage: guest_jobs.py FOLDER [AT_ONCE]      reads FOLDER/jobs.json, writes FOLDER/results.json after every job

A job is {"name", "command", "environment", "timeout", "alone"}, and "where": [PROGRAM, WORD...] if a look from outside is
wanted when the command prints 'paused': it runs PROGRAM with the process id and the words. A word 'ranges' stands for
what the command printed in lines 'range NAME FROM-TO' before. Input is given to the command only after such a look.

A result tells, beside what the command printed, by how much the kernel's counters of migrated pages have grown: they
count for the whole machine, where nothing else runs unless AT_ONCE is more than 1.
"""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def look(where, pid, printed):
    """Where the pages are, as the text that the program prints; its complaint if it fails."""
    words = []
    for word in where[1:]:
        words += [line.split()[2] for line in printed if line.startswith("range ")] if word == "ranges" else [word]
    done = subprocess.run([where[0], str(pid), *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"


def migrations():
    lines = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return {name: int(value) for name, value in lines if name.startswith("pgmigrate_")}


def run(job, stderr):
    environment = {**os.environ, **job["environment"]}
    begin, before = time.monotonic(), migrations()
    process = subprocess.Popen(job["command"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=stderr, text=True, errors="replace")
    watch = threading.Timer(job["timeout"], process.kill)
    watch.start()
    printed, looks = [], []
    for line in process.stdout:
        if line == "paused\n" and job.get("where"):
            looks.append(look(job["where"], process.pid, printed))
            process.stdin.write("go on\n")
            process.stdin.flush()
        else:
            printed.append(line)
    status = process.wait()
    timed_out = watch.finished.is_set() and status == -9
    watch.cancel()
    return {"status": status, "timed_out": timed_out, "stdout": "".join(printed), "looks": looks,
            "migrated": {name: count - before[name] for name, count in migrations().items()},
            "seconds": round(time.monotonic() - begin, 1)}


def result_of(job):
    with tempfile.TemporaryFile("w+", errors="replace") as stderr:
        try:
            result = run(job, stderr)
        except OSError as error:
            result = {"status": 127, "timed_out": False, "stdout": "", "looks": [], "migrated": {}, "seconds": 0,
                      "error": str(error)}
        stderr.seek(0)
        result["stderr"] = result.pop("error", "") + stderr.read()
    return result


def main(folder, at_once):
    results, jobs = {}, json.loads((folder / "jobs.json").read_text())
    together, alone = [job for job in jobs if not job["alone"]], [job for job in jobs if job["alone"]]
    for group, lanes_wanted in ((together, at_once), (alone, 1)):
        with ThreadPoolExecutor(lanes_wanted) as lanes:
            for job, result in zip(group, lanes.map(result_of, group)):
                results[job["name"]] = result
                print(f"{job['name']}: status {result['status']}, {result['seconds']} s", flush=True)
                (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
