"""LongMemEval's tables: as printed, run where its files are, and the same designs on other data."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from IPython.display import display

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN, judge
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers import benchmark_statistics
from memrepro.papers.longmemeval import printed as longmemeval_printed
from memrepro.papers.longmemeval import time
from memrepro.report.profile import Metrics, Views, difference, exclusion_cells
from memrepro.report.tables import Cell, number, write_cells
from memrepro.study.params import load_plan

_VIEWS = Views("longmemeval")
show_table, show_figure = _VIEWS.table, _VIEWS.figure
LEVELS = ("session", "round")
COLUMNS = (("recall_all", 5), ("ndcg", 5), ("recall_all", 10), ("ndcg", 10))
_QA = "needs a language model as the reader, and one as the judge"
_NO_FILES = (
    "LongMemEval's files are not in the mirror, and this encoder comes from a model hub: "
    "neither can be had where this was made"
)


class Study(NamedTuple):
    """One data set under one encoder, and how its experiments are named.

    Attributes:
        title: for people.
        stem: what the dense experiments' names begin with.
        lexical: what BM25's begin with.
        dataset: key of the data set.
        base: the key scheme of `K = V`.
        names: of the extractions, by kind.
        values: granularities searched besides sessions and rounds, row → name.
        temporal: the kind of question that asks about time.
    """

    title: str
    stem: str
    lexical: str
    dataset: str
    base: str
    names: Mapping[str, str]
    values: Mapping[str, str]
    temporal: str

    def setting(self, design: str) -> str:
        """The key scheme of a key design such as `K = V + fact`, `K = fact` or `… (RM)`."""
        plain, _, way = design.removeprefix("K = ").partition(" (")
        kind = plain.removeprefix("V + ").removesuffix("s")  # Table 9 has the plural
        if kind == "V":
            return self.base
        mode = "merge" if plain.startswith("V + ") else "replace"
        if way == "RM)":
            mode = "separate"
        return f"{self.base}+{mode}:{self.names[kind]}"


_NLP = {k: f"nlp-{k}" for k in ("fact", "summary", "keyphrase", "event")}
_RECORDED = {k: f"recorded-{k}" for k in ("fact", "summary", "event")} | {
    "keyphrase": "nlp-keyphrase"
}
STUDIES: Mapping[str, tuple[Study, ...]] = {
    "sample": (
        Study(
            "sample, all-MiniLM-L6-v2",
            "sample",
            "sample-bm25",
            "sample",
            "user_only",
            _NLP | {"fact": "gold-fact"},
            {"turn": "turn", "fact": "gold-fact", "summary": "nlp-summary"},
            "temporal-reasoning",
        ),
    ),
    "open": (
        Study(
            "LoCoMo, all-MiniLM-L6-v2",
            "locomo-minilm",
            "locomo-bm25",
            "locomo",
            "concat",
            _RECORDED,
            {"turn": "turn", "fact": "recorded-fact", "summary": "recorded-summary"},
            "temporal",
        ),
        Study(
            "LoCoMo, all-mpnet-base-v2",
            "locomo-mpnet",
            "locomo-bm25",
            "locomo",
            "concat",
            _RECORDED,
            {"fact": "recorded-fact", "summary": "recorded-summary"},
            "temporal",
        ),
    ),
    "full": tuple(
        Study(
            f"LongMemEval {edition.upper()}, {encoder}",
            f"lme-{edition}-{short}",
            f"lme-{edition}-bm25",
            f"longmemeval-{edition}",
            "user_only",
            _NLP,
            {},
            "temporal-reasoning",
        )
        for edition in ("s", "m")
        for encoder, short in (("Stella 1.5B", "stella"), ("Contriever", "contriever"))
    ),
}
# Table 3's designs by level, Table 10's rank merging, and the released code's further modes.
DESIGNS: Mapping[str, tuple[str, ...]] = {
    "round": ("K = V", "K = fact", "K = keyphrase", "K = V + fact", "K = V + keyphrase"),
    "session": (
        "K = V", "K = summary", "K = fact", "K = keyphrase",
        "K = V + summary", "K = V + fact", "K = V + keyphrase",
    ),
}  # fmt: skip
_PLURALS = {"turn": "turns", "fact": "facts", "summary": "summaries"}
TABLE9 = ("K = V", "K = V + summary", "K = V + fact", "K = V + keyphrases")


def key_designs(metrics: Metrics, study: Study) -> Iterator[Cell]:
    """Table 3's rows and every further mode that was run: recall_all and NDCG at 5 and 10."""
    for level in LEVELS:
        for experiment, name in _designs(metrics, study, level):
            for setting in metrics.settings(experiment):
                row = f"Value = {level}, {_spelled(setting, study)}{name}"
                for metric, k in COLUMNS:
                    found = metrics.values(experiment, level, metric, k, setting)["value"]
                    shown = number(found.mean())
                    column = f"{metric}@{k}"
                    yield Cell(row, column, column, "", shown, len(found), NOT_COMPARABLE)


def key_gains(metrics: Metrics, study: Study) -> Iterator[Cell]:
    """Each key design against `K = V`: mean change of recall_all, interval, won and lost."""
    for level in LEVELS:
        plain = f"{study.stem}-{level}-keys"
        for experiment, name in _designs(metrics, study, level):
            for setting in metrics.settings(experiment):
                if setting == study.base:
                    continue
                row = f"Value = {level}, {_spelled(setting, study)}{name}"
                for k in (5, 10):
                    before = metrics.values(plain, level, "recall_all", k, study.base)
                    now = metrics.values(experiment, level, "recall_all", k, setting)
                    column, text = f"recall_all@{k}", difference(before, now)
                    yield Cell(row, column, column, "", text, len(now), NOT_COMPARABLE)


def _designs(metrics: Metrics, study: Study, level: str) -> list[tuple[str, str]]:
    """The sweeps over key schemes that were run, and what to add to a row's name."""
    found = [(f"{study.stem}-{level}-keys", ""), (f"{study.stem}-{level}-ranks", ", rank merging")]
    return [(experiment, name) for experiment, name in found if metrics.settings(experiment)]


def _spelled(setting: str, study: Study) -> str:
    """A key scheme as a key design: `K = V`, or with the extraction and the mode."""
    _, plus, expansion = setting.partition("+")
    if not plus:
        return "K = V"
    mode, _, extraction = expansion.partition(":")
    return f"K = {extraction} ({mode})" if "replace" in mode else f"K = V + {extraction} ({mode})"


def retrievers(metrics: Metrics, study: Study) -> Iterator[Cell]:
    """Table 9's rows: BM25 as released and the dense retriever, by key design."""
    for design in TABLE9:
        setting = study.setting(design)
        for name, stem in (("BM25", study.lexical), (study.title.rsplit(", ", 1)[1], study.stem)):
            for level in LEVELS:
                experiment = f"{stem}-{level}-keys"
                if setting not in metrics.settings(experiment):
                    continue
                for metric, k in COLUMNS:
                    found = metrics.values(experiment, level, metric, k, setting)["value"]
                    column = f"Value = {level}, {metric}@{k}"
                    shown = number(found.mean())
                    row = f"{design}, {name}"
                    yield Cell(row, column, f"{metric}@{k}", "", shown, len(found), NOT_COMPARABLE)


def granularities(metrics: Metrics, study: Study) -> Iterator[Cell]:
    """What a doc is, all rolled up to sessions: recall_all and NDCG (§5.2, retrieval side)."""
    rows = {level: (f"{study.stem}-{level}-keys", study.base) for level in LEVELS}
    rows |= {row: (f"{study.stem}-values", name) for row, name in study.values.items()}
    for row, (experiment, setting) in rows.items():
        for metric, k in COLUMNS:
            found = metrics.values(experiment, "session", metric, k, setting)["value"]
            shown = number(found.mean())
            yield Cell(row, f"{metric}@{k}", f"{metric}@{k}", "", shown, len(found), NOT_COMPARABLE)


def protocols(profile: str, study: Study) -> Iterator[Cell]:
    """One ranking under every protocol: what its name hides, with the number of questions."""
    table = read_table(paths.protocols(profile))
    runs = {
        f"{what}, docs are {level}s": (f"{stem}-{level}-keys", study.base)
        for what, stem in (("dense", study.stem), ("BM25", study.lexical))
        for level in LEVELS
    }
    runs |= {
        f"dense, docs are {_PLURALS[row]}": (f"{study.stem}-values", name)
        for row, name in study.values.items()
    }
    for row, (experiment, setting) in runs.items():
        found = table[(table["experiment"] == experiment) & (table["setting"] == setting)]
        metrics = load_plan().evaluation.protocol_metrics
        found = found[(found["k"] == 10) & found["metric"].isin(metrics)]
        columns = (found[c].tolist() for c in ("level", "protocol", "metric", "n", "value"))
        for level, protocol, metric, n, value in zip(*columns, strict=True):
            name = f"{row}; by {level}, {protocol}, n = {n}"
            yield Cell(name, f"{metric}@10", f"{metric}@10", "", number(value), n, NOT_COMPARABLE)


def printed(table: str, metrics: Metrics, profile: str) -> Iterator[Cell]:
    """The retrieval half of a printed table beside what came out, where the files are there.

    The extractions are this project's (`nlp`), not Llama 3.1 8B's, and the edition is the cleaned
    one: only `K = V` is judged, by all stated labels and the released NDCG, and the note says so.
    Table 4 is about the temporal questions alone.
    """
    notes = longmemeval_printed.notes(table)
    for row, cells in longmemeval_printed.printed(table).iterrows():
        for column, shown in cells.items():
            cell = _beside(table, str(row), str(column), shown, metrics, profile)
            yield cell._replace(note="; ".join([cell.note, *notes]))


def _beside(table: str, row: str, column: str, shown: str, metrics: Metrics, profile: str) -> Cell:
    """One printed cell, and what came out where it was run."""
    printed_name, _, k = column.rsplit(", ", 1)[-1].partition("@")
    if printed_name not in ("Recall", "NDCG"):
        return Cell(row, column, "accuracy", shown, "", 0, NOT_RUN, note=_QA)
    metric = {"Recall": "recall_all", "NDCG": "ndcg_longmemeval"}[printed_name]
    name = f"{metric}@{k}"
    if shown == "-":
        return Cell(row, column, name, "", "", 0, NOT_RUN, note="not given in the paper")
    if profile != "full":
        return Cell(row, column, name, shown, "", 0, NOT_RUN, note=_NO_FILES)
    experiment, level, setting = _place(table, row, column)
    if setting not in metrics.settings(experiment):
        why = f"{experiment} {setting} is not among the experiments that were run"
        return Cell(row, column, name, shown, "", 0, NOT_RUN, note=why)
    found = metrics.values(experiment, level, metric, int(k), setting)
    if table == "table4":
        found = found[found["kind"] == "temporal-reasoning"]
    text, n = number(found["value"].mean()), len(found)
    if "+" in setting or "time" in experiment:
        note = "by the deterministic extractor and parser, not by a language model"
        return Cell(row, column, name, shown, text, n, NOT_COMPARABLE, note=note)
    verdict = judge(shown, float(text))
    note = "the cleaned edition; the paper's is older (PROTOCOLS.md)"
    return Cell(row, column, name, shown, text, n, verdict.label, verdict.term, note)


def _place(table: str, row: str, column: str) -> tuple[str, str, str]:
    """The experiment, level and setting of a cell of Tables 3, 4, 9 or 10, all on M."""
    study = next(s for s in STUDIES["full"] if s.stem == "lme-m-stella")
    where = column if table in ("table4", "table9") else row
    level = "round" if "Value = round" in where.replace("Round", "round") else "session"
    if table == "table4":
        timed = "time" if "Query Expansion" in row else "keys"
        design = "K = V" if row.startswith("(1)") else "K = V + fact"
        return f"{study.stem}-{level}-{timed}", level, study.setting(design)
    if table == "table9":
        design, retriever = row.rsplit(", ", 1)
        stems = {"BM25": study.lexical, "Contriever": "lme-m-contriever"}
        return f"{stems.get(retriever, study.stem)}-{level}-keys", level, study.setting(design)
    design = row.split(", ", 1)[1]
    ranked = design.endswith("(RM)")
    setting = study.setting(design.removesuffix(" (KM)"))
    return f"{study.stem}-{level}-{'ranks' if ranked else 'keys'}", level, setting


def show_tables(profile: str, item: str) -> pd.DataFrame:
    """A table of every study of a profile, one below the other, for the notebook."""
    return _VIEWS.tables(profile, item, STUDIES[profile])


def _datasets(profile: str) -> list[str]:
    return list(dict.fromkeys(study.dataset for study in STUDIES[profile]))


def show_ranges(profile: str) -> pd.DataFrame:
    """How many questions got a range, and how many were wrong, for the notebook."""
    return pd.concat({d: show_table(profile, f"{d}_ranges") for d in _datasets(profile)})


def show_exclusions(profile: str) -> pd.DataFrame:
    """The questions left out of each data set, for the notebook."""
    return pd.concat({d: show_table(profile, f"{d}_exclusions") for d in _datasets(profile)})


def show_figure9(profile: str) -> None:
    """Figure 9 of every data set, for the notebook."""
    display(  # type: ignore[no-untyped-call]
        *(show_figure(profile, f"{d}_figure9") for d in _datasets(profile))
    )


def show_printed_twice(profile: str) -> pd.DataFrame:
    """The settings that the paper prints twice with different values, for the notebook."""
    return read_table(_VIEWS.folder(profile) / "printed_twice.csv")


def build(profile: str, folder: Path) -> list[Path]:
    """Write LongMemEval's tables and figures of a profile into a folder; return their paths."""
    metrics = Metrics(profile)
    written = longmemeval_printed.build(folder)
    for table in ("table3", "table4", "table9", "table10"):
        written += write_cells(printed(table, metrics, profile), folder, table)
    for dataset in _datasets(profile):
        written += benchmark_statistics.build(profile, dataset, folder)
        written += write_cells(exclusion_cells(profile, dataset), folder, f"{dataset}_exclusions")
        written += time.build(profile, dataset, folder)
    for study in STUDIES[profile]:
        for item, cells in (
            ("key_designs", key_designs(metrics, study)),
            ("key_gains", key_gains(metrics, study)),
            ("retrievers", retrievers(metrics, study)),
            ("granularities", granularities(metrics, study)),
            ("protocols", protocols(profile, study)),
            ("time", time.filtered(metrics, study.stem, study.base, study.temporal)),
        ):
            written += write_cells(cells, folder, f"{study.stem}_{item}")
    return written
