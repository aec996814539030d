"""In which order the sources of a topology are read: as early as can be, and together where they can be.

Two demands, one hard and one soft. Hard: who reads a repartition topic comes after all who write it. Soft: sources of
one sub-topology are read together. The hard demands are a graph without cycles (or the topology is refused). Sources
are then united one pair after the other, and only where neither comes after the other, by whatever way through the
graph as it is by then. That keeps the graph without cycles, there are only so many pairs, and the longest ways in what
is left are the levels: so this ends, and every hard demand holds.

Not all soft demands can be met. With s and u in one sub-topology where s feeds u, a third source t can be read with s
or with u. It is read with those it meets in a node or a store; with the earlier one if it meets both. So it never sees
a table as it was after later records, only, as in Kafka, one whose updates are still on their way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from headrace.errors import TopologyError


@dataclass(frozen=True, slots=True)
class Source:
    """A source node, and where its records can get to."""

    name: str
    subtopology: int
    reads: tuple[str, ...]
    """The repartition topics it reads."""
    writes: tuple[str, ...]
    """The repartition topics that its records can get to."""
    touches: frozenset[tuple[str, str]] = field(default=frozenset())
    """What it can meet other sources in: nodes and stores."""


def ordered_levels(sources: Sequence[Source]) -> list[list[str]]:
    order = _Order(_followers(sources))
    depths = order.depths()
    for one, other in sorted(_pairs(sources), key=lambda pair: _priority(pair, depths)):
        order.unite(one.name, other.name)
    depths = order.depths()
    levels: list[list[str]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    for source in sources:
        levels[depths[source.name]].append(source.name)
    return levels


def _followers(sources: Iterable[Source]) -> dict[str, set[str]]:
    sources = list(sources)
    readers: dict[str, list[str]] = {}
    for source in sources:
        for topic in source.reads:
            readers.setdefault(topic, []).append(source.name)
    return {source.name: {name for topic in source.writes for name in readers.get(topic, ())} for source in sources}


def _pairs(sources: Iterable[Source]) -> Iterable[tuple[Source, Source]]:
    groups: dict[int, list[Source]] = {}
    for source in sources:
        groups.setdefault(source.subtopology, []).append(source)
    return (pair for group in groups.values() for pair in combinations(group, 2))


def _priority(pair: tuple[Source, Source], depths: Mapping[str, int]) -> tuple[bool, int, int]:
    """Those that meet come first, and of them the earliest; after that the order of the topology decides."""
    one, other = pair
    later, earlier = sorted((depths[one.name], depths[other.name]), reverse=True)
    return one.touches.isdisjoint(other.touches), later, earlier


class _Order:
    """A graph without cycles over names, in which names can be united."""

    def __init__(self, followers: Mapping[str, Iterable[str]]) -> None:
        self._home = {name: name for name in followers}
        self._followers = {name: set(after) for name, after in followers.items()}
        self._check_no_cycle()

    def unite(self, one: str, other: str) -> None:
        """Make both names one, unless one comes after the other."""
        kept, gone = self._home[one], self._home[other]
        if kept == gone or gone in self._after(kept) or kept in self._after(gone):
            return
        self._home = {name: kept if home == gone else home for name, home in self._home.items()}
        self._followers[kept] |= self._followers.pop(gone)
        for after in self._followers.values():
            if gone in after:
                after.remove(gone)
                after.add(kept)

    def depths(self) -> dict[str, int]:
        """For each name the length of the longest way to it."""
        depths = dict.fromkeys(self._followers, 0)
        for name in self._sorted():
            for after in self._followers[name]:
                depths[after] = max(depths[after], depths[name] + 1)
        return {name: depths[home] for name, home in self._home.items()}

    def _sorted(self) -> list[str]:
        """The names, each before all that come after it; without those that are on a cycle or behind one."""
        before = dict.fromkeys(self._followers, 0)
        for followers in self._followers.values():
            for name in followers:
                before[name] += 1
        found = [name for name, count in before.items() if not count]
        for name in found:
            for after in sorted(self._followers[name]):
                before[after] -= 1
                if not before[after]:
                    found.append(after)
        return found

    def _after(self, name: str) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            new = self._followers[waiting.pop()] - found
            found |= new
            waiting.extend(new)
        return found

    def _check_no_cycle(self) -> None:
        if len(self._sorted()) == len(self._followers):
            return
        circle = next(name for name in self._followers if name in self._after(name))
        others = sorted(name for name in self._after(circle) if circle in self._after(name))
        raise TopologyError(
            "a repartition topic feeds itself",
            detail=f"the records of these sources come back to them: {', '.join(others)}",
            hint="Write to a topic of your own and read that: what comes back is then read in the next batch.",
        )
