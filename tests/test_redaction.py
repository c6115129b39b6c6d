"""What may be kept of the environment and of raw text."""

from __future__ import annotations

import os
import random
import string
import time

import pytest

from preflight.redaction import (
    REDACTED,
    environment_facts,
    redact_argv,
    redact_facts,
    redact_text,
    redact_value,
)

B62 = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"
HEX = "3f2a9c1e4b5d6f7a8b9c0d1e2f3a4b5c6d7e8f90"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----"
)

SHAPED = [
    f"hf_{B62[:34]}",
    f"ghp_{B62[:36]}",
    f"gho_{B62[:36]}",
    f"github_pat_{B62[:22]}_{B62[:30]}",
    f"sk-{B62}",
    f"sk-ant-api03-{B62}",
    f"sk-proj-{B62}",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    f"glpat-{B62[:20]}",
    "xoxb-123456789012-abcdefABCDEF",
    "xoxp-123456789012-abcdefABCDEF",
    f"nvapi-{B62}",
    f"npm_{B62[:36]}",
    f"AIza{B62[:35]}",
    JWT,
    PEM,
]

ORDINARY = [
    f"commit {HEX}",
    f"sha256:{HEX}{HEX[:24]}",
    f"git+https://github.com/pytorch/pytorch@{HEX}",
    "https://download.pytorch.org/whl/cu128/torch-2.8.0%2Bcu128-cp312-cp312-linux_x86_64.whl",
    "ssh://git@github.com/org/repo.git",
    "http://127.0.0.1:29500/",
    "https://example.com/search?q=token&page=2",
    "GPU-5d1c8e0a-9f3b-4c2d-8e7f-0a1b2c3d4e5f",
    "token: 123e4567-e89b-12d3-a456-426614174000",
    "torch==2.13.0+cu130 numpy 2.4.6 driver 580.65.06",
    "/usr/local/cuda-13.0/lib64:/opt/rocm/lib",
    "NCCL_DEBUG=INFO NCCL_IB_HCA=mlx5_0:1,mlx5_1:1",
    "TOKENIZERS_PARALLELISM=false",
    "PASS=3 FAIL=0",
    "PWD=/srv/app",
    "max_tokens=4096, pad_token='<pad>', eos_token_id=2, token_count=1234567890123456",
    "token = tokenizer.decode(ids)",
    "items.sort(key=lambda item: item.name)",
    "KeyError: 'model.layers.10.self_attn.q_proj.weight'",
    "Missing key: model.layers.10.self_attn.q_proj.weight",
    f"cache_key={HEX}",
    "password=None, secret=null",
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "0x7f3a9c1e4b5d 0000:9a:00.0 sm_100 gfx942",
    "sk-learn-contrib and ask-for-a-long-explanation",
    "basic configuration of bearer certificates",
    "monkey=banana keyboard: qwertz authors: 3",
    "ncclUniqueId 127.0.0.1:43567 rank 0 nranks 8 busId 9a000",
]

NAMED = [
    ("HF_TOKEN=abc", "HF_TOKEN=<redacted>"),
    ("export WANDB_API_KEY=x1 next", "export WANDB_API_KEY=<redacted> next"),
    ("AWS_SECRET_ACCESS_KEY='a b' x", "AWS_SECRET_ACCESS_KEY='<redacted>' x"),
    ("DB_PASS=hunter2", "DB_PASS=<redacted>"),
    ("password: hunter2", "password: <redacted>"),
    ('{"password":"x \\" y","b":1}', '{"password":"<redacted>","b":1}'),
    ("{'apiKey': 'abc', 'n': 1}", "{'apiKey': '<redacted>', 'n': 1}"),
    ('{\\"api_key\\": \\"abc\\", 1}', '{\\"api_key\\": \\"<redacted>\\", 1}'),
    ("client_secret=b'abc'", "client_secret=b'<redacted>'"),
    (f"key: {HEX}", "key: <redacted>"),
    (f"token={B62}", "token=<redacted>"),
    ("Authorization: Basic dXNlcjpwYXNz\nok", "Authorization: <redacted>\nok"),
    ("curl -H 'Authorization: Bearer abc' url", "curl -H 'Authorization: <redacted>' url"),
    ("Bearer abcdef123456789", "Bearer <redacted>"),
    ("run --token abc --n 2", "run --token <redacted> --n 2"),
    ("run --api-key=abc", "run --api-key=<redacted>"),
    ("https://user:p@ss@host/x", "https://<redacted>@host/x"),
    ("git+https://tok@github.com/x", "git+https://<redacted>@github.com/x"),
    ("redis://:pw@host:6379/0", "redis://<redacted>@host:6379/0"),
    ("https://h/x?token=abc&b=1&sig=zz", "https://h/x?token=<redacted>&b=1&sig=<redacted>"),
    ("?X-Amz-Signature=ab12&X-Amz-Date=2", "?X-Amz-Signature=<redacted>&X-Amz-Date=2"),
]


@pytest.mark.parametrize("secret", SHAPED, ids=lambda secret: secret[:12])
@pytest.mark.parametrize("around", ["{}", "error: {} refused", "'{}',", "x={}\n", "/path/{}/y"])
def test_a_secret_is_known_by_its_shape(secret: str, around: str) -> None:
    """Tokens with the prefix of their issuer, JWTs and PEM blocks go, wherever they stand."""
    text = redact_text(around.format(secret))
    assert secret not in text
    assert REDACTED in text
    assert secret[-8:] not in text


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Hashes, UUIDs, versions, paths, code and the words of our field are evidence."""
    assert redact_text(text, home="/home/alice") == text


@pytest.mark.parametrize(("text", "kept"), NAMED)
def test_a_secret_is_known_by_the_name_before_it(text: str, kept: str) -> None:
    """The value goes, the name and the rest stay, so that the line can still be read."""
    assert redact_text(text) == kept


def test_a_pem_block_without_its_end_goes_to_the_end_of_the_text() -> None:
    """Output that was cut in the middle of a key holds no half of it."""
    assert redact_text("a\n" + PEM[:60]) == f"a\n{REDACTED}"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("/home/alice", "~"),
        ("/home/alice/x.py:3", "~/x.py:3"),
        ('File "/home/alice/x.py"', 'File "~/x.py"'),
        ("A=/home/alice/lib:/home/alice/b", "A=~/lib:~/b"),
        ("file:///home/alice/x", "file://~/x"),
        ("gcc -I/home/alice/include", "gcc -I~/include"),
        ("lies in /home/alice.", "lies in ~."),
        ("/mnt/home/alice/x", "/mnt/home/alice/x"),
        ("/home/alice2/x", "/home/alice2/x"),
        ("/home/alice.bak", "/home/alice.bak"),
    ],
)
def test_the_home_folder_is_shortened(text: str, kept: str) -> None:
    """The name of the user is nobody's business; other paths that contain it stay."""
    assert redact_text(text, home="/home/alice") == kept


@pytest.mark.parametrize("home", ["/", "", "relative"])
def test_a_home_that_is_no_folder_of_a_user_shortens_nothing(home: str) -> None:
    """In a container without a user, HOME is often the root."""
    assert redact_text("/usr/lib", home=home) == "/usr/lib"


def test_only_variables_of_the_allow_list_are_kept() -> None:
    """What nobody has listed is not in a record, whatever it holds."""
    environ = {
        "NCCL_DEBUG": "INFO",
        "HIP_VISIBLE_DEVICES": "0,1",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "LD_LIBRARY_PATH": "/home/alice/lib:/usr/lib",
        "SLURM_JOB_ID": "77",
        "SLURM_JOB_USER": "alice",
        "LD_LIBRARY_PATH_OLD": "/x",
        "WANDB_API_KEY": "abc",
        "PATH": "/bin",
        "MYAPP": "1",
        "HOME": "/home/alice",
    }
    assert environment_facts(environ) == {
        "HIP_VISIBLE_DEVICES": "0,1",
        "LD_LIBRARY_PATH": "~/lib:/usr/lib",
        "NCCL_DEBUG": "INFO",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "SLURM_JOB_ID": "77",
    }


@pytest.mark.parametrize(
    "name",
    ["NCCL_TOKEN", "TORCH_SECRET", "CUDA_PASSWORD", "HSA_KEY", "UCX_CREDENTIALS", "MKL_AUTH"],
)
def test_an_allowed_variable_with_the_name_of_a_secret_loses_its_value(name: str) -> None:
    """The allow-list goes by family, and a family may have a secret."""
    assert environment_facts({name: "x"}) == {name: REDACTED}


def test_an_allowed_variable_loses_what_has_the_shape_of_a_secret() -> None:
    """Also inside a value that is otherwise worth keeping."""
    facts = environment_facts({"TORCH_HOME": f"https://u:p@h/{SHAPED[0]}"})
    assert facts == {"TORCH_HOME": f"https://{REDACTED}@h/{REDACTED}"}


def test_bytes_that_are_no_text_are_escaped() -> None:
    """Surrogates that stand for undecodable bytes would break every encoder later."""
    facts = environment_facts({"NCCL_X": os.fsdecode(b"a\xff")})
    assert facts == {"NCCL_X": "a\\udcff"}
    redact_text("\ud800").encode()


def test_an_empty_secret_is_shown_to_be_empty() -> None:
    """A token that is set to nothing is a finding, and no secret."""
    assert redact_value("HF_TOKEN", "") == ""


def test_a_command_line_loses_the_values_of_secret_flags() -> None:
    """After a blank, after an equals sign, and in assignments before the command."""
    argv = ["run", "--token", "abc", "--api-key=x", "HF_TOKEN=1", "--order", "ORD key", "--auth"]
    assert redact_argv(argv) == (
        *("run", "--token", REDACTED, f"--api-key={REDACTED}", f"HF_TOKEN={REDACTED}"),
        *("--order", "ORD key", "--auth"),
    )
    assert redact_argv(["--tokenizer", "x", "--max-tokens", "3"]) == (
        *("--tokenizer", "x", "--max-tokens", "3"),
    )


def test_random_secrets_never_survive_and_redacting_twice_changes_nothing() -> None:
    """Secrets of random letters, at random places between random ordinary lines."""
    generator = random.Random(7)
    letters = string.ascii_letters + string.digits
    frames = [
        "hf_{}",
        "ghp_{}",
        "API_TOKEN={}",
        "password: {}",
        '"client_secret": "{}"',
        "https://user:{}@example.com/x",
        "https://example.com/x?sig={}&a=1",
        "Authorization: Bearer {}",
        "--password {}",
    ]
    for _ in range(400):
        secret = "".join(generator.choices(letters, k=36))
        lines = [*generator.sample(ORDINARY, 4), generator.choice(frames).format(secret)]
        generator.shuffle(lines)
        text = redact_text("\n".join(lines), home="/home/alice")
        assert secret not in text
        assert redact_text(text, home="/home/alice") == text
        assert all(line in text for line in lines if secret not in line)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a.",
        "a-",
        "key=",
        "key='",
        'password="',
        "token: ",
        "--token ",
        "://",
        "a://b:",
        "a://b@",
        "?a=b&",
        "-----BEGIN A-----",
        "eyJ.",
        "eyJaaaaaaaa.",
        "\\",
        "bearer ",
        'secret = \\"',
        "sk-ant-",
        "/home/alice",
        "<redacted>",
        "AKIA",
        "A",
    ],
)
def test_time_is_linear_in_the_text(unit: str) -> None:
    """200 kB of the worst text take far less than the minutes a quadratic pattern takes."""
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    redact_text(text, home="/home/alice")
    assert time.process_time() - started < 10


def test_facts_in_tuples_are_redacted_too() -> None:
    """Frozen records hold tuples, and what lies in them is kept no less than what lies in lists."""
    token = "hf_" + "Q7wErTyUiOpAsDfGhJkL" * 2
    assert token not in str(redact_facts({"processes": ({"name": f"train {token}"},)}))
