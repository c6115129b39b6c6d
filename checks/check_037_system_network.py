"""Stage system: RDMA ports, locked memory and the nearness of cards, network cards and CPUs."""

from __future__ import annotations

import pytest

from preflight.compat.cpu_lists import parse_cpus
from preflight.facts import Absence, RdmaPort, known
from preflight.harness import Result, Situation, Survey

BUFFER_GiB = 1.0
"""NCCL's buffers of one rank: 4 MiB (NCCL_BUFFSIZE) for each of 32 channels to each of 8 peers."""
MEMLOCK_ACTION = (
    "allow it: ulimit -l unlimited, memlock in /etc/security/limits.conf, or start the container "
    "with --ulimit memlock=-1"
)
CABLE_ACTION = "ask the seller to check cable, switch port and link of this port"
MANAGER_ACTION = "ask the seller to start the subnet manager: the port has a link and waits for it"
VERBS_ACTION = "install it in the image: apt-get install libibverbs1 ibverbs-providers"
NEAR_ACTION = "ask the seller for the node's layout; bind ranks to the CPUs near their card"


@pytest.mark.check(id="system.rdma", stage="system", deadline="10s")
def check_rdma(situation: Situation, result: Result) -> None:
    """The RDMA ports are up, and a library is there to use them."""
    survey = Survey.of_cards(situation, result)
    host = situation.surroundings.host
    ports = survey.ask_host("RDMA ports", host.rdma)
    nodes = situation.order.nodes or 1
    if not ports and ports is not None and nodes == 1:
        result.skip("no RDMA device, and one node needs none")
    if not ports and nodes > 1:
        action = "ask the seller for the fabric that was bought; without it NCCL uses TCP"
        survey.warn("", f"{nodes} nodes were bought, and there is no RDMA device", action)
    up = [port for port in ports or () if known(port.state) == "active"]
    for port in ports or ():
        survey.read(f"state of {_shown(port)}", port.state)
        if known(port.state) not in (None, "active"):
            # A port near a card carries its traffic; any other may be one that nobody cabled.
            tell = survey.fail if nodes > 1 and (port.nearest or not up) else survey.warn
            waits = known(port.state) in ("init", "armed")
            tell(_shown(port), _how_down(port), MANAGER_ACTION if waits else CABLE_ACTION)
    _judge_rates(survey, up)
    if up:
        _judge_access(survey, up, nodes)
        _judge_software(survey, situation, nodes)
    survey.settle(f"{len(up)} of {len(ports or ())} ports are active")


def _shown(port: RdmaPort) -> str:
    return f"{port.device} port {port.port}"


def _how_down(port: RdmaPort) -> str:
    physical = known(port.physical_state)
    near = f", the one near {port.nearest}" if port.nearest else ""
    return f"the port is {known(port.state)}{f' ({physical})' if physical else ''}{near}"


def _judge_rates(survey: Survey, up: list[RdmaPort]) -> None:
    """Compare the ports that serve cards with each other; those for storage may be slower."""
    rails = [port for port in up if port.nearest]
    rates = {_shown(port): port.rate_Gbps for port in rails if isinstance(port.rate_Gbps, float)}
    for name, rate_Gbps in rates.items():
        survey.measure(f"{name} rate", rate_Gbps, "Gb/s")
        best_Gbps = max(rates.values())
        if rate_Gbps < best_Gbps:
            what = f"{rate_Gbps:g} Gb/s, and the others run at {best_Gbps:g}"
            survey.warn(name, what, CABLE_ACTION)


def _judge_access(survey: Survey, up: list[RdmaPort], nodes: int) -> None:
    """Ports that the host has and this container may not open carry nothing."""
    for port in up:
        closed = isinstance(port.is_open, Absence) and port.is_open.reason != "not asked"
        if closed or port.is_open is False:
            why = f": {port.is_open.reason}" if isinstance(port.is_open, Absence) else ""
            tell = survey.fail if nodes > 1 else survey.warn
            action = "start the container with --device /dev/infiniband"
            tell(_shown(port), f"its file in /dev/infiniband is not open to us{why}", action)


def _judge_software(survey: Survey, situation: Situation, nodes: int) -> None:
    """Judge what NCCL needs besides the ports: libibverbs, and a module for GPUDirect RDMA."""
    host = situation.surroundings.host
    library = survey.read("libibverbs", host.verbs_library)
    absent = isinstance(host.verbs_library, Absence) and host.verbs_library.reason == "not found"
    if absent or library == "":
        tell = survey.fail if nodes > 1 else survey.warn
        tell(
            "",
            "libibverbs is not installed here: NCCL falls back to TCP although RDMA ports are up",
            VERBS_ACTION,
        )
    peer = survey.read("GPUDirect RDMA", host.peer_memory)
    if peer == "none" and nodes > 1:
        action = "ask the seller to load nvidia_peermem, or for a kernel and driver with dma-buf"
        survey.warn(
            "", "no kernel module for GPUDirect RDMA: traffic goes through the host", action
        )


@pytest.mark.check(id="system.memlock", stage="system", deadline="10s")
def check_memlock(situation: Situation, result: Result) -> None:
    """RDMA may lock the memory that it registers."""
    survey = Survey.of_cards(situation, result)
    host = situation.surroundings.host
    ports = survey.ask_host("RDMA ports", host.rdma)
    if ports is not None and not any(known(port.state) == "active" for port in ports):
        result.skip("no active RDMA port")
    limit_KiB = situation.inventory.host.memlock_KiB
    if ports is None or limit_KiB is None:
        if ports is not None:
            survey.read("limit of locked memory", Absence(reason="failed"))
        survey.settle()
        return
    needed_GiB = BUFFER_GiB * max(1, len(survey.cards))
    if 0 <= limit_KiB < needed_GiB * 1024**2:
        hard = known(host.memlock_hard_KiB)
        mend = "ulimit -l unlimited (the hard limit allows it)" if hard == -1 else MEMLOCK_ACTION
        what = f"{limit_KiB} KiB may be locked, {len(survey.cards)} ranks want {needed_GiB:g} GiB"
        survey.warn("", f"{what} for NCCL's buffers", mend)
        survey.measure("limit of locked memory", limit_KiB / 1024**2, "GiB")
    survey.settle("without limit" if limit_KiB == -1 else f"{limit_KiB / 1024**2:.3g} GiB")


@pytest.mark.check(id="system.affinity", stage="system", deadline="10s")
def check_affinity(situation: Situation, result: Result) -> None:
    """Each card is near its network card and near CPUs that this process may use."""
    survey = Survey.of_cards(situation, result)
    nodes = survey.ask("NUMA node", lambda card: card.numa_node)
    host = situation.surroundings.host
    for port in known(host.rdma) or ():
        near, at = known(port.numa_node), nodes.get(port.nearest, -1)
        if near is not None and min(near, at) >= 0 and near != at:
            what = f"its network card {port.device} is on NUMA node {near}, the card on {at}"
            survey.warn(port.nearest, what, NEAR_ACTION)
    _judge_cpus(survey, situation)
    unknown = [name for name, node in nodes.items() if node < 0]
    places = sorted(set(nodes.values()) - {-1})
    words = f"cards on NUMA node {' and '.join(map(str, places))}"
    if unknown:
        words = f"the firmware names no NUMA node for {', '.join(unknown)}"
    survey.settle(words if nodes else "")


def _judge_cpus(survey: Survey, situation: Situation) -> None:
    """Warn of cards none of whose near CPUs this process may run on."""
    allowed_text = survey.read("allowed CPUs", situation.surroundings.host.allowed_cpus)
    near = survey.glance("near CPUs", lambda card: card.near_cpus)
    allowed = parse_cpus(allowed_text or "")
    for name, text in near.items():
        if allowed and parse_cpus(text) and not allowed & parse_cpus(text):
            what = f"this process may run on CPUs {allowed_text} alone, near the card are {text}"
            action = (
                "start the container with those CPUs too (--cpuset-cpus), or ask Slurm for them"
            )
            survey.warn(name, what, action)
