"""Benchmarks: the same work done by Headrace and by a peer, in one run, as a ratio."""
