"""Queries as steps: what happens to a row, one after another."""
