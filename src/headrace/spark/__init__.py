"""The engine on Spark. The only package that imports pyspark; it needs the extra ``headrace[spark]``."""
