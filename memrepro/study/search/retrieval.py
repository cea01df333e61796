"""retrieve: the runs of a study, and the traces that some leave; sees no qrels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from memrepro.core.extractions import Extractions, parent_of
from memrepro.core.keys import Request
from memrepro.core.memory import Dataset
from memrepro.core.prepared import load, load_extractions
from memrepro.core.ranking import COLUMNS, to_frame
from memrepro.core.similarity import Floats
from memrepro.encode.encoder import Encoder
from memrepro.encode.load import load_encoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table, replacing, write_table
from memrepro.files.progress import bar
from memrepro.retrieve import attach_encoder, make_retriever
from memrepro.retrieve.key_builders import measure_for
from memrepro.study.params import Experiment, Plan, load_plan
from memrepro.study.result import StageResult, data_files
from memrepro.study.search.key_sizes import key_sizes
from memrepro.study.search.requests import make_requests, read_vectors

# What single precision does to a score from one processor or batch to another is at most 2.2e-6 in
# what was compared so far; tables show 1e-4.
_NOISE = 5e-6


def write_trace(trace: Any, folder: Path) -> tuple[pd.DataFrame, list[Path]]:
    """Write a trace's tables of queries, branches and hits; return the run and the files.

    The run is that of the hits. Whole numbers are int32, and the scores of hits float32, as in a
    run. The numbers of branches, which no rule compares with a threshold, are float32 too; a gate's
    signals stay as they are.
    """
    small = {"i": np.int32, "f": np.float32}
    hits = _retyped(trace.hits, small)
    asked, branches = _retyped(trace.queries, {"i": np.int32}), _retyped(trace.branches, small)
    tables = dict(zip(paths.TRACE_TABLES, (asked, branches, hits), strict=True))
    for name, table in tables.items():
        write_small(folder / f"{name}.parquet", table)
    return hits[COLUMNS], [folder / f"{name}.parquet" for name in tables]


def _retyped(table: pd.DataFrame, types: Mapping[str, type]) -> pd.DataFrame:
    """The table with the columns of each kind of type ('i', 'f') in another one."""
    kinds = zip(table.columns, (dtype.kind for dtype in table.dtypes), strict=True)
    return table.astype({name: types[kind] for name, kind in kinds if kind in types})


Embed = Callable[[Sequence[str]], Floats]


def embedder(encoder: str) -> Embed:
    """Embeds queries through the cache; the encoder is loaded when the first one comes."""

    @cache
    def loaded() -> Encoder:
        return load_encoder(encoder)

    def embed_queries(texts: Sequence[str]) -> Floats:
        with VectorStore() as store:
            return embed(texts, loaded(), "query", store)

    return embed_queries


def run(study: str) -> StageResult:
    """Run the experiments and sweeps of a study and write a file for each.

    A sweep's file has the setting of each run. What is not of the study any more is deleted.
    """
    plan = load_plan()
    runs = plan.study(study)
    settings = {name: entry.variants() for name, entry in runs.items()}
    sizes: list[pd.DataFrame] = []
    searched: list[dict[str, Any]] = []
    found: dict[str, dict[str, pd.DataFrame]] = {name: {} for name in runs}
    outputs: list[Path] = []
    with bar(sum(map(len, settings.values())), f"retrieve {study}", "run") as progress:
        for one, dataset, requests, asked in _by_requests(settings):
            if (measure := measure_for(one.key_scheme)) is not None:
                what = measure(requests)
                what.insert(0, "granularity", one.granularity)
                what.insert(1, "keying", one.key_scheme)
                what.insert(2, "encoder", one.encoder)  # which nodes are one, where they merge
                sizes.append(what)
            if one.encoder:
                searched.append(key_sizes(one, requests))
            for name, setting in asked:
                table, traces = _search(name, settings[name][setting], requests, plan.models)
                if runs[name].varies_keys:
                    table = shortened(table, dataset, max(plan.evaluation.protocol_ks))
                found[name][setting] = table
                outputs += traces
                progress.update()
            # Before the next are made: of a large corpus, both are beyond memory.
            del requests
    profile = next(iter(runs.values())).profile
    for name, tables in found.items():
        path = paths.run(profile, name, study)
        write_small(path, _joined(settings[name], tables))
        outputs.append(path)
    beside = {
        paths.graphs(profile, study): pd.concat(sizes, ignore_index=True) if sizes else None,
        paths.key_sizes(profile, study): pd.DataFrame(searched) if searched else None,
    }
    for path, measured in beside.items():
        if measured is not None:
            write_table(path, measured.drop_duplicates())
            outputs.append(path)
    for path in paths.study(profile, study).rglob("*"):
        if path.is_file() and path not in outputs:
            path.unlink()
    summary = pd.concat([_summary(name, tables) for name, tables in found.items()])
    inputs = [path for entry in runs.values() for path in inputs_of(entry, plan)]
    return StageResult(
        f"retrieve {study}", summary.reset_index(drop=True), list(dict.fromkeys(inputs)),
        sorted(outputs),
    )  # fmt: skip


def _by_requests(
    settings: Mapping[str, Mapping[str, Experiment]],
) -> Iterator[tuple[Experiment, Dataset, list[Request], list[tuple[str, str]]]]:
    """Which runs share a data set, its vectors and its keys: those are read and made once.

    Yields an experiment, its data set and requests, and the names and settings of all that ask so.
    """
    by_data: dict[tuple[str, str], dict[object, list[tuple[str, str]]]] = {}
    for name, variants in settings.items():
        for setting, one in variants.items():
            searched = (one.granularity, one.key_scheme, one.ranges, one.dates, one.asked)
            shared = by_data.setdefault((one.dataset, one.encoder), {})
            shared.setdefault(searched, []).append((name, setting))

    @lru_cache(maxsize=1)
    def read(key: str) -> tuple[Dataset, Extractions]:
        return load(paths.prepared(key), key), load_extractions(paths.extracted(key))

    for (key, encoder), groups in by_data.items():
        dataset, extractions = read(key)
        first_name, first_setting = next(iter(groups.values()))[0]
        first = settings[first_name][first_setting]
        vectors = read_vectors(first) if encoder else None
        for asked in groups.values():
            name, setting = asked[0]
            one = settings[name][setting]
            yield one, dataset, make_requests(dataset, one, vectors, extractions), asked
        del vectors


def _search(
    name: str, one: Experiment, requests: Sequence[Request], models: Mapping[str, Any]
) -> tuple[pd.DataFrame, list[Path]]:
    """A run's rankings, and the files of its trace."""
    made = make_retriever(one.method, one.retriever, dict(one.parameters))
    retriever = attach_encoder(made, embedder(one.encoder), models=models)
    if one.traced:
        trace: Any = retriever  # the plan admits none that leaves no trace
        return write_trace(trace.trace(requests), paths.trace(one.profile, name, one.study))
    found = retriever.search(requests)
    table = to_frame(found)
    if (recall := getattr(found, "recall", None)) is not None:
        table.attrs["recall"] = round(recall, 4)  # of an approximate search
    return table, []


def shortened(run: pd.DataFrame, dataset: Dataset, depth: int) -> pd.DataFrame:
    """The top of each ranking, down to where `depth` sessions were named.

    That is all that a sweep over key schemes is evaluated by, at every level.
    """
    sessions = {}
    for memory in dataset.memories.values():
        for session in memory.sessions:
            for part in session.rounds:
                names = (part.round_id, *(turn.turn_id for turn in part.turns))
                sessions.update(dict.fromkeys(names, session.session_id))
    of_doc = {doc: sessions.get(parent_of(doc), parent_of(doc)) for doc in run["doc_id"].unique()}
    named = run.assign(session=run["doc_id"].map(of_doc))
    first = ~named.duplicated(["query_id", "session"])
    count = first.groupby(named["query_id"], sort=False).cumsum()
    # The doc that names the last session stays, what follows it goes.
    return run[(count < depth) | ((count == depth) & first)]


def write_small(path: Path, table: pd.DataFrame) -> None:
    """Write rankings as a parquet file that git can hold: ids coded, the bytes of scores apart.

    A file that is there and differs in float noise alone stays: another processor, or other
    batches, change no file of git.
    """
    if _is_there(path, table):
        return
    found = pa.Table.from_pandas(table, preserve_index=False)
    scores = [field.name for field in found.schema if pa.types.is_floating(field.type)]
    coded = [name for name in found.column_names if name not in scores]
    with replacing(path) as temporary:
        pq.write_table(
            found, temporary, compression="zstd", compression_level=15, use_dictionary=coded,
            use_byte_stream_split=scores,
        )  # fmt: skip


def _is_there(path: Path, table: pd.DataFrame) -> bool:
    """Whether a file holds a table but for float noise."""
    try:
        kept = read_table(path)
    except MemreproError:  # none, or a damaged one
        return False
    if list(kept) != list(table) or len(kept) != len(table):
        return False
    for name in table:
        mine, theirs = table[name].to_numpy(), kept[name].to_numpy()
        if "f" not in (mine.dtype.kind, theirs.dtype.kind):
            same = bool((mine == theirs).all())
        else:
            # What has no value in any row is kept without a type.
            alike = mine.dtype.kind == theirs.dtype.kind
            same = alike and np.allclose(mine, theirs, rtol=0, atol=_NOISE, equal_nan=True)
        if not same:
            return False
    return True


def _joined(variants: Mapping[str, Experiment], tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The tables of a sweep's settings, in the order of the settings, or the one of a run."""
    if list(variants) == [""]:
        return tables[""]
    joined = [tables[setting].assign(setting=setting) for setting in variants]
    table = pd.concat(joined, ignore_index=True)
    return table[["setting", *(c for c in table if c != "setting")]]


def _summary(name: str, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What a reader of the notebook sees of a run or sweep: one row."""
    rows = sum(map(len, tables.values()))
    queries = max(table["query_id"].nunique() for table in tables.values())
    row = (name, len(tables), queries, round(rows / len(tables) / max(queries, 1), 2))
    summary = pd.DataFrame([row], columns=["experiment", "runs", "queries", "docs a query"])
    recalls = [table.attrs["recall"] for table in tables.values() if "recall" in table.attrs]
    return summary.assign(recall=min(recalls)) if recalls else summary


def search(experiment: str, deliberator: object) -> pd.DataFrame:
    """An experiment's rankings under another deliberator, such as a model's; nothing is written.

    Raises:
        MemreproError: if the experiment is unknown or deliberates on nothing.
    """
    entry = load_plan().experiment(experiment)
    made = make_retriever(entry.method, entry.retriever, dict(entry.parameters))
    if not hasattr(made, "with_encoder"):
        raise MemreproError(
            f"{experiment} runs {entry.method}.{entry.retriever}, which deliberates on nothing: "
            "choose an experiment whose retriever does"
        )
    dataset = load(paths.prepared(entry.dataset), entry.dataset)
    requests = make_requests(dataset, entry, read_vectors(entry) if entry.encoder else None)
    ready = attach_encoder(made, embedder(entry.encoder), deliberator)
    return to_frame(ready.search(requests))


def inputs_of(entry: Experiment, plan: Plan) -> list[Path]:
    """The files that an experiment reads."""
    inputs = data_files(entry.dataset)
    if entry.encoder:
        inputs.append(entry.vectors)
    if entry.ranges:
        profile = plan.dataset(entry.dataset).profile
        inputs += [path(profile, entry.dataset) for path in (paths.dates, paths.ranges)]
    if any(one.asked for one in entry.variants().values()):
        inputs.append(paths.asked(plan.dataset(entry.dataset).profile, entry.dataset))
    return inputs
