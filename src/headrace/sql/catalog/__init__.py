"""Streams, tables and types that statements have made."""
