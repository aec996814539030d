"""Steps to a topology: each step is a fixed sequence of calls of the DSL, so that names and numbers are ksqlDB's."""
