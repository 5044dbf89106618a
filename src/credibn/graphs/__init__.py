"""Networks and classes as graphs: CPDAGs, class sizes and members; text formats."""

from credibn.graphs.networks import (
    CPDAG,
    class_members,
    class_size,
    cpdag_of,
    cpdag_of_masks,
    network_graph,
    parent_masks,
    same_class,
)

__all__ = [
    "CPDAG",
    "class_members",
    "class_size",
    "cpdag_of",
    "cpdag_of_masks",
    "network_graph",
    "parent_masks",
    "same_class",
]
