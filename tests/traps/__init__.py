"""The 60 traps of the specification, one test each: what Kafka Streams does and a newcomer would not guess.

``test_trap_NN_...`` shows the trap ``NN`` of ``spec/kafka-streams.md`` (section 11, as mended by its corrections) with
the public API and the test driver. A trap that needs more than one task is shown at the unit where its rule lives:

==== =========================================================================================================
 35  Co-partitioning at run time is checked by whoever creates repartition topics: the engine's. Here: what the
     topology demands of it (``test_topologies``).
 47  Nobody writes checkpoints yet: the engine's. Here: the two offsets it will write (``test_tasks``).
 48  Ranges over several partitions are put together by the engine. Here: what one store answers (``test_stores``).
 52  Which tasks a commit covers is the engine's. Here: that ``commit()`` only asks (``test_tasks``).
 53  Leaving a consumer group is the engine's, with a broker. No test here.
==== =========================================================================================================
"""
