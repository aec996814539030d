"""Operators: records in, records or changes out. One operator a file; none knows Spark or a broker."""
