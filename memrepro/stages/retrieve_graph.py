"""retrieve_graph: as retrieve, where a memory's keys are the texts of its graph (Associa §4.1)."""

from memrepro.retrievers.associa.keying import GraphKeyMaker
from memrepro.stages import retrieve
from memrepro.stages.done import Done


def run(experiment: str) -> Done:
    """Run an experiment on memory graphs and write its rankings."""
    return retrieve.run(experiment, GraphKeyMaker)
