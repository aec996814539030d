"""How a program that no worker can import gets to the workers."""

from __future__ import annotations

from types import ModuleType

from pyspark import cloudpickle


def ship_by_value(module: ModuleType) -> None:
    """Send the functions and classes of ``module`` themselves, not their names, as it is done with ``__main__``."""
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
