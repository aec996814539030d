"""The ports on Apache Kafka, through librdkafka: the only place that imports ``confluent_kafka``.

``broker`` puts the parts together; ``log`` is topics, records and groups; ``clients`` makes what talks to the cluster,
with the settings that ``client_settings`` translates from Java's names; ``failures`` are librdkafka's errors as ours.
"""
