"""retrieve_graph: as retrieve, where a memory's keys are the texts of its graph (Associa §4.1)."""

from collections.abc import Sequence
from functools import cache

import pandas as pd

from memrepro.core.prepared import load
from memrepro.core.ranking import to_frame
from memrepro.core.similarity import Floats
from memrepro.encode.encoder import Encoder
from memrepro.encode.load import load_encoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.retrieve import Retriever, make_retriever
from memrepro.retrieve.associa.deliberation import Deliberator, Embed
from memrepro.retrieve.associa.key_builder import GraphKeyBuilder
from memrepro.retrieve.associa.retrievers import DeliberatedAssocia
from memrepro.study import retrieval
from memrepro.study.params import Experiment, load_plan
from memrepro.study.result import StageResult


def run(experiment: str) -> StageResult:
    """Run an experiment on memory graphs and write its rankings."""
    return retrieval.run(experiment, GraphKeyBuilder, attach_encoder)


def attach_encoder(retriever: Retriever, experiment: Experiment) -> Retriever:
    """A retriever that deliberates gets the experiment's encoder; another stays as it is."""
    if isinstance(retriever, DeliberatedAssocia):
        return retriever.with_encoder(embedder(experiment.encoder))
    return retriever


def embedder(encoder: str) -> Embed:
    """Embeds queries through the cache; the encoder is loaded when the first one comes."""

    @cache
    def loaded() -> Encoder:
        return load_encoder(encoder)

    def embed_queries(texts: Sequence[str]) -> Floats:
        with VectorStore() as store:
            return embed(texts, loaded(), "query", store)

    return embed_queries


def search(experiment: str, deliberator: Deliberator) -> pd.DataFrame:
    """An experiment's rankings under another deliberator, as a run; nothing is written.

    Args:
        experiment: of the retriever associa.deliberated.
        deliberator: such as a language model's (`memrepro.papers.associa.llm.deliberator`).

    Raises:
        MemreproError: if the experiment is unknown or deliberates on nothing.
    """
    entry = load_plan().experiment(experiment)
    made = make_retriever(entry.method, entry.retriever, dict(entry.parameters))
    if not isinstance(made, DeliberatedAssocia):
        raise MemreproError(
            f"{experiment} runs {entry.method}.{entry.retriever}, which deliberates on nothing: "
            "choose an experiment of associa.deliberated"
        )
    dataset = load(paths.prepared(entry.dataset), entry.dataset)
    requests = retrieval.make_requests(
        dataset, entry, retrieval.read_vectors(entry), GraphKeyBuilder
    )
    return to_frame(made.with_encoder(embedder(entry.encoder), deliberator).search(requests))
