"""AMD devices, from what amdgpu and its KFD write into sysfs; no library is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from preflight.facts import Absence, Card, Driver, known
from preflight.hardware.amd_card import read_card
from preflight.hardware.amd_driver import MODULE, closed_files, open_files, read_driver
from preflight.hardware.amd_identity import Identity, identify
from preflight.hardware.amd_topology import Place, links_of, peer_grid, topology_grid
from preflight.hardware.files import Files
from preflight.hardware.kfd import NODES, Topology, read_topology
from preflight.hardware.protocol import Say, Sighting, silent
from preflight.hardware.visibility import AMD_VARIABLES, visible

WITHHELD = "by the device cgroup of this container"


class AmdBackend:
    """Reads through ``files``, so that a folder of captured files is a machine too."""

    def __init__(self, files: Files | None = None, environ: Mapping[str, str] = os.environ) -> None:
        self._files = files or Files()
        self._environ = environ

    def look(self, node: str, say: Say = silent) -> Sighting:
        """Devices in the order of the KFD nodes, which is the one that HIP counts in.

        Device files are opened last: an open /dev/kfd would show up among the processes.
        """
        files = self._files
        driver = read_driver(files, self._environ)
        topology = read_topology(files, say)
        if topology.fault is not None:
            return _no_kfd(files, topology.fault, driver)
        version = known(driver.version)
        every = [identify(files, kfd, i, node, version) for i, kfd in enumerate(topology.gpus)]
        uuids = [identity.device.uuid for identity in every]
        indices, hiding = visible(uuids, self._environ, AMD_VARIABLES)
        shown = [every[index] for index in sorted(indices)]
        places = [_place(identity) for identity in shown]
        cards = self._cards(shown, [_place(identity) for identity in every], topology, say)
        opened = open_files(files, [m for s in shown if (m := s.render_minor) is not None], say)
        return Sighting(
            looked_for=f"KFD: {len(every)} device(s)",
            devices=tuple(identity.device for identity in shown),
            cards=cards,
            hidden=_hidden(every, indices, hiding, topology.refused),
            driver=msgspec.structs.replace(driver, files=opened),
            topology=topology_grid(places, [c.numa_node for c in cards]) if cards else None,
            peers=peer_grid(places) if cards else None,
            absences=(
                *topology.absences,
                *(absence for identity in every for absence in identity.absences),
                *closed_files(opened),
            ),
        )

    def _cards(
        self, shown: Sequence[Identity], every: Sequence[Place], topology: Topology, say: Say
    ) -> tuple[Card, ...]:
        cpus = frozenset(node.number for node in topology.nodes if not node.is_gpu)
        cards = []
        for identity in shown:
            say(f"sysfs of {identity.device.name}")
            card = read_card(self._files, identity.folder, identity.kfd, identity.device.name)
            links = links_of(_place(identity), every, cpus)
            cards.append(msgspec.structs.replace(card, links=links))
        return tuple(cards)


def _place(identity: Identity) -> Place:
    return Place(name=identity.device.name, pci=identity.device.pci, node=identity.kfd)


def _hidden(
    every: Sequence[Identity], shown: Sequence[int], hiding: Sequence[str], refused: Sequence[int]
) -> tuple[str, ...]:
    """Devices that exist and that this process cannot use, with what hides them."""
    by_variables = [every[i].device for i in range(len(every)) if i not in shown]
    return (
        *(f"{d.name} ({d.product}) by {', '.join(hiding)}" for d in by_variables),
        *(f"KFD node {number} (a card) {WITHHELD}" for number in refused),
    )


def _no_kfd(files: Files, fault: Absence, driver: Driver) -> Sighting:
    """The driver is not there, or it is there without the half that computes."""
    detail = f"{NODES}: {fault.detail}"
    if not isinstance(files.names(MODULE), Absence):
        detail += "; amdgpu is loaded, without KFD, its half that computes"
    return Sighting(
        looked_for=f"KFD of the amdgpu driver: {fault.reason}",
        driver=driver,
        absences=(Absence(what="KFD", reason=fault.reason, detail=detail),),
    )
