"""TopologyTestDriver and its topics."""
