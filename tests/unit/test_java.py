"""Which Java an application would get, found as PySpark's launcher finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import SetupError
from headrace.java import find_java, is_chosen_by_spark


def make_java(home: Path, says: str = 'openjdk version "17.0.1"', release: str | None = None) -> Path:
    """A program that says a version, and the file beside it that says it quicker."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o700)
    if release is not None:
        (home / "release").write_text(f'IMPLEMENTOR="us"\nJAVA_VERSION="{release}"\n')
    return program


def refused(**environment: str) -> SetupError:
    with pytest.raises(SetupError) as caught:
        find_java(environment)
    return caught.value


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    program = make_java(tmp_path / "new", release="21.0.2")
    make_java(tmp_path / "old", release="11.0.1")

    java = find_java({"JAVA_HOME": str(tmp_path / "new"), "PATH": str(tmp_path / "old" / "bin")})

    assert (java.version, java.program) == (21, str(program))


def test_without_it_the_first_on_the_path_is_taken(tmp_path: Path) -> None:
    make_java(tmp_path, 'openjdk version "17.0.15" 2025-04-15')
    assert find_java({"JAVA_HOME": "", "PATH": f"{tmp_path / 'bin'}:/bin"}).version == 17


def test_a_link_leads_to_the_file_with_the_version(tmp_path: Path) -> None:
    program = make_java(tmp_path / "jdk", says="", release="1.8.0_202")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(program)

    error = refused(PATH=str(tmp_path / "bin"))

    assert error.message == "Java 8 is too old for Spark"
    assert error.detail == f"It is {tmp_path / 'bin' / 'java'}, the first on the PATH."


def test_an_old_one_is_refused_with_who_chose_it(tmp_path: Path) -> None:
    program = make_java(tmp_path, 'openjdk version "11.0.20" 2023-07-18')

    error = refused(JAVA_HOME=str(tmp_path))

    assert error.message == "Java 11 is too old for Spark"
    assert error.detail == f"It is {program}, which JAVA_HOME names."
    assert error.hint is not None and error.hint.startswith("Spark needs Java 17 or newer: install one")


def test_none_at_all_is_refused(tmp_path: Path) -> None:
    assert refused(PATH=str(tmp_path)).message == "Java was not found"


def test_a_java_home_without_a_java_is_refused_although_there_is_one_on_the_path(tmp_path: Path) -> None:
    make_java(tmp_path)

    error = refused(JAVA_HOME="/nonexistent", PATH=str(tmp_path / "bin"))

    assert error.message == "JAVA_HOME names no Java: /nonexistent"
    assert "unset it to take the java on the PATH" in str(error.hint)


def test_a_java_that_cannot_say_what_it_is_is_refused(tmp_path: Path) -> None:
    make_java(tmp_path, "Unable to locate a Java Runtime.")
    error = refused(JAVA_HOME=str(tmp_path))
    assert error.detail == "Unable to locate a Java Runtime."


def test_a_spark_that_chooses_its_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    assert not is_chosen_by_spark({"SPARK_HOME": str(tmp_path)})
    (tmp_path / "conf" / "spark-env.sh").write_text("JAVA_HOME=/opt/java")
    assert is_chosen_by_spark({"SPARK_HOME": str(tmp_path)})
    assert is_chosen_by_spark({"PYSPARK_GATEWAY_PORT": "1"})
