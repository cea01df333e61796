"""RF-Mem's alternatives: other clusters, another mixing, a graph, and no early stop."""
