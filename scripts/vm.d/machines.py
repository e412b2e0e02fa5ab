"""The guest's memory nodes, and the QEMU options that make them.

QEMU only tells the kernel the speeds, in ACPI's HMAT: every node is as fast as any other. What the kernel makes of
them is real: distances, tiers, policies, moves.
"""
import dataclasses
import re

MIB = 1 << 20
LABELS = 128 << 10  # of an NVDIMM; the rest of it must be a multiple of 16 MiB
NVDIMM_ALIGNMENT = 16 * MIB


@dataclasses.dataclass(frozen=True)
class Node:
    latency_ns: tuple    # as told to the kernel, seen from each node with CPUs
    bandwidth: tuple     # likewise
    memory: int          # bytes; scripts/vm --memory overrides it
    has_cpus: bool = False
    beside: int = 0      # the node with CPUs that a node without is attached to
    is_nvdimm: bool = False


@dataclasses.dataclass(frozen=True)
class Topology:
    nodes: tuple
    distances: dict      # (from, to): the SLIT's figure; 10 for a node to itself
    what: str


SIZE = 2048 * MIB
TOPOLOGIES = {
    "two": Topology(
        (Node((80,), ("100G",), SIZE, has_cpus=True), Node((300,), ("10G",), SIZE)),
        {(0, 1): 20}, "node 0 with the CPUs; node 1 without, slower"),
    "three": Topology(
        (Node((80, 130), ("100G", "40G"), SIZE, has_cpus=True), Node((130, 80), ("40G", "100G"), SIZE, has_cpus=True),
         Node((300, 380), ("10G", "8G"), SIZE)),
        {(0, 1): 20, (0, 2): 17, (1, 2): 28}, "two sockets with CPUs; node 2 without, slower, attached to node 0"),
    "optane": Topology(
        (Node((80,), ("100G",), SIZE, has_cpus=True), Node((300,), ("10G",), SIZE, is_nvdimm=True)),
        {(0, 1): 20}, "an NVDIMM that the guest makes node 1 by ndctl and daxctl, as on a machine with Optane"),
}


def parse_memory(text, topology):
    """'2G,512M' as bytes for each node. ValueError says what is wrong."""
    sizes = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)([MG])", part.strip(), re.IGNORECASE)
        if not match:
            raise ValueError(f"'{part}' is no size such as 512M or 2G")
        sizes.append(int(match[1]) * (MIB if match[2].upper() == "M" else 1024 * MIB))
    if len(sizes) != len(topology.nodes):
        raise ValueError(f"{len(sizes)} sizes for {len(topology.nodes)} nodes")
    for size, node in zip(sizes, topology.nodes):
        if size < 128 * MIB or (node.is_nvdimm and size % NVDIMM_ALIGNMENT):
            raise ValueError("a node has at least 128M, an NVDIMM a multiple of 16M")
    return sizes


def qemu_options(topology, sizes, cpus):
    """Machine, CPUs, memory and nodes. Each node with CPUs is a socket; all sockets have as many cores."""
    sockets = [number for number, node in enumerate(topology.nodes) if node.has_cpus]
    cores = -(-cpus // len(sockets))
    has_nvdimm = any(node.is_nvdimm for node in topology.nodes)
    ram = sum(size for size, node in zip(sizes, topology.nodes) if not node.is_nvdimm)
    room = f",slots=2,maxmem={(ram + sum(sizes)) // MIB}M" if has_nvdimm else ""
    # Nehalem: any newer CPU model costs more to emulate
    options = ["-machine", "q35,hmat=on" + (",nvdimm=on" if has_nvdimm else ""), "-cpu", "Nehalem",
               "-smp", f"sockets={len(sockets)},cores={cores},threads=1", "-m", f"{ram // MIB}M{room}"]
    for number, (node, size) in enumerate(zip(topology.nodes, sizes)):
        options += node_options(number, node, size)
    for socket, number in enumerate(sockets):
        options += ["-numa", f"cpu,node-id={number},socket-id={socket}"]
    for (source, target), distance in topology.distances.items():
        options += ["-numa", f"dist,src={source},dst={target},val={distance}"]
    for target, node in enumerate(topology.nodes):
        for initiator, latency, bandwidth in zip(sockets, node.latency_ns, node.bandwidth):
            pair = f"hmat-lb,initiator={initiator},target={target},hierarchy=memory"
            options += ["-numa", f"{pair},data-type=access-latency,latency={latency}",
                        "-numa", f"{pair},data-type=access-bandwidth,bandwidth={bandwidth}"]
    return options


def node_options(number, node, size):
    initiator = "" if node.has_cpus else f",initiator={node.beside}"
    if node.is_nvdimm:
        size += LABELS
        return ["-numa", f"node,nodeid={number}{initiator}",
                "-object", f"memory-backend-ram,id=memory{number},size={size}",
                "-device", f"nvdimm,id=nvdimm{number},memdev=memory{number},label-size={LABELS},node={number}"]
    return ["-object", f"memory-backend-ram,id=memory{number},size={size}",
            "-numa", f"node,nodeid={number},memdev=memory{number}{initiator}"]
