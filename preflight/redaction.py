"""What of the environment, of command lines and of raw output may be kept in a record.

Two rules stand here and nowhere else: which variables are kept at all (an allow-list), and what is
taken out of every text that is kept: secrets by their name, by their shape, or inside an address,
and the name of the home folder. The judgement errs towards taking out, but hashes of commits,
UUIDs, versions, sizes and paths stay. Every pattern takes time linear in the text.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

REDACTED = "<redacted>"

KEPT_PREFIXES: tuple[str, ...] = (
    "AMD_",
    "CUBLAS_",
    "CUDA_",
    "CUDNN_",
    "FI_",
    "FLASH_ATTENTION_",
    "GLOO_",
    "GOMP_",
    "GPU_",
    "HIP_",
    "HSA_",
    "KMP_",
    "MIOPEN_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "OPENBLAS_",
    "PYTORCH_",
    "RCCL_",
    "ROCBLAS_",
    "ROCM_",
    "ROCR_",
    "TORCHELASTIC_",
    "TORCHINDUCTOR_",
    "TORCH_",
    "TRITON_",
    "UCX_",
)
"""Families of variables that steer the libraries under test."""
KEPT_NAMES: frozenset[str] = frozenset(
    {
        "CC",
        "CONDA_PREFIX",
        "CXX",
        "GROUP_RANK",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "PYTHONHOME",
        "PYTHONNOUSERSITE",
        "PYTHONPATH",
        "RANK",
        "SLURM_GPUS_ON_NODE",
        "SLURM_JOB_ID",
        "SLURM_JOB_NUM_NODES",
        "SLURM_LOCALID",
        "SLURM_NNODES",
        "SLURM_NODEID",
        "SLURM_NTASKS",
        "SLURM_PROCID",
        "SLURM_STEP_ID",
        "TMPDIR",
        "VIRTUAL_ENV",
        "WORLD_SIZE",
    }
)
"""Single variables: where libraries are looked for, and the place among the ranks."""

_STRONG_WORDS = frozenset(
    [
        *("password", "passwd", "passphrase", "secret", "secrets", "credential", "credentials"),
        *("apikey", "authtoken", "accesstoken", "accesskey", "secretkey", "privatekey"),
    ]
)
"""Words whose presence in a name makes any value a secret."""
_STRONG_ENDS = ("password", "secret", "apikey")
_STRONG_PAIRS = frozenset(
    [(kind, "token") for kind in ("access", "api", "auth", "bearer", "hf", "refresh", "session")]
    + [(kind, "key") for kind in ("access", "api", "auth", "account", "private", "secret")]
)
_WEAK_WORDS = frozenset(["token", "key", "auth", "pwd", "pass", "signature"])
"""Words whose value is a secret where it looks random; in code they have many other meanings."""
_PLAIN_KEYS = frozenset(["cache", "public", "sort", "primary", "foreign", "dispatch", "state"])
"""``cache_key`` and the like name hashes that are worth reading."""
_NO_SECRET = frozenset(["none", "null", "true", "false", "str", "int", "bytes", "bool", "..."])
_HEADERS = frozenset(["authorization", "cookie"])

_SHAPES = re.compile(
    r"(?<![A-Za-z0-9_])(?:"
    r"hf_[A-Za-z0-9]{20,}"
    r"|gh[opsur]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|sk-(?:ant|proj|svcacct|admin|or|lf)-[A-Za-z0-9_-]{16,}"
    r"|sk-[A-Za-z0-9]{20,}"
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[A-Za-z0-9_-]{35}"
    r"|gl(?:pat|dt|rt|cbt)-[A-Za-z0-9_.-]{16,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|nvapi-[A-Za-z0-9_-]{20,}"
    r"|npm_[A-Za-z0-9]{30,}"
    r"|pypi-[A-Za-z0-9_-]{40,}"
    r"|wandb_v[0-9]_[A-Za-z0-9_]{20,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}"
    r")"
)
"""Tokens that their issuers gave a prefix, so that programs can find them."""
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{1,60}-----.*?(?:-----END [A-Z0-9 ]{1,60}-----|\Z)", re.DOTALL
)
_USERINFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30})://([^\s/?#\"'<>]+)@")
_QUERY = re.compile(r"([?&;])([A-Za-z][A-Za-z0-9_.-]{0,60})=([^\s&;#\"'<>]+)")
_QUERY_SECRETS = frozenset(
    ["sig", "signature", "key", "token", "auth", "pass", "pwd", "googleaccessid", "awsaccesskeyid"]
)
_BEARER = re.compile(r"(?i)\b(bearer[ \t]+)([A-Za-z0-9+/_=.~-]{12,})")
# A name, then = or :, with the quotes and blanks that JSON, YAML, TOML and shells put around them.
_ASSIGNMENT = re.compile(
    r"(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_.-]{1,80})(\\?[\"']?[ \t]{0,3}[:=][ \t]{0,3})"
)
_FLAG = re.compile(r"(?<!\S)--?([A-Za-z][A-Za-z0-9_-]{1,60})([ \t]{1,3})(?=[^\s-])")
_OPENING = re.compile(r"[bBfFrRuU]{0,2}(\\?[\"'])")
_QUOTED = {
    '"': re.compile(r"(?:[^\"\\\n]|\\.)*"),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*"),
    # JSON inside JSON.
    '\\"': re.compile(r"(?:[^\"\\\n]|\\[^\"\n])*"),
    "\\'": re.compile(r"(?:[^'\\\n]|\\[^'\n])*"),
}
"""What stands between the quotes, by the opening quote."""
_BARE = re.compile(r"[^\s\"']+")
_TO_LINE_END = re.compile(r"[^\n\"']+")
_WEAK_VALUE = re.compile(r"\\?[\"']?([A-Za-z0-9+/_-]{16,256})")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def environment_facts(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that may be kept, by name, with what is secret in them taken out."""
    return {
        redact_text(name): redact_value(name, environ[name], home=environ.get("HOME"))
        for name in sorted(environ)
        if name in KEPT_NAMES or name.startswith(KEPT_PREFIXES)
    }


def redact_value(name: str, value: str, *, home: str | None = None) -> str:
    """The value of a variable, flag or field, judged by its name and by its own shape."""
    if _names_secret(name) and value:
        return REDACTED
    return redact_text(value, home=home)


def redact_facts(value: Any) -> Any:
    """JSON-like facts with every text in them redacted."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return {key: redact_facts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_facts(item) for item in value]
    return value


def redact_argv(argv: Iterable[str]) -> tuple[str, ...]:
    """A command line without secrets: ``--token abc``, ``--token=abc`` and what a text may hold."""
    kept: list[str] = []
    hides_next = False
    for argument in argv:
        flag, equals, value = argument.partition("=")
        is_secret_flag = flag.startswith("-") and _names_secret(flag)
        if hides_next and not argument.startswith("-"):
            kept.append(REDACTED)
        elif is_secret_flag and equals:
            kept.append(f"{flag}={REDACTED}" if value else argument)
        else:
            kept.append(redact_text(argument))
        hides_next = is_secret_flag and not equals
    return tuple(kept)


def redact_text(text: str, *, home: str | None = None) -> str:
    """Raw output, a traceback or a command line without secrets and with ``~`` for the home folder.

    ``home`` is the folder to shorten, that of this user by default. Lone surrogates, which
    undecodable bytes leave behind, are written as escapes, so that the result is always valid text.
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    text = _PEM.sub(REDACTED, text)
    text = _USERINFO.sub(_without_userinfo, text)
    text = _QUERY.sub(_without_query_secret, text)
    text = _without_assignments(text, _ASSIGNMENT)
    text = _without_assignments(text, _FLAG)
    text = _BEARER.sub(_without_bearer, text)
    text = _SHAPES.sub(REDACTED, text)
    return _without_home(text, home or os.path.expanduser("~"))  # noqa: PTH111 - never raises


def _words(name: str) -> list[str]:
    """Words of a name in lower case: ``HF_TOKEN``, ``apiKey`` and ``x-auth-token`` alike."""
    return [word.lower() for word in _WORDS.findall(name)]


def _names_secret(name: str) -> bool:
    """Whether whatever a variable or flag of this name holds must be taken out."""
    words = _words(name)
    if _is_strong(words):
        return True
    if len(words) > 1 and words[-1] == "key" and words[-2] in _PLAIN_KEYS:
        return False
    if any(word in ("key", "auth") or word.endswith("token") for word in words):
        return True
    # PWD is a folder and PASS a count of tests; DB_PWD and DB_PASS are neither.
    return len(words) > 1 and words[-1] in ("pwd", "pass")


def _is_strong(words: list[str]) -> bool:
    if any(word in _STRONG_WORDS or word.endswith(_STRONG_ENDS) for word in words):
        return True
    return not _STRONG_PAIRS.isdisjoint(itertools.pairwise(words))


def _without_assignments(text: str, pattern: re.Pattern[str]) -> str:
    """The text without the values of names that are secret, found by ``pattern``."""
    pieces: list[str] = []
    end = 0
    for found in pattern.finditer(text):
        if found.start() < end:
            continue
        value = _secret_after(text, found)
        if value is None:
            continue
        start, stop = value
        pieces += [text[end:start], REDACTED]
        end = stop
    return "".join([*pieces, text[end:]])


def _secret_after(text: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Where the secret value of a name begins and ends; None where the value is no secret."""
    name, separator = found[1], found[2]
    words = _words(name)
    if words and words[-1] in _HEADERS:
        return _span(text, found.end(), _TO_LINE_END)
    is_flag = text[max(found.start(1) - 1, 0)] == "-" and separator.strip() in ("", "=")
    is_variable = name.isupper() and separator == "="
    if _is_strong(words) or ((is_flag or is_variable) and _names_secret(name)):
        return _span(text, found.end(), _BARE)
    if _WEAK_WORDS.isdisjoint(words) or (len(words) > 1 and words[-2] in _PLAIN_KEYS):
        return None
    weak = _WEAK_VALUE.match(text, found.end())
    return _span(text, found.end(), _BARE) if weak and _looks_random(weak[1]) else None


def _span(text: str, start: int, unquoted: re.Pattern[str]) -> tuple[int, int] | None:
    """Bounds of the value at ``start``, inside its quotes; None for one that says nothing."""
    opening = _OPENING.match(text, start)
    found = (
        _QUOTED[opening[1]].match(text, opening.end()) if opening else unquoted.match(text, start)
    )
    if found is None:
        return None
    value = text[found.start() : min(found.end(), found.start() + 40)]
    if value.startswith(REDACTED) or value.strip(" ,;)]}").lower() in ("", *_NO_SECRET):
        return None
    return found.span()


def _looks_random(value: str) -> bool:
    """Whether letters and digits alternate as they do in keys, and not in names.

    A run of 16 with 3 changes between letter and digit: names of layers have none, the hash of a
    commit has, which is why only the values of names that speak of a key are asked.
    """
    for run in re.split(r"[-_/+]", value):
        changes = sum(a.isdigit() != b.isdigit() for a, b in itertools.pairwise(run))
        if len(run) >= 16 and changes >= 3:
            return True
    return False


def _without_userinfo(found: re.Match[str]) -> str:
    scheme, user = found[1], found[2]
    # The user of ssh://git@host is an account; that of https://token@host is a password.
    if ":" not in user and scheme.lower().split("+")[-1] not in ("http", "https"):
        return found[0]
    return f"{scheme}://{REDACTED}@"


def _without_query_secret(found: re.Match[str]) -> str:
    words = _words(found[2])
    if _is_strong(words) or "".join(words) in _QUERY_SECRETS or _QUERY_SECRETS & set(words[-1:]):
        return f"{found[1]}{found[2]}={REDACTED}"
    return found[0]


def _without_bearer(found: re.Match[str]) -> str:
    return f"{found[1]}{REDACTED}" if any(c.isdigit() for c in found[2]) else found[0]


def _without_home(text: str, home: str) -> str:
    """The text with ``~`` where the path of the home folder begins a path."""
    home = home.rstrip("/")
    if len(home) < 2 or not home.startswith("/"):
        return text
    begins_a_path = r"(?:(?<![\w.~/-])|(?<=://)|(?<=\s-[BIL]))"
    return re.sub(rf"{begins_a_path}{re.escape(home)}(?![\w-]|\.\w)", "~", text)
