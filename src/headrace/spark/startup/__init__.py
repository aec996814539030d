"""A directory on the path of the processes that Spark starts for a session of ours."""
