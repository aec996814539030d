"""The names of stream threads, numbered as Kafka Streams numbers them."""

from __future__ import annotations

from itertools import count


class ThreadNames:
    """The threads there are. A number that became free is given again first.

    >>> names = ThreadNames("views", 2)
    >>> names.remove(), names.add(), names.add()
    ('views-StreamThread-1', 'views-StreamThread-1', 'views-StreamThread-3')
    """

    def __init__(self, client_id: str, threads: int) -> None:
        self._client_id = client_id
        self._numbers = list(range(1, threads + 1))

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(self._name(number) for number in self._numbers)

    def add(self) -> str:
        number = next(number for number in count(1) if number not in self._numbers)
        self._numbers.append(number)
        return self._name(number)

    def remove(self) -> str | None:
        """Take the oldest thread away; its name, None where there is none."""
        return self._name(self._numbers.pop(0)) if self._numbers else None

    def _name(self, number: int) -> str:
        return f"{self._client_id}-StreamThread-{number}"
