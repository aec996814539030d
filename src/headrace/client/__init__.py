"""Topics and stores from Python without an application: ``headrace.topics(address)``."""
