"""Stores that keep their bytes in memory; with a changelog they survive their task all the same."""
