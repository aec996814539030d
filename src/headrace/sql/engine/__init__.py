"""Statements as they are executed: prepared, tried on a copy, then done."""
