"""Staged files of applications of one name on several clusters, in one place."""

from __future__ import annotations

from pathlib import Path

from headrace.broker.kafka.control import OwnerRecord
from headrace.broker.kafka.staging_directory import StagingDirectory
from headrace.broker.kafka.staging_sweep import file_name, sweep, sweep_batches

EPOCH = 3


def staged(directory: StagingDirectory, epoch: int = EPOCH, attempt: str = "a") -> str:
    name = file_name(directory, "app", epoch, 7, attempt)
    with directory.new(name) as file:
        file.write(b"results")
    return name


def owner(epoch: int) -> OwnerRecord:
    return OwnerRecord(epoch, f"token-{epoch}", "host", 1, "process", 0, "")


def test_an_owner_on_one_cluster_removes_nothing_of_its_namesake_on_another(tmp_path: Path) -> None:
    one, two = StagingDirectory(str(tmp_path), lambda: "c-1"), StagingDirectory(str(tmp_path), lambda: "c-2")
    one.sign("app", "token-3")
    decided = staged(one)
    staged(two, epoch=4)

    sweep(two, "app", owner(5))
    assert two.names("app") == []
    assert sorted(one.names("app")) == sorted([decided, one.name_of_sign("app", "token-3")])

    ours = staged(two)
    sweep_batches(two, "app", EPOCH, 7)
    assert not Path(two.path(ours)).exists()
    with one.open(decided) as file:
        assert file.read() == b"results"
