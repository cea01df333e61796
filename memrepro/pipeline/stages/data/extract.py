"""extract: facts, summaries, keyphrases and dates of a data set, by the sources in params.yaml.

Sources: `nlp`, the deterministic extractor, and `store`, that of the memory's own store, for any
data set; `recorded` and `gold`, which the data set itself brings (its module
`<module>_extractions`); and any other name, a language model's: with the options `file` and
`sha256`, a file of what it said; with `model` and `paper`, what an entry of `models` says to that
document's extractor, replayed or live. `nlp` may name the `kinds` of texts that it extracts, beside
all dates. `moved` and `echoed` are controls `of` another's facts (`text.controls`). The source
`said`, when a session took place, is always there.
"""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.core.extractions import KINDS, Extracted, Extractions
from memrepro.core.memory import Dataset
from memrepro.core.prepared import load, save_dates, save_extracted, save_ranges
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import root, write_table
from memrepro.memory.language.extract import by_store
from memrepro.study.params import load_plan, named
from memrepro.study.result import StageResult
from memrepro.text.controls import CONTROLS, control
from memrepro.text.lengths import save_extracted_lengths
from memrepro.text.sources import by_nlp, from_file, said_dates

_COUNTS = ["source", "kind", "of", "number", "version"]


def extract(source: str, options: Any, dataset: Dataset, module: str) -> Extracted:
    """What one source has to say of a data set.

    Raises:
        MemreproError: if the source is unknown, or cannot be read.
    """
    if source == "nlp" and (not options or set(options) == {"kinds"}):
        kinds = options["kinds"] if options else KINDS
        if set(kinds) <= set(KINDS):
            return by_nlp(dataset, kinds)
    if source == "store" and not options:
        return by_store(dataset)
    reserved = ("nlp", "store", "said", "recorded", "gold")
    if source not in reserved and isinstance(options, dict) and set(options) == {"file", "sha256"}:
        return from_file(dataset, source, root() / Path(options["file"]), options["sha256"])
    if source not in reserved and isinstance(options, dict) and set(options) == {"model", "paper"}:
        return _by_model(dataset, source, **options)
    if source in ("recorded", "gold") and not options:
        return _own(source, dataset, module)
    raise MemreproError(
        f"params.yaml: data set {dataset.name!r} has the source of extractions {source!r} with the "
        f"options {options!r}: write nlp, store, recorded or gold with none, nlp with kinds of "
        f"{', '.join(KINDS)}, or any other name with file and sha256, or with model and paper"
    )


def _by_model(dataset: Dataset, source: str, model: str, paper: str) -> Extracted:
    """What a language model says; the file of it lies in `data/recorded`, outside git."""
    entry = named("language model", load_plan().models, model)
    # Imported by name: only a data set that asks so depends on language models.
    extractor = importlib.import_module(f"memrepro.papers.{paper}.llm.extractor")
    path = root() / "data" / "recorded" / f"{dataset.name}-{source}.jsonl"
    written = extractor.by_entry(dataset, model, entry, path)
    return from_file(dataset, source, written.path, written.sha256)


def _own(source: str, dataset: Dataset, module: str) -> Extracted:
    """What the data set's own module gives, if it is of that source."""
    name = f"memrepro.data.{module}_extractions"
    if importlib.util.find_spec(name):
        found: Extracted = importlib.import_module(name).extract(paths.raw(dataset.name), dataset)
        if {text.source for text in found.texts} <= {source}:
            return found
    raise MemreproError(
        f"params.yaml: data set {dataset.name!r} brings no extractions {source!r} itself: take "
        "that source away, or name another"
    )


def counts(source: str, found: Extracted) -> list[tuple[str, str, str, int, str]]:
    """How many texts, dates and ranges a source gave."""
    frame = pd.DataFrame(found.texts, columns=["key", "round_id", "source", "kind", "text"])
    frame["of"] = frame["round_id"].eq("").map({True: "session", False: "round"})
    rows = [
        (source, str(kind), str(of), len(part), found.version)
        for (kind, of), part in frame.groupby(["kind", "of"], sort=True)
    ]
    for kind, of, number in (
        ("date", "session", len(found.dates)),
        ("range", "query", len(found.ranges)),
        ("skipped", "item", len(found.skipped)),
    ):
        rows.append((source, kind, of, number, found.version))
    return rows


def run(dataset: str) -> StageResult:
    """Extract by every source that the data set names, and write texts, dates and ranges."""
    entry = load_plan().dataset(dataset)
    loaded = load(paths.prepared(dataset), dataset)
    found = {
        source: extract(source, options, loaded, entry.module)
        for source, options in entry.extract.items()
        if source not in CONTROLS
    }
    for source in CONTROLS:
        if source in entry.extract:
            of = named("source of extractions", found, entry.extract[source]["of"])
            found[source] = control(source, loaded, of)
    extracted = [text for one in found.values() for text in one.texts]
    texts = save_extracted(extracted, paths.extracted(dataset))
    dates, ranges, counted, lengths = (
        path(entry.profile, dataset)
        for path in (paths.dates, paths.ranges, paths.extraction_counts, paths.extracted_lengths)
    )
    save_extracted_lengths(loaded, Extractions.grouped(extracted), lengths)
    save_dates([*said_dates(loaded), *(d for one in found.values() for d in one.dates)], dates)
    save_ranges((r for one in found.values() for r in one.ranges), ranges)
    table = pd.DataFrame(
        [row for source, one in found.items() for row in counts(source, one)], columns=_COUNTS
    )
    write_table(counted, table)
    inputs = sorted(paths.prepared(dataset).glob("*.parquet"))
    return StageResult(
        f"extract {dataset}", table, inputs, [texts, dates, ranges, counted, lengths]
    )
