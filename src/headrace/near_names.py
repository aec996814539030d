"""What was probably meant, where a name is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


def did_you_mean(
    name: object, known: Iterable[str], *, cutoff: float = 0.6, shown: Callable[[str], str] = repr
) -> str | None:
    """A hint at the nearest of the ``known`` names, written as ``shown`` writes it; None where none is near.

    Upper and lower case are not told apart: a name that is wrong in nothing else is the nearest.

    >>> did_you_mean("word-cuonts", ["word-counts", "lines"]), did_you_mean("Lines", ["lines"])
    ("Did you mean 'word-counts'?", "Did you mean 'lines'?")
    """
    folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(str(name).casefold(), list(folded), n=1, cutoff=cutoff)
    return f"Did you mean {shown(folded[near[0]])}?" if near else None
