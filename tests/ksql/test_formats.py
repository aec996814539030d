"""Records of the cases, written by the runner's own writers: read, written and read again they are the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.serde.contract import Serde
from headrace.sql.formats.format_info import FORMATS, SCHEMA_ID, ColumnsFormat
from headrace.sql.formats.rows import key_serde, row_serde
from tests.ksql.cases import FOLDER, MISSING, cases
from tests.ksql.errors import ErrorRules
from tests.ksql.functions import with_test_functions
from tests.ksql.running import CaseRun

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)


class InputsOnly(CaseRun):
    """A case whose statements are executed and whose records are written, and nothing more."""

    def written(self) -> Iterator[tuple[str, Serde[Any], bytes | None]]:
        """What is in the topics: the format, the serde of the source, the bytes."""
        self._execute()
        self._put_inputs()
        for topic, records in self.topics.records.items():
            source = self._source_of(topic)
            key, value = _own(source.key_format), _own(source.value_format)
            keys = key_serde(source.schema.key, key, registry=self.registry)
            rows = row_serde(source.schema.value, value, registry=self.registry)
            for record in records:
                yield value.format.name, rows, record.value
                if source.windows is None:
                    yield key.format.name, keys, record.key


def _own(format_: ColumnsFormat) -> ColumnsFormat:
    """A schema of others may have no place for nulls."""
    kept = {name: value for name, value in format_.properties.items() if name != SCHEMA_ID}
    return ColumnsFormat(format_.format, kept, format_.features)


def test_records_read_back_as_the_same_rows_in_every_format() -> None:
    functions, rules = with_test_functions(), ErrorRules(FOLDER / "error-rules.json")
    read: Counter[str] = Counter()
    for case in cases(FOLDER / "qtt"):
        if case.expected_error is None:
            for format_, serde, data in InputsOnly(case, functions, rules).written():
                row = serde.deserialize("again", data)
                assert serde.deserialize("again", serde.serialize("again", row)) == row, (case.id, data)
                read[format_] += data is not None
    assert set(read) == set(FORMATS)
    assert all(count > 100 for format_, count in read.items() if format_ != "NONE")
