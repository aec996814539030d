"""SQL on a broker: statements are executed, written down in a journal, and their queries kept running.

``Database`` is what programs use; ``headrace sql`` is a shell around it.
"""

from headrace.database.answers import Answer
from headrace.database.database import Database

__all__ = ["Answer", "Database"]
