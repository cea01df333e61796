"""A document's report: its tables, claims and figures of data, then its own analyses."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError
from memrepro.report import charts, checks, diagram
from memrepro.report.claims import Claims
from memrepro.report.compared import difference_cells
from memrepro.report.document import Document, in_entry
from memrepro.report.engine import Tables
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec, fill
from memrepro.report.tables import write_cells
from memrepro.study.params import load_plan


def build_report(document: Document, profile: str, folder: Path) -> list[Path]:
    """Write the tables and figures of a document into a folder; return their paths."""
    runs = Runs(document.profiles(profile), load_plan())
    tables, written = Tables(document, runs), []
    # What no run computes is the same on every profile: open's report has it.
    repeats = document.is_packaged and profile == "sample"
    if document.is_packaged and not repeats:
        written += checks.write_checks(document.name, folder)
    path = document.folder / "tables.yaml"
    for name, entry in document.tables.items():
        with in_entry(path, f"table {name}", is_data=not has_code(entry)):
            for study in repeated(document, profile, entry):
                if cells := list(tables.cells(name, study)):  # else nothing of it was run
                    written += write_cells(cells, folder, file_name(entry, name, study))
    for name, entry in document.figures.items():
        with in_entry(path, f"figure {name}"):
            for study in repeated(document, profile, entry):
                stem = file_name(entry, name, study)
                written += charts.draw(document, runs, {**study, **entry}, folder, stem)
    for drawing in [] if repeats else diagram.read_diagrams(document.folder / "diagrams.yaml"):
        written += diagram.write(drawing, folder)
    for study in document.studies(profile) if document.claims else ():
        with in_entry(
            document.folder / "claims.yaml", "claims", is_data=not has_code(document.claims)
        ):
            written += _claims(document, runs, study, folder)
    if document.analysis is not None and hasattr(document.analysis, "write_analysis"):
        written += document.analysis.write_analysis(profile, folder)
    if twice := [one for one, n in Counter(written).items() if n > 1]:
        raise MemreproError(
            f"{path}: two tables, figures or studies are written to {twice[0].name}: "
            "give each another name, and each study another stem"
        )
    return written


def has_code(entry: object) -> bool:
    """Whether an entry of a document's file calls a function of the document's own."""
    if isinstance(entry, Mapping):
        return bool({"call", "computed", "cases"} & entry.keys()) or any(
            map(has_code, entry.values())
        )
    return isinstance(entry, list) and any(map(has_code, entry))


def repeated(document: Document, profile: str, entry: Mapping[str, Any]) -> Iterator[Spec]:
    """The studies over which a table is repeated: all, one a data set, or the first alone."""
    studies = document.studies(profile)
    per = entry.get("per")
    if per == "data set":
        studies = list({study["dataset"]: study for study in reversed(studies)}.values())[::-1]
    elif per != "study":
        studies = studies[:1]
    yield from (study for study in studies if not study.get("rest") or entry.get("rest"))


def file_name(entry: Mapping[str, Any], name: str, study: Spec) -> str:
    """What a table's files are called on a study.

    Raises:
        MemreproError: if the name would lead into another folder.
    """
    prefix = {"study": "{stem}_", "data set": "{dataset}_"}.get(entry.get("per", ""), "")
    return _plain(fill(prefix, study) + name)


def _plain(name: str) -> str:
    if "/" in name:
        raise MemreproError(f"{name!r} names a file, so that it may hold no '/'")
    return name


def _claims(document: Document, runs: Runs, study: Spec, folder: Path) -> list[Path]:
    claims = Claims(document, runs, study)
    prefix = _plain(f"{study['stem']}_") if "stem" in study else ""
    found = claims.all_compared()
    name = _plain(str(document.claims.get("table", "claims")))
    differences: list[Path] = []
    if claims.metrics:
        stem = f"{prefix}differences"
        differences += write_cells(difference_cells(found), folder, stem)
    return [
        *differences,
        *([] if study.get("rest") else write_cells(claims.cells(), folder, prefix + name)),
    ]  # fmt: skip
