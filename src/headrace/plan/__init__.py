"""From what the DSL said to a topology: the logical graph, the rules that rewrite it, the stores it needs."""
