"""What a check may ask for by the names of its arguments."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from preflight import clock
from preflight.events import Environment
from preflight.facts import Absence
from preflight.harness.checkpoint_site import checkpoint_site
from preflight.harness.injecting import InjectedFault
from preflight.harness.outcomes import CannotLook, ProbeFailed
from preflight.harness.plugin import NO_DEVICE, PLUGIN, RESULT, SPEC, UNTIL_S, ChecksPlugin
from preflight.harness.probing import Probe
from preflight.harness.rank_service import RankCall, RankService
from preflight.harness.result import Result
from preflight.harness.situation import Situation
from preflight.harness.software import look_at_environment, stated_environment
from preflight.harness.telemetry import Sampler
from preflight.plan import Plan
from preflight.records import Device
from preflight.stages import STATIC_STAGES


def _plugin(request: pytest.FixtureRequest) -> ChecksPlugin:
    return request.config.stash[PLUGIN]


@pytest.fixture
def result(request: pytest.FixtureRequest) -> Result:
    """Takes measurements, warnings and actions of this check."""
    return request.node.stash[RESULT]  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def situation(request: pytest.FixtureRequest) -> Situation:
    """The run, the machine and the results so far."""
    return _plugin(request).situation


@pytest.fixture(scope="session")
def plan(situation: Situation) -> Plan:
    """The plan of the campaign; empty where none was given."""
    return situation.plan


@pytest.fixture
def device(request: pytest.FixtureRequest, situation: Situation) -> Device | None:
    """The device this check speaks of, with torch's name for it once torch was asked."""
    return None if request.param == NO_DEVICE else situation.device(request.param)


@pytest.fixture
def ask_torch(request: pytest.FixtureRequest, situation: Situation) -> Callable[[], Environment]:
    """Asks what the interpreter under test has; torch is imported there once, when first asked.

    In a simulation the static stages are told of the build that the profile states instead.
    """
    stated = situation.inventory.stated
    if stated is not None and request.node.stash[SPEC].stage in STATIC_STAGES:
        return lambda: stated_environment(stated)

    def ask() -> Environment:
        if situation.environment is None:
            situation.environment = look_at_environment(
                situation.options.python,
                situation.probed,
                deadline_s=request.node.stash[UNTIL_S] - clock.seconds(),
                fault=_plugin(request).injector.at_device("import", None),
            )
            _plugin(request).journal.append(situation.environment)
        return situation.environment

    return ask


class BoundProbe:
    """Calls probes within what is left of a check's deadline."""

    def __init__(
        self,
        probe: Probe,
        until_s: float,
        given: Mapping[str, Any],
        fault: InjectedFault | None,
    ) -> None:
        self._probe = probe
        self._until_s = until_s
        self._given = dict(given)
        self._fault = fault

    def __call__(self, name: str, /, **params: Any) -> dict[str, Any]:
        """Answer of ``module.function``; raises ProbeFailed or CannotLook."""
        left_s = self._until_s - clock.seconds()
        if left_s <= 0:
            raise ProbeFailed(f"no time is left for {name} within the deadline of this check")
        given = {**self._given, **params}
        return self._probe.call(name, deadline_s=left_s, injected=self._fault, **given)


@pytest.fixture(scope="session")
def _device_probes(situation: Situation) -> Iterator[dict[str, Probe]]:
    probes: dict[str, Probe] = {}
    yield probes
    for probe in probes.values():
        probe.close()


@pytest.fixture
def probe(
    request: pytest.FixtureRequest,
    situation: Situation,
    device: Device,
    _device_probes: dict[str, Probe],
) -> BoundProbe:
    """Calls probes on this check's device, in the process that serves this device."""
    held = _device_probes.setdefault(device.name, Probe(situation.options.python))
    return _bound(request, held, _given(request, situation, device), device.name)


@pytest.fixture
def fresh(request: pytest.FixtureRequest, situation: Situation) -> Iterator[Any]:
    """Makes probes in processes that have done nothing yet: ``fresh(environment={...})``."""
    made: list[Probe] = []
    given: dict[str, Any] = {}
    name = None
    if "device" in request.fixturenames:
        device = request.getfixturevalue("device")
        given, name = _given(request, situation, device), device.name

    def start(environment: Mapping[str, str] | None = None) -> BoundProbe:
        made.append(Probe(situation.options.python, environment))
        return _bound(request, made[-1], given, name)

    yield start
    for one in made:
        one.close()


def _bound(
    request: pytest.FixtureRequest, probe: Probe, given: Mapping[str, Any], device: str | None
) -> BoundProbe:
    stash = request.node.stash
    fault = _plugin(request).injector.at_device(stash[SPEC].stage, device)
    return BoundProbe(probe, stash[UNTIL_S], given, fault)


def _given(request: pytest.FixtureRequest, situation: Situation, device: Device) -> dict[str, Any]:
    """Parameters that every probe of a device takes."""
    if device.torch_device is None:  # with --only nobody may have asked torch so far
        request.getfixturevalue("ask_torch")()
        device = situation.device(device.name)
    if device.torch_device is None:
        raise ProbeFailed(
            f"torch does not see {device.name} ({device.product}, {device.uuid or device.pci})",
            action="compare CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES with the driver's list",
        )
    return {"device": device.torch_device, "seed": situation.options.seed}


@pytest.fixture
def telemetry(situation: Situation) -> Callable[[Device], Sampler]:
    """Watches a device at work: ``with telemetry(device) as sampler: probe(...)``.

    ``sampler.samples`` holds what was seen, once the block has ended.
    """
    if situation.options.mode == "certify":
        return Sampler
    absence = Absence(what="telemetry", reason="not asked", detail="the CPU stands in for the card")
    return lambda device: Sampler(device, absence=absence)


@pytest.fixture(scope="session")
def _rank_service(situation: Situation) -> Iterator[RankService]:
    service = RankService(situation)
    yield service
    service.close()


@pytest.fixture
def ranks(request: pytest.FixtureRequest, _rank_service: RankService) -> RankCall:
    """Calls probes on every rank of the node at once."""
    injector, stage = _plugin(request).injector, request.node.stash[SPEC].stage
    if any(device.torch_device is None for device in _plugin(request).situation.probed):
        request.getfixturevalue("ask_torch")()
    return RankCall(
        _rank_service,
        request.node.stash[UNTIL_S],
        lambda count: injector.at_ranks(stage, count),
    )


@pytest.fixture
def scratch(request: pytest.FixtureRequest) -> Path:
    """An empty folder inside the run's own, removed when the run ends."""
    root = _plugin(request).folder / "scratch"
    try:
        root.mkdir(exist_ok=True)
        name = request.node.stash[SPEC].id + "-"
        return Path(tempfile.mkdtemp(prefix=name, dir=root))
    except OSError as error:
        raise CannotLook(
            f"no folder for temporary files can be made: {os.strerror(error.errno or 0)}",
            action=f"free space under {root}, or name another folder with --out",
        ) from error


@pytest.fixture(scope="session")
def checkpoint_folder(request: pytest.FixtureRequest, situation: Situation) -> Path:
    """A folder on the disk of the plan's checkpoints, removed when the run ends."""
    folder = checkpoint_site(situation.plan, situation.options.plan_file, _plugin(request).folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProbeFailed(
            f"no checkpoint can be written to {folder.parent}: {error.strerror}",
            action="make it writable, or name another path in [checkpoint] of the plan",
        ) from error
    return folder
