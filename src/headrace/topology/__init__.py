"""The topology: frozen nodes, sub-topologies, ``describe()``; home of the Processor API builder."""

from headrace.topology.topology import Topology
from headrace.topology.topology_plan import TopologyPlan

__all__ = ["Topology", "TopologyPlan"]
