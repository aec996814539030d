"""What an application is, whatever runs it: its topology laid out over the topics there are, its state, its notes.

Layout, internal topics, co-partitioning, what an upgrade may change, from where a topic is read, how stores come back
from their changelogs. How its work is cut into batches, and who runs these, is decided above.
"""
