"""A few cases of each family, from all over it, each in another layout: what the suite runs of the engines."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import pytest

from tests.conformance.cases import load_cases
from tests.conformance.left_out import reason_to_leave_out
from tests.conformance.on_batches import Layout
from tests.conformance.test_cases import BESIDE, OURS, case_name


def sample(engine: str, layouts: Sequence[Layout], per_family: int, *, short: bool = False) -> list[Any]:
    """Parameters for a test of ``case`` and ``layout``; ``short``: of each family those with the least input."""
    families: dict[str, list[Any]] = {}
    for case in [*load_cases(OURS), *load_cases(BESIDE)]:
        if reason_to_leave_out(case, engine) is None:
            families.setdefault(case["family"], []).append(case)
    if short:
        for family, members in families.items():
            by_input = sorted(members, key=lambda case: len(case["inputs"]))
            families[family] = by_input[: max(per_family, len(members) // 3)]
    spread = [members[:: max(1, len(members) // per_family)][:per_family] for members in families.values()]
    # The first of every family, then the second of every family: whoever takes the first ones has them all.
    chosen = [case for rank in zip_longest(*spread) for case in rank if case is not None]
    return [_run(case, layouts[number % len(layouts)]) for number, case in enumerate(chosen)]


def _run(case: Any, layout: Layout) -> Any:
    layout = layout if layout.can_run(case) else dataclasses.replace(layout, caches=False)
    caches = "-caches" if layout.caches else ""
    return pytest.param(case, layout, id=f"{case_name(case)}-{layout.partitions}{caches}")
