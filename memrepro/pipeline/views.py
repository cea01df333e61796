"""What the notebooks of the line show of each step: ids, counts, distributions and one question."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from memrepro.core.memory import Query
from memrepro.core.similarity import Floats
from memrepro.files import paths
from memrepro.files.atomic import open_table, read_table
from memrepro.study.params import load_plan

_QUERIES = 200  # of a data set, whose cosines are looked at
_PART = 1 << 14  # vectors that are decoded at once
_RUNS = 8  # that are held against each other
_SIZES = ["count", "mean", "min", "50%", "max"]


def registered(dataset: str) -> pd.DataFrame:
    """What the registry says of a data set."""
    from memrepro.data.registry import registration

    found = registration(dataset)
    rows = {
        "name": found.name, "edition": found.edition, "licence": found.licence,
        "identity": found.identity[:16], "compiled here": found.compiled,
    }  # fmt: skip
    return pd.Series(rows).to_frame("registry")


def files(written: Sequence[Path]) -> pd.DataFrame:
    """The ten largest of the files, with their share of all bytes."""
    rows = [(path.name, path.stat().st_size) for path in written]
    table = pd.DataFrame(rows, columns=["file", "bytes"])
    table["share"] = (table["bytes"] / table["bytes"].sum()).round(3)
    return table.sort_values(["bytes", "file"], ascending=[False, True]).head(10)


def sources(dataset: str) -> pd.DataFrame:
    """How a data set is read, and what extracts from it, as params.yaml has it."""
    entry = load_plan().dataset(dataset)
    named = ", ".join(entry.extract) or "none"
    rows = {"module": entry.module, "parameters": dict(entry.parameters), "extractions": named}
    return pd.Series({"profile": entry.profile, **rows}).to_frame("params.yaml")


def memory_sizes(dataset: str) -> pd.DataFrame:
    """Queries, sessions and rounds of a memory, over all memories."""
    table = read_table(paths.statistics(load_plan().dataset(dataset).profile, dataset))
    return table.drop(columns="memory_id").astype(int).describe().round(1).loc[_SIZES]


def lengths(dataset: str) -> pd.DataFrame:
    """`level, characters, words, tokens` of sessions, rounds and queries, a row a text."""
    table = read_table(paths.lengths(load_plan().dataset(dataset).profile, dataset))
    return table.drop(columns=["memory_id", "doc_id"])


def first_question(dataset: str, turns: int = 6) -> tuple[Query, pd.DataFrame]:
    """A data set's first question, and the first turns of the memory that it is asked of.

    Returns:
        the question; and `at, session_id, round_id, field, text`, a row a turn.
    """
    folder = paths.prepared(dataset)
    query = Query(*next(_rows(folder / "queries.parquet")))
    held = (row for row in _rows(folder / "haystacks.parquet") if row[0] == query.memory_id)
    _, session, at = next(held)
    of_session = (row for row in _rows(folder / "turns.parquet") if row[0] == session)
    shown = list(islice(of_session, turns))
    wanted = {row[-1] for row in shown}
    texts = {row[0]: row[1] for row in _rows(folder / "texts.parquet") if row[0] in wanted}
    rows = [(at, one, round_id, field, texts[key]) for _, one, round_id, _, field, key in shown]
    return query, pd.DataFrame(rows, columns=["at", "session_id", "round_id", "field", "text"])


def _rows(path: Path) -> Iterator[tuple[str, ...]]:
    """A prepared table's rows, part by part: all texts of a large data set may be beyond memory."""
    with open_table(path) as table:
        for part in table.iter_batches(_PART):
            yield from zip(*(column.to_pylist() for column in part.columns), strict=True)


def skipped(dataset: str) -> pd.DataFrame:
    """What of a data set could not be used, by reason."""
    table = read_table(paths.skipped(load_plan().dataset(dataset).profile, dataset))
    return table["reason"].value_counts().rename_axis("reason").reset_index(name="items")


def key_schemes(profile: str, dataset: str) -> pd.DataFrame:
    """How many key schemes each encoder's runs search, by what a doc is."""
    wanted = load_plan().keys(profile, dataset)
    counts = {
        encoder: {level: len(schemes) for level, schemes in levels.items()}
        for encoder, levels in wanted.items()
    }
    return pd.DataFrame(counts).fillna(0).astype(int).rename_axis("docs are")


def vectors(written: Sequence[Path]) -> pd.DataFrame:
    """How many vectors each file has by role, of what dimension and of what mean length."""
    rows = []
    for path in written:
        lengths: dict[str, list[Floats]] = {}
        for role, block in _blocks(path):
            dimension = block.shape[1]
            lengths.setdefault(role, []).append(np.linalg.norm(block, axis=1))
        for role, parts in lengths.items():
            found = np.concatenate(parts)
            length = round(float(found.mean(dtype=np.float64)), 4)
            rows.append((path.stem, role, len(found), dimension, length))
    return pd.DataFrame(rows, columns=["encoder", "role", "texts", "dimension", "mean length"])


def cosines(written: Sequence[Path]) -> pd.DataFrame:
    """The cosine of each of the first questions with its best key and its middle one.

    Returns:
        a row a question; columns (encoder, 'best key' or 'middle key').
    """
    found = {}
    for path in written:
        asked = np.concatenate([block for role, block in _blocks(path) if role == "query"])
        asked = asked[:_QUERIES]
        products = np.concatenate(
            [asked @ block.T for role, block in _blocks(path) if role == "document"], axis=1
        )
        # Row by row, as a median of all copies them all.
        middle = [np.median(row) for row in products]
        found[path.stem] = pd.DataFrame({"best key": products.max(axis=1), "middle key": middle})
    return pd.concat(found, axis=1)


def _blocks(path: Path) -> Iterator[tuple[str, Floats]]:
    """Each role's vectors (n, d), part by part: all of a large corpus may be beyond memory."""
    with open_table(path) as table:
        for part in table.iter_batches(_PART, columns=["role", "vector"]):
            roles = part["role"].to_numpy(zero_copy_only=False)
            block = part["vector"].flatten().to_numpy().reshape(len(part), -1)
            for role in dict.fromkeys(roles):
                yield role, block[roles == role]


def planned(study: str) -> pd.DataFrame:
    """The runs of a study: what each searches, and by what."""
    rows = [
        (name, e.dataset, e.encoder or "-", e.granularity, e.key_scheme,
         f"{e.method}.{e.retriever}", e.vary or "-", len(e.variants()))
        for name, e in load_plan().study(study).items()
    ]  # fmt: skip
    columns = ["run", "data set", "encoder", "docs are", "keys", "retriever", "varied", "settings"]
    return pd.DataFrame(rows, columns=columns)


def top(study: str, docs: int = 3) -> pd.DataFrame:
    """The first docs of the first two questions of a study's first run."""
    name, one = next(iter(load_plan().study(study).items()))
    table = read_table(paths.run(one.profile, name, study))
    shown = table[table["query_id"].isin(table["query_id"].unique()[:2])]
    return shown[shown["rank"] <= docs].head(2 * docs)


def agreement(study: str) -> pd.DataFrame:
    """The share of questions on which two runs, of sweeps the first, put the same doc first."""
    firsts: dict[str, pd.Series] = {}
    runs = load_plan().study(study)
    for name, one in sorted(runs.items(), key=lambda run: bool(run[1].vary))[:_RUNS]:
        table = read_table(paths.run(one.profile, name, study))
        if one.vary:
            table = table[table["setting"] == table["setting"].iloc[0]]
            name = f"{name}[{table['setting'].iloc[0]}]"
        firsts[name] = table[table["rank"] == 1].set_index("query_id")["doc_id"]
    both = {
        one: {
            other: round(float(theirs.reindex(mine.index).eq(mine).mean()), 2)
            for other, theirs in firsts.items()
        }
        for one, mine in firsts.items()
    }
    return pd.DataFrame(both)


def protocols() -> pd.DataFrame:
    """The protocols: whose labels count, how rounds become sessions, and who is left out."""
    rows = [
        (name, p.labels, p.roll_up, ", ".join(p.exclude) or "none")
        for name, p in load_plan().evaluation.protocols.items()
    ]
    return pd.DataFrame(rows, columns=["protocol", "labels", "roll-up", "kinds left out"])


def best(profile: str, metric: str = "recall_all", k: int = 10) -> pd.DataFrame:
    """The highest mean of each data set by session, under the first protocol, plain runs alone."""
    plan = load_plan()
    table = read_table(paths.protocols(profile))
    first = next(iter(plan.evaluation.protocols))
    chosen = (table["protocol"] == first) & (table["level"] == "session")
    chosen &= (table["metric"] == metric) & (table["k"] == k) & (table["setting"] == "")
    table = table[chosen].assign(
        dataset=[plan.runs[e].dataset for e in table[chosen]["experiment"]]
    )
    shown = table.sort_values("value", ascending=False, kind="stable").groupby("dataset").head(5)
    return (
        shown[["dataset", "experiment", "n", "value"]]
        .round(4)
        .sort_values(
            ["dataset", "value"], ascending=[True, False], kind="stable", ignore_index=True
        )
    )


def by_cutoff(profile: str, metric: str) -> pd.DataFrame:
    """A metric's mean by session under the first protocol: a row a run, a column a cut-off."""
    table = read_table(paths.protocols(profile))
    first = next(iter(load_plan().evaluation.protocols))
    chosen = (table["protocol"] == first) & (table["level"] == "session")
    chosen &= (table["metric"] == metric) & (table["setting"] == "")
    return table[chosen].pivot(index="experiment", columns="k", values="value")


def left_out(profile: str) -> pd.DataFrame:
    """How many questions the first protocol leaves out, by data set, level and reason."""
    table = read_table(paths.exclusions(profile))
    first = next(iter(load_plan().evaluation.protocols))
    table = table[table["protocol"] == first]
    counts = table.groupby(["dataset", "level", "reason"], sort=True).size()
    return counts.reset_index(name="questions")


def reports(profile: str) -> pd.DataFrame:
    """What is verified: the profile's runs, sweeps and reports."""
    plan = load_plan()
    runs = [one for one in plan.runs.values() if one.profile == profile]
    sweeps = sum(bool(one.vary) for one in runs)
    rows = {
        "runs": len(runs) - sweeps, "sweeps": sweeps,
        "rankings": sum(len(one.variants()) for one in runs),
        "reports": ", ".join(plan.reports.get(profile, ())),
    }  # fmt: skip
    return pd.Series(rows).to_frame(profile)


def verdicts(profile: str) -> pd.DataFrame:
    """How many cells of each report have which verdict."""
    found = {}
    for report in load_plan().reports.get(profile, ()):
        tables = [read_table(p) for p in sorted((paths.results(profile) / report).glob("*.csv"))]
        said = [t["verdict"].replace("", "(none)") for t in tables if "verdict" in t]
        found[report] = pd.concat(said).value_counts() if said else pd.Series(dtype=int)
    return pd.DataFrame(found).fillna(0).astype(int).T
