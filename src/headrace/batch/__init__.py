"""The physical plan of micro-batches: which topics and tasks there are, when tasks are visited, and what they read.

Everything here is a pure function over small values. Who runs the plan, and from which broker, is decided above.
"""
