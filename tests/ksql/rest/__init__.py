"""ksqlDB's REST cases without HTTP: statements, pull and push queries in this process."""
