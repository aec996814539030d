"""Aggregates: one value out of many rows, kept as a state that rows are added to, taken from, and merged.

A state is a value of its stored type. It is never changed in place: what a store holds may be asked for again.
"""
