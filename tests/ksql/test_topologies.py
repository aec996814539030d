"""Recorded plans become the recorded topologies: names, numbers, stores and internal topics."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.serde.registry import InMemorySchemaRegistry
from headrace.sql.build.queries import topology_of
from headrace.sql.functions import Registry
from headrace.sql.planning.as_json import plan_from_json
from headrace.sql.processing_log import ProcessingLog
from tests.ksql.cases import FOLDER, MISSING, recorded_plans
from tests.ksql.functions import with_test_functions

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)
_CHUNKS = 8


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_recorded_plans_become_the_recorded_topologies(chunk: int) -> None:
    plans = list(recorded_plans(FOLDER / "plans").values())
    functions = with_test_functions()
    different = [plan["id"] for plan in plans[chunk::_CHUNKS] if _topology(plan, functions) != plan["topology"].strip()]
    assert not different
    assert len(plans) == 1139


def _topology(plan: dict[str, Any], functions: Registry) -> str:
    queries = [
        query for node in plan["statements"] if (query := plan_from_json(_without_ids(node)).query_plan) is not None
    ]
    topology = topology_of(queries[-1], functions, ProcessingLog(), InMemorySchemaRegistry())
    return str(topology.describe()).strip()


def _without_ids(node: Any) -> Any:
    """The plan without ids of schemas, which no registry here knows; nothing is named after them."""
    if isinstance(node, dict):
        return {name: _without_ids(value) for name, value in node.items() if name != "schemaId"}
    return [_without_ids(each) for each in node] if isinstance(node, list) else node
