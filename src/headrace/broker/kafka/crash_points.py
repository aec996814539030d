"""The points where a test can end the process, between a stage and the end of its publication."""

from __future__ import annotations

STAGED = "kafka.staged"
BEFORE_OWNER = "kafka.before-owner"
BEFORE_DECISION = "kafka.before-decision"
"""All records of the decision are sent, its transaction is not committed."""
DECIDED = "kafka.decided"
PUBLISHING = "kafka.publishing"
"""A publisher has sent its records and its mark, and has not committed them."""
PART_PUBLISHED = "kafka.part-published"
BEFORE_OFFSETS = "kafka.before-offsets"
"""Everything is published but the offsets of the group."""
PUBLISHED = "kafka.published"
SWEPT = "kafka.swept"
