"""Programs that run on Spark: ``python examples/live/counts.py``."""
