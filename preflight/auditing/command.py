"""``preflight audit``: from its flags to what it says."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence

from preflight import __version__
from preflight.auditing.environment import look_at
from preflight.auditing.gpus import choose_gpus
from preflight.auditing.places import (
    Place,
    place_of_folder,
    place_of_image,
    place_of_interpreter,
)
from preflight.auditing.wheels import look_into
from preflight.compat.audit import Audit
from preflight.compat.audit_judgement import judge_environment
from preflight.compat.installed import Installed
from preflight.compat.vendor_libraries import normal_name
from preflight.errors import UsageError


def run_audit(
    *,
    python: str | None = None,
    site: str | None = None,
    is_wheel: bool = False,
    wheels: Sequence[str] = (),
    image_root: str | None = None,
    gpu: Sequence[str] = (),
    arch: Sequence[str] = (),
    driver: str | None = None,
    package: Sequence[str] = (),
) -> Audit:
    """The audit that the flags ask for; raises UsageError for flags that cannot be used.

    Without a place it is the interpreter that runs preflight.
    """
    _check_place(python, site, is_wheel, wheels, image_root)
    _check_driver(driver)
    chosen = choose_gpus(gpu, arch)
    only = [part.strip() for text in package for part in text.split(",") if part.strip()]
    names = frozenset(map(normal_name, only))
    if is_wheel:
        installed = look_into(wheels, names)
    else:
        installed = look_at(_place(python, site, image_root), names)
    _check_packages(only, installed)
    return judge_environment(
        installed,
        chosen.gpus,
        gpus_from=chosen.origin,
        driver=driver or chosen.driver,
        tool_version=__version__,
    )


def _place(python: str | None, site: str | None, image_root: str | None) -> Place:
    if image_root is not None:
        return place_of_image(image_root, site)
    if site is not None:
        return place_of_folder(site)
    return place_of_interpreter(python or sys.executable)


def _check_place(
    python: str | None,
    site: str | None,
    is_wheel: bool,
    wheels: Sequence[str],
    image_root: str | None,
) -> None:
    """--site beside --image-root chooses an environment in it; any other two exclude each other."""
    given = {"--python": python, "--wheel": is_wheel or None, "--image-root": image_root}
    if image_root is None:
        given["--site"] = site
    named = [flag for flag, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError("give one of the two", where=" and ".join(named), mend="drop one of them")
    if is_wheel and not wheels:
        raise UsageError("no file is named", where="--wheel", mend="name one: --wheel a.whl b.whl")
    if wheels and not is_wheel:
        raise UsageError(
            f"{wheels[0]} belongs to no flag", where="FILE", mend="to look into wheels add --wheel"
        )


def _check_driver(driver: str | None) -> None:
    if driver is not None and not re.fullmatch(r"\d{3,4}(\.\d+){0,2}", driver):
        raise UsageError(
            f"{driver!r} is no version of NVIDIA's driver",
            where="--driver",
            mend="give it as nvidia-smi shows it, such as --driver 570.86.15",
        )


def _check_packages(only: Sequence[str], installed: Installed) -> None:
    there = {normal_name(one.name): one.name for one in installed.distributions}
    for name in only:
        if normal_name(name) not in there:
            near = difflib.get_close_matches(normal_name(name), installed.names, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise UsageError(
                f"{name} is not installed in {installed.subject}{hint}",
                where="--package",
                mend="leave --package out to see what is",
            )
