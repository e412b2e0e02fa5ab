"""In each kind of guest: the kernel shows the nodes that scripts/vm promises, and `hearth info --json` sees the same.

What the kernel shows is read from sysfs here, so that neither side is judged by itself.
"""
import json

import guest

NODES = "/sys/devices/system/node"
# CPUs, distances, read latency (ns) and bandwidth (MB/s) as seen from the nearest CPUs
TOPOLOGIES = {
    "two": {0: ("0", "10 20", 80, 102400), 1: ("", "20 10", 300, 10240)},
    "three": {0: ("0", "10 20 17", 80, 102400), 1: ("1", "20 10 28", 80, 102400), 2: ("", "17 28 10", 300, 10240)},
    "optane": {0: ("0", "10 20", 80, 102400), 1: ("", "20 10", 300, 10240)},
}
SLOWEST = {"two": 1, "three": 2, "optane": 1}
LEAST_BYTES = 1800 << 20  # of the 2 GiB of each node: the kernel keeps some, an NVDIMM some for its page structures


def facts_of(text):
    """'path:value' lines as a dictionary."""
    return dict(line.split(":", 1) for line in text.splitlines())


def topology(nodes, cpus):
    """As the kernel shows it in a guest with so many CPUs; with one, each socket has one."""
    if cpus == 1:
        return TOPOLOGIES[nodes]
    first, *others = TOPOLOGIES[nodes].items()
    return {first[0]: (f"0-{cpus - 1}", *first[1][1:]), **dict(others)}


def problems_of_kernel(nodes, cpus, facts):
    for node, (cpu_list, distances, latency, bandwidth) in topology(nodes, cpus).items():
        here = f"{NODES}/node{node}"
        for file, expected in (("cpulist", cpu_list), ("distance", distances),
                               ("access0/initiators/read_latency", latency),
                               ("access0/initiators/read_bandwidth", bandwidth)):
            found = facts.get(f"{here}/{file}", "not there")
            if found != str(expected):
                yield f"{here}/{file} is '{found}', not '{expected}'"
    if f"{NODES}/node{len(TOPOLOGIES[nodes])}/cpulist" in facts:
        yield "there are more nodes than promised"


def problems_of_tiers(kernel, nodes, facts):
    """The kernel's own memory tiers; Linux 6.1 makes them of the driver alone, so that plain memory is one tier."""
    tiers = [value for name, value in facts.items() if name.endswith("/nodelist")]
    slow = str(SLOWEST[nodes])
    if (kernel, nodes) in (("6.1", "two"), ("6.1", "three")):
        if len(tiers) != 1:
            yield f"Linux 6.1 shows memory tiers {tiers}: it made one of all plain memory so far"
    elif slow not in tiers:
        yield f"node {slow} is no memory tier of its own: {tiers}"


def problems_of_info(nodes, cpus, info):
    seen = {node["node"]: node for node in info["machine"]["nodes"]}
    if sorted(seen) != sorted(TOPOLOGIES[nodes]):
        yield f"hearth info sees nodes {sorted(seen)}, the kernel {sorted(TOPOLOGIES[nodes])}"
        return
    for node, expected in topology(nodes, cpus).items():
        keys = ("cpus", "distances", "read_latency_ns", "read_mb_per_s")
        found = tuple(seen[node].get(key, "") for key in keys)  # a node without CPUs has no such key
        if found != expected:
            yield f"hearth info on node {node}: {keys} are {found}, not {expected}"
        if not LEAST_BYTES <= seen[node]["bytes"] <= 2 << 30:
            yield f"hearth info on node {node}: {seen[node]['bytes']} bytes, expected nearly 2 GiB"


def jobs_for(tool):
    return [guest.Job("sysfs", ["sh", "-c", f"""
                grep -s '' {NODES}/node*/cpulist {NODES}/node*/distance {NODES}/node*/access0/initiators/read_* \
                    /sys/devices/virtual/memory_tiering/memory_tier*/nodelist || true"""]),
            # Without a python on its path: what PyTorch is like is asked elsewhere, and takes a minute here.
            guest.Job("info", [tool, "info", "--json"], {"PATH": "/nowhere"})]


def problems_of(jobs, results, kernel, nodes, cpus=1):
    problems = list(guest.problems_of(jobs, results))
    if not problems:
        facts, info = facts_of(results["sysfs"]["stdout"]), json.loads(results["info"]["stdout"])
        problems = [*problems_of_kernel(nodes, cpus, facts), *problems_of_tiers(kernel, nodes, facts),
                    *problems_of_info(nodes, cpus, info)]
        if problems:
            print(json.dumps(facts, indent=1), json.dumps(info["machine"], indent=1))
    return problems


def main():
    options = guest.arguments(__doc__, ("tool", {"help": "the built hearth"}))
    jobs = jobs_for(options.tool)
    problems = problems_of(jobs, guest.run(jobs, options.kernel, options.nodes), options.kernel, options.nodes)
    guest.end(problems, f"{len(TOPOLOGIES[options.nodes])} nodes, as promised and as hearth sees them")


if __name__ == "__main__":
    main()
