from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .process_group import ProcessGroup, RankError

PARAMS: dict[str, Any] = {"seed": 6, "steps": 2, "more_steps": 2}


@pytest.fixture(scope="module")
def written(
    two_ranks: ProcessGroup, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """A checkpoint of two ranks, and what rank 0 said of it."""
    folder = tmp_path_factory.mktemp("checkpoint") / "step-2"
    return folder, two_ranks.call("checkpoints.write", folder=str(folder), **PARAMS)[0]


def test_write_leaves_one_whole_folder(written: tuple[Path, dict[str, Any]]) -> None:
    """Only the renamed folder is there, its bytes are counted, and losses are within bounds."""
    folder, answer = written
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert answer["bytes"] == sum(path.stat().st_size for path in folder.iterdir()) > 1e6
    assert answer["rate_GBps"] == pytest.approx(answer["bytes"] / answer["seconds"] / 1e9)
    assert answer["layout"] == "fsdp2"
    for loss, reference, bound in zip(
        answer["losses"], answer["reference_losses"], answer["bounds"], strict=True
    ):
        assert abs(loss - reference) <= bound < 1e-9


def test_restore_on_as_many_ranks_repeats_the_losses(written: tuple[Path, dict[str, Any]]) -> None:
    """Fresh processes go on with equal losses, to the bit, and the same random numbers."""
    folder, before = written
    with ProcessGroup(2) as group:
        for answer in group.call("checkpoints.restore", folder=str(folder), **PARAMS):
            assert answer["losses"] == before["losses"]
            assert answer["random"] == before["random"]
            assert answer["step"] == answer["expected_step"] == 2


def test_restore_on_another_number_of_ranks(
    written: tuple[Path, dict[str, Any]], one_rank: ProcessGroup
) -> None:
    """One rank goes on with the losses of two, within twice the bound."""
    folder, before = written
    answer = one_rank.call("checkpoints.restore", folder=str(folder), **PARAMS)[0]
    assert answer["layout"] == "one process"
    for loss, other, bound in zip(
        answer["losses"], before["losses"], before["bounds"], strict=True
    ):
        assert abs(loss - other) <= 2 * bound


def _copy(folder: Path, target: Path) -> Path:
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


def _shard(folder: Path) -> Path:
    return sorted(folder.glob("*.distcp"))[-1]


def _failure(group: ProcessGroup, folder: Path) -> dict[str, Any]:
    with pytest.raises(RankError) as caught:
        group.call("checkpoints.restore", folder=str(folder), **PARAMS)
    return caught.value.answers[0]


def test_a_flipped_byte_is_found(
    written: tuple[Path, dict[str, Any]], one_rank: ProcessGroup, tmp_path: Path
) -> None:
    """One bit of one shard: the file is named."""
    folder = _copy(written[0], tmp_path / "copy")
    shard = _shard(folder)
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    failure = _failure(one_rank, folder)
    assert failure["type"] == "ValueError"
    assert shard.name in failure["message"] and "CRC-32" in failure["message"]


def test_a_torn_shard_is_found(
    written: tuple[Path, dict[str, Any]], one_rank: ProcessGroup, tmp_path: Path
) -> None:
    """A file that ends early is named with both sizes."""
    folder = _copy(written[0], tmp_path / "copy")
    shard = _shard(folder)
    size = shard.stat().st_size
    shard.write_bytes(shard.read_bytes()[:-100])
    failure = _failure(one_rank, folder)
    assert f"holds {size - 100} bytes, {size} were written" in failure["message"]


@pytest.mark.parametrize("name", [".metadata", "progress.pt", "sums.json"])
def test_a_missing_file_is_named(
    written: tuple[Path, dict[str, Any]], one_rank: ProcessGroup, tmp_path: Path, name: str
) -> None:
    """No part of a checkpoint is optional."""
    folder = _copy(written[0], tmp_path / "copy")
    (folder / name).unlink()
    failure = _failure(one_rank, folder)
    assert failure["type"] == "FileNotFoundError" and name in failure["message"]


def test_a_write_that_breaks_off_leaves_the_older_checkpoint(
    one_rank: ProcessGroup, tmp_path: Path
) -> None:
    """A file-size limit stops the second write with an OSError and its errno."""
    folder = tmp_path / "step"
    before = one_rank.call("checkpoints.write", folder=str(folder), **PARAMS)[0]
    limit = {"FILE_LIMIT": "65536", "PYTHONPATH": str(Path(__file__).parent / "faulty")}
    with ProcessGroup(1, limit) as limited, pytest.raises(RankError) as caught:
        limited.call("checkpoints.write", folder=str(folder), **PARAMS)
    assert caught.value.answers[0]["errno"] == 27  # EFBIG
    assert caught.value.answers[0]["type"] == "OSError"
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    after = one_rank.call("checkpoints.restore", folder=str(folder), **PARAMS)[0]
    assert after["losses"] == before["losses"]
    again = one_rank.call("checkpoints.write", folder=str(folder), **PARAMS)[0]
    assert again["losses"] == before["losses"]
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
