"""What was probably meant, where a name is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


def did_you_mean(
    name: object, known: Iterable[str], *, cutoff: float = 0.6, shown: Callable[[str], str] = repr
) -> str | None:
    """A hint at the nearest of the ``known`` names, written as ``shown`` writes it; None where none is near.

    >>> did_you_mean("word-cuonts", ["word-counts", "lines"])
    "Did you mean 'word-counts'?"
    """
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=cutoff)
    return f"Did you mean {shown(near[0])}?" if near else None
