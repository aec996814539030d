"""The failpoints of the embedded broker (see ``headrace.failpoints``)."""

from __future__ import annotations

SEGMENT_WRITTEN = "segment-written"
BEFORE_CATALOG = "before-catalog"
INSIDE_CATALOG = "inside-catalog"
AFTER_CATALOG = "after-catalog"
COMPACTION_SWAP = "compaction-swap"
COMPACTION_SWAPPED = "compaction-swapped"
SWEEP = "sweep"
