from __future__ import annotations

import json
import stat
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from headrace.errors import SetupError, UnsupportedError
from headrace.kafka_server.jars import JarSet, fetched

SET = JarSet("some-1.0", ("org:some:1.0",), ("some-1.0.jar",))


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java that does as Ivy would; it counts its runs, and does what the file ``fails`` beside it says."""
    program = tmp_path / "home" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"""#!{sys.executable}
import pathlib, sys, time, zipfile
if "-version" in sys.argv:
    sys.exit(print('openjdk version "17.0.1"', file=sys.stderr))
beside = pathlib.Path(__file__).parent
with (beside / "runs").open("a") as file:
    file.write("run\\n")
fails = (beside / "fails").read_text() if (beside / "fails").exists() else ""
place = pathlib.Path(sys.argv[sys.argv.index("-retrieve") + 1]).parent
place.mkdir(parents=True)
time.sleep(0.3)
print("\\tfound org#some;1.0 in public")
print("downloading https://somewhere/some-1.0.jar ...")
if fails == "offline":
    print(":: UNRESOLVED DEPENDENCIES ::")
    sys.exit(1)
name = "other-1.0.jar" if fails == "other" else "some-1.0.jar"
with zipfile.ZipFile(place / name, "w") as jar:
    jar.writestr("Some.class", b"code" * 1000)
if fails == "damaged":
    data = bytearray((place / name).read_bytes())
    data[200] ^= 1
    (place / name).write_bytes(data)
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    return program.parent


def runs(java: Path) -> int:
    return len((java / "runs").read_text().split())


def test_jars_are_fetched_once_and_told_of(java: Path, tmp_path: Path) -> None:
    told: list[str] = []
    place = fetched(SET, told.append, cache=tmp_path)

    assert place == tmp_path / "some-1.0"
    assert zipfile.is_zipfile(place / "some-1.0.jar")
    assert told[1:] == ["needs org#some;1.0", "fetching some-1.0.jar", "fetched some-1.0: 1 jars"]
    assert fetched(SET, told.append, cache=tmp_path) == place
    assert (runs(java), len(told)) == (1, 4)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".some")] == [".some-1.0.lock"]


def test_two_that_fetch_at_once_fetch_once(java: Path, tmp_path: Path) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(fetched(SET, cache=tmp_path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert found == [tmp_path / "some-1.0"] * 4
    assert runs(java) == 1


def test_what_was_damaged_since_is_fetched_again(java: Path, tmp_path: Path) -> None:
    jar = fetched(SET, cache=tmp_path) / "some-1.0.jar"
    jar.write_bytes(b"")

    fetched(SET, cache=tmp_path)

    assert zipfile.is_zipfile(jar)
    jar.parent.joinpath("manifest.json").write_text("{")
    assert json.loads((fetched(SET, cache=tmp_path) / "manifest.json").read_text()).keys() == {"some-1.0.jar"}
    assert runs(java) == 3


@pytest.mark.parametrize(
    ("fails", "message"),
    [
        ("offline", "Kafka's jars cannot be fetched\n  detail: :: UNRESOLVED DEPENDENCIES ::"),
        ("other", "what was fetched is not all of some-1.0\n  detail: Missing: some-1.0.jar."),
        ("damaged", "some-1.0.jar arrived damaged"),
    ],
)
def test_what_did_not_arrive_whole_is_an_error_and_leaves_nothing(
    java: Path, tmp_path: Path, fails: str, message: str
) -> None:
    (java / "fails").write_text(fails)
    with pytest.raises(SetupError) as raised:
        fetched(SET, cache=tmp_path)

    assert message in str(raised.value)
    assert "Maven Central" in str(raised.value.hint)
    assert not (tmp_path / "some-1.0").exists()
    (java / "fails").unlink()
    assert fetched(SET, cache=tmp_path).exists()


def test_without_java_the_message_is_that_of_every_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="Java was not found"):
        fetched(SET, cache=tmp_path)


def test_without_pyspark_it_is_said_what_to_install(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"pip install 'headrace\[spark\]'"):
        fetched(SET, cache=tmp_path)
