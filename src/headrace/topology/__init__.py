"""The topology: frozen nodes, sub-topologies, ``describe()``; home of the Processor API builder."""

from headrace.topology.topology import Topology

__all__ = ["Topology"]
