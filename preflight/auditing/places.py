"""Where the packages of an environment lie: of an interpreter, a folder, or an unpacked image."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from preflight.auditing.interpreter import ask_interpreter, working_folder
from preflight.auditing.roots import Root
from preflight.errors import UsageError

WORKING_FOLDER, PYTHONPATH, USER_SITE = "the working folder", "PYTHONPATH", "the user site"
_PREFIXES = (
    *("usr", "usr/local", "opt/*", "opt/*/*", "root/*", "root/.local", "home/*/.local"),
    *("home/*/*", "app", "app/*", "srv/*", "workspace/*", "venv", ".venv", "*"),
)
"""Where images are seen to keep their Pythons and virtual environments."""
_IN_PREFIX = (
    "lib/python3*/site-packages",
    "lib/python3*/dist-packages",
    "lib/python3/dist-packages",
)
_IN_ORDER = ("root/.local", "home", "usr/local", "usr")
"""Debian's Python asks these in this order."""
_MOST_PTH_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Place:
    """An environment before it is looked at."""

    subject: str
    root: Root
    sites: tuple[Path, ...]
    """Folders of packages, in the order in which Python asks them."""
    before: tuple[tuple[Path, str], ...] = ()
    """Folders that Python asks before them, and what to call these."""
    user_site: Path | None = None
    """The one of ``sites`` that is the user's own."""
    python: str | None = None
    library_path: tuple[Path, ...] = ()
    """LD_LIBRARY_PATH."""
    prefix: Path | None = None
    pip: str = "pip"
    """How its pip is called."""


def place_of_interpreter(python: str) -> Place:
    """The environment of an interpreter; raises UsageError where it does not answer."""
    told = ask_interpreter(python)
    user = Path(told.user) if told.user else None
    sites = [Path(site) for site in told.sites]
    if user is not None and user.is_dir():
        sites.insert(0, user)
    before = [] if told.safe else [(working_folder(), WORKING_FOLDER)]
    standard = Path(told.search[-1]).parent if told.search else None
    before += [
        (Path(path), PYTHONPATH)
        for path in os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if path and path in told.search and Path(path) != standard
    ]
    return Place(
        subject=python,
        root=Root(),
        sites=_existing(sites),
        before=tuple((path, name) for path, name in before if path is not None),
        user_site=user,
        python=told.version,
        library_path=_library_path(os.environ.get("LD_LIBRARY_PATH", "")),
        prefix=Path(told.prefix),
        pip=f"{python} -m pip",
    )


def place_of_folder(site: str) -> Place:
    """A folder of packages; raises UsageError for none."""
    path = Path(site)
    if not path.is_dir():
        raise UsageError(
            f"{site} is no folder", where="--site", mend="name a folder such as .../site-packages"
        )
    version = _version(path)
    return Place(
        subject=site,
        root=Root(),
        sites=(path.absolute(),),
        python=version,
        library_path=_library_path(os.environ.get("LD_LIBRARY_PATH", "")),
        prefix=path.absolute().parents[2] if version and len(path.absolute().parents) > 2 else None,
    )


def place_of_image(folder: str, site: str | None = None) -> Place:
    """The environment in an unpacked image: the one with torch, or the one named by ``site``.

    Raises UsageError for no folder, for an image without packages, and where several environments
    could be meant.
    """
    if not Path(folder).is_dir():
        raise UsageError(
            f"{folder} is no folder",
            where="--image-root",
            mend="unpack the image into a folder first, and name that folder",
        )
    root = Root(Path(os.path.realpath(folder)))
    groups = _environments(root)
    chosen = _named(groups, root, site) if site else _only(groups, root, folder)
    first = chosen[0]
    variables = _variables(root)
    return Place(
        subject=folder if site is None else f"{folder}, {site}",
        root=root,
        sites=tuple(chosen),
        user_site=next((path for path in chosen if "/.local/" in str(path)), None),
        python=_version(first),
        library_path=tuple(
            root.at(path) for path in variables.get("LD_LIBRARY_PATH", "").split(":") if path
        ),
        prefix=first.parents[2],
    )


def _environments(root: Root) -> list[list[Path]]:
    """Folders of packages with something in them, those of one interpreter together."""
    found: dict[tuple[str, str], list[Path]] = {}
    for path in _sites(root):
        shown = root.shown(path).lstrip("/")
        system = shown.startswith(("usr/lib/", "usr/local/lib/", "root/.local/", "home/"))
        is_shared = (
            system and "/.venv/" not in shown and not (path.parents[2] / "pyvenv.cfg").exists()
        )
        version = _version(path) or ""
        found.setdefault(("", version) if is_shared else (shown, version), []).append(path)
    debian = found.pop(("", ""), [])
    for (prefix, _), paths in list(found.items()):
        if not prefix:
            paths += debian
    if debian and not any(not prefix for prefix, _ in found):
        found["", ""] = debian
    return [sorted(paths, key=lambda p: _rank(root.shown(p))) for paths in found.values()]


def _rank(shown: str) -> int:
    places = [i for i, start in enumerate(_IN_ORDER) if shown.lstrip("/").startswith(f"{start}/")]
    return places[0] if places else len(_IN_ORDER)


def _sites(root: Root) -> Iterator[Path]:
    seen: set[Path] = set()
    prefixes = [*_PREFIXES, *_on_path(root)]
    for prefix in prefixes:
        for inside in _IN_PREFIX:
            for path in root.glob(f"{prefix}/{inside}"):
                if path not in seen and path.is_dir() and any(path.iterdir()):
                    seen.add(path)
                    yield path


def _on_path(root: Root) -> list[str]:
    """Prefixes of the programs on PATH of the image."""
    bins = [path.strip("/") for path in _variables(root).get("PATH", "").split(":")]
    return [
        path.removesuffix("/bin") for path in bins if path.endswith("/bin") and ".." not in path
    ]


def _variables(root: Root) -> dict[str, str]:
    """The variables of /etc/environment, all of an image's that its files keep."""
    try:
        text = root.at("etc/environment").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.strip().removeprefix("export ").partition("=") for line in text.splitlines())
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs if value}


def _only(groups: list[list[Path]], root: Root, folder: str) -> list[Path]:
    if not groups:
        raise UsageError(
            f"{folder} holds no Python packages where images keep them",
            where="--image-root",
            mend="name their folder with --site, as the image calls it",
        )
    with_torch = [group for group in groups if any((site / "torch").is_dir() for site in group)]
    fitting = with_torch or groups
    if len(fitting) > 1:
        raise UsageError(
            f"{folder} holds {len(fitting)} environments"
            + (" with torch" if with_torch else "")
            + ": "
            + ", ".join(root.shown(group[0]) for group in fitting),
            where="--image-root",
            mend=f"choose one, such as --site {root.shown(fitting[0][0])}",
        )
    return fitting[0]


def _named(groups: list[list[Path]], root: Root, site: str) -> list[Path]:
    """The environment that a folder of the image belongs to, or that folder alone."""
    path = root.at(site)
    for group in groups:
        if path in group:
            return group
    if not path.is_dir():
        raise UsageError(
            f"{site} is no folder of the image",
            where="--site",
            mend="with --image-root, name a folder as the image calls it: /opt/venv/lib/...",
        )
    return [path]


def pth_folders(site: Path, root: Root) -> Iterator[Path]:
    """Folders that the .pth files of a site add; their lines of code are not run."""
    for path in sorted(site.glob("*.pth")):
        try:
            with path.open("rb") as stream:
                text = stream.read(_MOST_PTH_BYTES).decode("utf-8", "replace")
        except OSError:
            continue  # Python, too, passes over one that it cannot read
        for line in text.splitlines():
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                folder = root.real(site / line.strip())
                if folder.is_dir():
                    yield folder


def _existing(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Folders that are there, each once."""
    found: dict[str, Path] = {}
    for path in paths:
        if path.is_dir():
            found.setdefault(os.path.realpath(path), path)
    return tuple(found.values())


def _library_path(text: str) -> tuple[Path, ...]:
    return tuple(Path(part).absolute() for part in re.split("[:;]", text) if part)


def _version(site: Path) -> str | None:
    """``3.11`` of .../lib/python3.11/site-packages."""
    found = re.fullmatch(r"python(3\.\d+)t?", site.parent.name)
    return found[1] if found else None
