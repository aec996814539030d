"""Where a table keeps its rows: the ``store=``, serde, caching, logging and retention keywords, resolved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.durations import Duration, to_ms
from headrace.errors import ArgumentError, OperatorTypeError, user_line
from headrace.plan.names import check_name
from headrace.state.stores import NamedStore

if TYPE_CHECKING:
    from headrace.plan.builder import GraphBuilder
    from headrace.serde import Serde


@dataclass
class Materialized:
    """The keywords of one operator that say where its table is kept (Java: Materialized).

    ``named`` is called by the operator that materialises; it draws a name where the user gave none.
    """

    store_name: str | None = None
    supplier: Any = None
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    caching: bool = True
    logging: bool = True
    log_config: dict[str, str] = field(default_factory=dict)
    retention_ms: int | None = None
    dsl_store: Any = None
    """What makes the default stores here ("rocksDB", "in_memory" or suppliers); None: as configured."""
    queryable: bool = False

    @classmethod
    def of(
        cls,
        store: Any = None,
        key_serde: Any = None,
        value_serde: Any = None,
        caching: bool | None = None,
        logging: bool | dict[str, str] | None = None,
        retention: Duration | None = None,
    ) -> Materialized | None:
        """What the keywords say; None where none was given.

        ``store`` is a name, a supplier from ``stores``, a store kind (``stores.IN_MEMORY``, ``stores.ROCKSDB``: a
        generated name, that kind), both (``stores.IN_MEMORY("name")``), or True (a generated name).
        """
        given = (store, key_serde, value_serde, caching, logging, retention)
        if all(argument is None for argument in given):
            return None
        result = cls(key_serde=key_serde, value_serde=value_serde)
        result._take_store(store)
        if caching is not None:
            if not isinstance(caching, bool):
                message = f"caching= takes True or False, not {caching!r}"
                raise OperatorTypeError(message, at=user_line())
            result.caching = caching
        if logging is not None:
            if not isinstance(logging, bool | dict):
                message = f"logging= takes True, False or a dict of settings of the changelog, not {logging!r}"
                hint = 'For example logging={"retention.ms": "86400000"}.'
                raise OperatorTypeError(message, hint=hint, at=user_line())
            result.logging = logging is not False
            result.log_config = dict(logging) if isinstance(logging, dict) else {}
        if retention is not None:
            result.retention_ms = to_ms(retention, "retention")
            if result.retention_ms < 0:
                message = f"retention cannot be negative ({result.retention_ms} ms)"
                raise ArgumentError(message)
        return result

    @classmethod
    def of_table(
        cls,
        store: Any,
        key_serde: Any,
        value_serde: Any,
        caching: bool | None,
        logging: bool | dict[str, str] | None,
    ) -> Materialized:
        """The same for a table that may come to need a store later: without ``store`` it has a generated name."""
        materialized = cls.of(True if store is None else store, key_serde, value_serde, caching, logging)
        assert materialized is not None
        return materialized

    def _take_store(self, store: Any) -> None:
        if isinstance(store, str):
            check_name(store)
            self.store_name = store
        elif hasattr(store, "name") and hasattr(store, "get"):
            self.supplier, self.store_name = store, store.name
        elif isinstance(store, NamedStore):
            self._take_store(store.name)
            self.dsl_store = store.kind
        elif hasattr(store, "key_value_store"):
            self.dsl_store = store
        elif store is not None and store is not True:
            message = f"store= takes a name, True or a supplier from headrace.stores, not {store!r}"
            raise OperatorTypeError(message, hint='For example store="counts" or store=stores.in_memory("counts").')

    def named(self, builder: GraphBuilder, prefix: str, *, force_queryable: bool = False) -> Materialized:
        """Itself, with a name drawn from ``prefix`` where it has none; queryable if it had one (or is forced to)."""
        self.queryable = force_queryable or self.store_name is not None
        if self.store_name is None:
            self.store_name = builder.new_store_name(prefix, logged=self.logging)
        if self.dsl_store is None:
            self.dsl_store = builder.dsl_store
        return self

    @property
    def queryable_name(self) -> str | None:
        """The name under which users find the store; None for one with a generated name."""
        return self.store_name if self.queryable else None

    @property
    def is_versioned(self) -> bool:
        return bool(getattr(self.supplier, "is_versioned", False))
