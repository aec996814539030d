"""ksqlDB's own cases, run where they are: they are read from a folder outside the project."""
