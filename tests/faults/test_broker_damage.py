"""Rows D2, D3 and D4 for the broker's files: truncated, with a flipped bit, missing, empty; found out or harmless."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded import EmbeddedBroker
from headrace.errors import BrokerError, CorruptLogError
from tests.faults import damage
from tests.faults.scene import IS_LONG, START_MS, Scene, events

FLIPS = 10_000 if IS_LONG else 1_000


@pytest.fixture(scope="module")
def resting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A broker that was closed: everything is in catalog.db and in segments."""
    scene = Scene(tmp_path_factory.mktemp("resting"))
    scene.send(60)
    scene.run({"max.records.per.batch": 20})
    with closing(scene.broker()) as broker:
        broker.create_topic("large")
        broker.append(each._replace(topic="large", value=b"v" * 700) for each in events(100))
    return scene.broker_dir


@pytest.fixture(scope="module")
def killed(resting: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A broker whose process was killed: the last commits are in the write-ahead log only."""
    directory = tmp_path_factory.mktemp("killed") / "broker"
    live = shutil.copytree(resting, tmp_path_factory.mktemp("live") / "broker")
    with closing(EmbeddedBroker(live, fsync=False)) as broker:
        for first in range(60, 66):
            broker.append(events(1, first=first))
        shutil.copytree(live, directory)
    return directory


def everything(broker: EmbeddedBroker) -> dict[str, Any]:
    """All that a broker says."""
    counts = broker.topics()
    return {
        "topics": [broker.describe_topic(topic) for topic in counts],
        "records": [list(broker.read(t, p, 0)) for t, count in counts.items() for p in range(count)],
        "times": broker.offsets_for_time({(t, p): START_MS + 20 for t, n in counts.items() for p in range(n)}),
        "groups": [(group, broker.committed(group), broker.lag(group)) for group in broker.groups()],
        "batches": [(name, broker.last_decided(name)) for name in broker.applications()],
    }


def verdict_on(directory: Path, expected: dict[str, Any], *, is_used: bool) -> str:
    """``detected``, or ``harmless``: it says the same as before, and goes on where it is used."""
    try:
        with closing(EmbeddedBroker(directory, fsync=False)) as broker:
            assert everything(broker) == expected, "changed silently"
            if is_used:
                broker.append(events(1, first=1000))
                broker.maintain()
            return "harmless"
    except BrokerError as error:
        assert error.hint, error
        return "detected"


def verdicts(original: Path, file: Path, contents: list[bytes], directory: Path) -> Counter[str]:
    """What comes of the broker for each content of one of its files."""
    whole = {path.relative_to(original): path.read_bytes() for path in original.rglob("*") if path.is_file()}
    copy = shutil.copytree(original, directory / "copy")
    with closing(EmbeddedBroker(copy, fsync=False)) as broker:
        expected = everything(broker)
    found: Counter[str] = Counter()
    for number, content in enumerate(contents):
        for path in {path.relative_to(copy) for path in copy.rglob("*") if path.is_file()} - set(whole):
            (copy / path).unlink()
        for path, before in whole.items():
            if path != file and path.suffix != ".arrow":
                (copy / path).write_bytes(before)
        (copy / file).write_bytes(content)
        found[verdict_on(copy, expected, is_used=number % 10 == 0)] += 1
    return found


@pytest.mark.parametrize(
    ("where", "name", "share"),
    [
        ("resting", "catalog.db", 1.0),
        ("killed", "catalog.db", 0.15),
        ("killed", "catalog.db-wal", 0.2),
        ("killed", "catalog.db-shm", 0.05),
        ("killed", "catalog.db-commits", 0.05),
        ("resting", "topics/*/*/*.arrow", 0.3),
    ],
)
def test_a_flipped_bit_is_detected_or_harmless(
    where: str, name: str, share: float, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    original: Path = request.getfixturevalue(where)
    file = next(original.glob(name))
    content = file.read_bytes()
    flipped = [damage.flip(content, at) for at in damage.positions(content, int(FLIPS * share), seed=3)]
    found = verdicts(original, file.relative_to(original), flipped, tmp_path)
    # SQLite rebuilds the index of its log at the start; the count is a second opinion, of no use when damaged itself.
    assert (found["detected"] > 0) == (name not in ("catalog.db-shm", "catalog.db-commits"))


@pytest.mark.parametrize(
    ("where", "name"),
    [("resting", "catalog.db"), ("killed", "catalog.db-wal"), ("resting", "topics/*/*/*.arrow")],
)
def test_a_truncated_file_is_always_detected(
    where: str, name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    original: Path = request.getfixturevalue(where)
    file = next(original.glob(name))
    content = file.read_bytes()
    sizes = list(damage.cuts(content))
    found = verdicts(original, file.relative_to(original), [content[:-size] for size in sizes] + [b""], tmp_path)
    # The mark at the end of a segment is for other readers of Arrow: ours go by the index. SQLite reads what is missing
    # of a page as zeros.
    is_segment = name.endswith(".arrow")
    is_padded = name == "catalog.db"
    harmless = sum((is_segment and size <= 8) or (is_padded and not any(content[-size:])) for size in sizes)
    assert found == Counter(detected=len(sizes) + 1 - harmless, harmless=harmless)


def test_a_missing_log_of_the_catalog_is_told_with_what_is_lost_and_how_to_go_on(killed: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(killed, tmp_path / "copy")
    damage.wal_of(copy).unlink()
    with pytest.raises(CorruptLogError, match=r"lacks its last 6 commits\n.*\n  hint: .* delete .*catalog.db-commits"):
        EmbeddedBroker(copy)
    (copy / "catalog.db-commits").unlink()
    EmbeddedBroker(copy).close()


def test_a_missing_segment_is_told_with_its_offsets(resting: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(resting, tmp_path / "copy")
    next(copy.glob("topics/*/*/*.arrow")).unlink()
    with closing(EmbeddedBroker(copy)) as broker:
        with pytest.raises(CorruptLogError, match=r"large-0 is corrupt at offsets 0 to 99: .* is missing"):
            list(broker.read("large", 0, 0))
        assert len(broker.problems("large")) == 1


def test_an_empty_catalog_beside_segments_is_refused(resting: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(resting, tmp_path / "copy")
    (copy / "catalog.db").write_bytes(b"")
    with pytest.raises(CorruptLogError, match="lacks its last"):
        EmbeddedBroker(copy)


def test_files_that_do_not_belong_there_are_left_alone_or_swept(resting: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(resting, tmp_path / "copy")
    with closing(EmbeddedBroker(shutil.copytree(resting, tmp_path / "whole"), fsync=False)) as broker:
        expected = everything(broker)
    segments = next(copy.glob("topics/*/*/"))
    (segments / "stale.arrow").write_bytes(b"")
    (segments / "notes.txt").write_text("of the user")
    (copy / "topics" / "stray").write_bytes(b"")
    with closing(EmbeddedBroker(copy, fsync=False)) as broker:
        broker.sweep(grace_ms=0)
        assert everything(broker) == expected
    assert not (segments / "stale.arrow").exists()
    assert (segments / "notes.txt").exists()
