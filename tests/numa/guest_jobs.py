"""Runs a list of jobs one after the other inside the guest, and writes down what came of each.

usage: guest_jobs.py FOLDER      reads FOLDER/jobs.json, writes FOLDER/results.json after every job

A job is {"name", "command", "environment", "timeout"}, and "where": [PROGRAM, WORD...] if a look from outside is
wanted when the command prints 'paused': it runs PROGRAM with the process id and the words. A word 'ranges' stands for
what the command printed in lines 'range NAME FROM-TO' before. Input is given to the command only after such a look.

A result tells, beside what the command printed, by how much the kernel's counters of migrated pages have grown: they
count for the whole machine, where nothing else runs.
"""
import json
import os
import subprocess
import sys
import threading
import time
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


def main(folder):
    results = {}
    for job in json.loads((folder / "jobs.json").read_text()):
        print(f"{job['name']} ...", end=" ", flush=True)
        with open(folder / "stderr", "w+", errors="replace") as stderr:
            try:
                results[job["name"]] = run(job, stderr)
            except OSError as error:
                results[job["name"]] = {"status": 127, "timed_out": False, "stdout": "", "looks": [], "migrated": {}, "seconds": 0,
                                        "error": str(error)}
            stderr.seek(0)
            results[job["name"]]["stderr"] = results[job["name"]].pop("error", "") + stderr.read()
        print(f"status {results[job['name']]['status']}, {results[job['name']]['seconds']} s", flush=True)
        (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
