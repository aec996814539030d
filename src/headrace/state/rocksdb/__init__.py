"""Bytes stores that keep their entries in RocksDB."""
