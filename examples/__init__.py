"""Short programs, one idea each. Every one runs by itself: ``python examples/top_n.py``."""
