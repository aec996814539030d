"""Programs with the answers of Kafka Streams: what a case says, run on Headrace and compared in every aspect."""
