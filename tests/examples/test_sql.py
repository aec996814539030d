"""The files of examples/sql do what they say, and the demo counts what came in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.sql import demo
from headrace import Database

FILES = Path(demo.__file__).parent


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(f"embedded:{tmp_path / 'data'}", engine="local") as found:
        yield found


def run(database: Database, file: str, *rows: str) -> None:
    list(database.run_script((FILES / file).read_text(), file))
    database.execute("".join(f"INSERT INTO {row};" for row in rows))
    database.run_until_idle()


def rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    return sorted(database.execute(query).rows())


def test_orders(database: Database) -> None:
    run(database, "orders.sql", "orders VALUES ('ann', 'tea', 3)", "orders VALUES ('eve', 'jam', 4)")
    assert rows(database, "SELECT city, customer FROM city_orders;") == [("Basel", "ann"), ("Basel", "eve")]
    assert sum(total for (total,) in rows(database, "SELECT total FROM city_totals WHERE city = 'Basel';")) == 7
    assert rows(database, "SELECT * FROM customer_totals WHERE customer = 'ann';") == [("ann", 1, 3)]


def test_alerts(database: Database) -> None:
    logins = [
        f"logins (ROWTIME, user_name, ok, address) VALUES ({at}, 'eve', {at > 3}, 'a{at % 2}')" for at in range(6)
    ]
    run(database, "alerts.sql", *logins)
    assert rows(database, "SELECT user_name, failures, addresses FROM suspicious;") == [("eve", 4, ["a0", "a1"])]


def test_cleaning(database: Database) -> None:
    run(
        database,
        "cleaning.sql",
        "raw_readings VALUES (' Roof ', '21.5', '2026-07-01 12:00:00')",
        "raw_readings VALUES ('roof', '900', '2026-07-01 12:01:00')",
        "raw_readings VALUES ('ROOF', '22.5', '2026-07-01 12:02:00')",
    )
    assert rows(database, "SELECT * FROM latest_readings;") == [("roof", 22.5, 2)]


def test_the_demo_counts_every_order(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SECONDS_BETWEEN", 0.01)
    demo.main()
    count, _, _, _, counted, *_ = capsys.readouterr().out.splitlines()[-1].split()
    assert int(count) == int(counted) > 0
