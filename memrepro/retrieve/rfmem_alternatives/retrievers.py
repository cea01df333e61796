"""RF-Mem's alternatives by name.

RF-Mem's own rows of Tables 15 and 16 need no run of their own: the gate reads the familiarity list
alone, and then takes a query from one run or the other.
"""

from memrepro.retrieve.rfmem_alternatives.graph import FullGraphSearch, GraphSearch
from memrepro.retrieve.rfmem_alternatives.steps import (
    DBSCANRecollection,
    FullExploration,
    GatedMixing,
    SpectralRecollection,
)

RETRIEVERS = {
    "dbscan": DBSCANRecollection,
    "spectral": SpectralRecollection,
    "gated-mix": GatedMixing,
    "graph": GraphSearch,
    "full": FullExploration,
    "full-graph": FullGraphSearch,
}
