"""One sub-topology partition at run time: queues, stream time, forwarding, punctuation, errors, commit.

A task does not know who drives it. Its host feeds it records, asks it to process, punctuate and commit,
and receives what it writes through the producer port of ``headrace.task.collector``.
"""
