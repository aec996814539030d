"""The type variables of the public classes. They tell type checkers and editors about keys and values.

A type checker takes ``Any`` where a program does not say what a key or value is (PEP 696), so ``KStream`` alone is a
valid annotation. Python knows such defaults from 3.13 on only; at run time variables without them will do, since
nothing looks at them there.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:

    def TypeVar(name: str, *, default: Any, **variance: bool) -> typing.TypeVar:  # noqa: N802
        """A variable without its default."""
        return typing.TypeVar(name, **variance)


# The key and value of a stream or table. A stream of bools can stand where a stream of ints is expected.
K = TypeVar("K", default=Any, covariant=True)
V = TypeVar("V", default=Any, covariant=True)

# What an operator makes of them, and what it joins them with.
K2 = TypeVar("K2", default=Any)
V2 = TypeVar("V2", default=Any)
OtherK = TypeVar("OtherK", default=Any)
OtherV = TypeVar("OtherV", default=Any)

# What a serde writes and reads; what it can at least write.
T = TypeVar("T", default=Any)
Written = TypeVar("Written", default=Any, contravariant=True)

# The records that come in, from a topic or into a processor, and those that a processor forwards.
KIn = TypeVar("KIn", default=Any)
VIn = TypeVar("VIn", default=Any)
KOut = TypeVar("KOut", default=Any)
VOut = TypeVar("VOut", default=Any)
