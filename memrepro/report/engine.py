"""One engine for tables: `tables.yaml` of a document's folder names rows, columns and runs.

    studies:                     # profile → what tables are repeated over, with its own names
      open: [{title: LoCoMo, stem: locomo-minilm, dataset: locomo}]
    runs:                        # names for rows and claims: run, setting, level, note
      BM25: {run: "{stem}-bm25", about: "words in lower case"}
    tables:
      table1:
        per: study               # or data set; without it one table, of the first study
        printed: table1          # of printed.yaml: where a row and column are printed
        level: round             # anything may stand at the table, a row or a column
        rows: [BM25, {…}]        # names of `runs`, or label → spec
        columns: [recall_all@5]  # metrics, or label → spec

A cell's spec is what its study, table, row and column say, later ones on top (`report.specs`):

    run, setting, level, metric, k, kind    the values whose mean stands in the cell
    before: {…}    the cell is the paired difference from these values, with its interval
    minus: {…}     the cell is the mean less these values' mean
    docs: true     the cell counts the docs that a query is given
    size: name     the cell is what `key_sizes.csv` says of the run's keys (study/search)
    call: name     the cell is text, by a function of the document's `analysis` of the spec
    computed: name of a table: by a function of `analysis`, or `module.function`: runs, table →
                   cells that take the place of those of the same row and column, or follow them
    empty          the column of the one cell of a computed table for which nothing is planned
    printed_row    the printed row beside a row, where it is called otherwise
    picked         true where a setting was chosen by looking at the printed numbers: what meets
                   them is 'picked', not 'exact'
    each           'setting' of a row: one row a setting that was run (`{setting}`, `{spelled}`);
                   'kind' of a column: one column a kind of question (`{kind}`), 'evidence' of one:
                   one column for each field whose words the gold is
    over           entry → values: rows are repeated for each
    verdict        of the cell, one of `TYPED`; without one a printed number is judged
    note, about    a note; one that begins with the row's name
    why            of a cell without a run: the reason why there is none; nothing is computed
    profiles, elsewhere    where a table is run, and the reason for all other profiles
    missing        'omit' leaves a cell out that was not run, in place of 'not run' with the reason
    optional       true leaves a row out whose run is not planned
    by profile     profile → what the table says on it instead
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from memrepro.audit.tables import reference
from memrepro.audit.verdicts import (
    BY_READING,
    NOT_COMPARABLE,
    NOT_IN_PAPER,
    NOT_RUN,
    OTHER_EDITION,
    judge,
)
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.document import Document
from memrepro.report.runs import Runs
from memrepro.report.sources import FileSource, RunSource, write_sources
from memrepro.report.specs import (
    Spec,
    as_specs,
    beside,
    fill,
    filled,
    loops,
    metric_of,
    place_of,
    spell,
    why_not,
)
from memrepro.report.tables import Cell, number

AS_PRINTED = "as printed"
_NOT_SWEPT = {"metrics": {"called_metric": "metrics"}}
_UNPLANNED = "params.yaml plans no such experiment for this profile"
ABSENT = "-"  # printed where a table has no number
TYPED = (NOT_IN_PAPER, NOT_COMPARABLE, NOT_RUN, OTHER_EDITION, BY_READING)  # all else is computed


class Tables:
    """The tables of a document on a profile."""

    def __init__(self, document: Document, runs: Runs) -> None:
        self.document, self.runs = document, runs

    def cells(self, name: str, study: Spec) -> Iterator[Cell]:
        """The cells of a table of `tables.yaml` on a study."""
        table = {**study, **self.document.tables[name]}
        table |= table.get("by profile", {}).get(self.runs.profile, {})
        what = table.get("what", "runs")
        if what == "protocols":
            yield from self._protocols(table)
        elif "computed" in table:
            computed = self.document.call(table["computed"])(self.runs, table)
            cells = put_in(self._cells(table), computed)
            if not cells and "empty" in table:
                cells = [Cell("none", table["empty"], "plan", "", "", 0, NOT_RUN, note=_UNPLANNED)]
            yield from cells
        else:
            yield from self._cells(table)

    def _cells(self, table: Spec) -> Iterator[Cell]:
        printed: Mapping[str, Mapping[str, str]] = {}
        if "printed" in table:
            printed = self.document.printed(table["printed"])
        for label, row in self._rows(table, printed):
            row_spec = {**table, **row}
            if row_spec.get("optional") and self._unplanned(row_spec):
                continue
            for name, spec in self._settings(label, row_spec):
                shown = printed.get(spec.get("printed_row", name), {})
                yield from self._row_cells(name, spec, table, shown)

    def _rows(
        self, table: Spec, printed: Mapping[str, Mapping[str, str]]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        rows = as_specs(table.get("rows", dict.fromkeys(printed)), self.document.named)
        for choice in loops(table.get("over", {})):
            for label, row in rows:
                yield label, {**choice, **row}

    def _unplanned(self, spec: Spec) -> bool:
        return filled(spec, self.runs.planned).get("run") not in self.runs.planned

    def _settings(self, label: str, row: Spec) -> Iterator[tuple[str, Spec]]:
        """A row, or one for each setting of its run."""
        if row.get("each") != "setting":
            yield fill(label, {**row, "row": label}) if "{" in label else label, row
            return
        run = fill(row["run"], row)
        settings = self.runs.settings(run)
        skipped = {fill(one, row) for one in row.get("skip", ())}
        for setting in [one for one in settings if one not in skipped]:
            spelled = spell(setting, row.get("spell", self.document.spell))
            spec = {**row, "run": run, "setting": setting, "spelled": spelled}
            yield fill(label, spec), spec
        if not settings and row.get("missing") != "omit":
            yield fill(str(row.get("called", label)), row), {**row, "columns": _NOT_SWEPT}

    def _row_cells(
        self, row: str, spec: Spec, table: Spec, printed: Mapping[str, str]
    ) -> Iterator[Cell]:
        columns = as_specs(spec.get("columns", dict.fromkeys(printed)), self.document.named)
        for label, column in columns:
            own = {**metric_of(label), **{k: v for k, v in spec.items() if k != "each"}, **column}
            if own.get("each") in ("kind", "evidence"):
                yield from self._kinds(row, label, own, table)
                continue
            name = fill(label, own) if "{" in label else label
            yield from self._cell(row, name, own, printed.get(name))

    def _kinds(self, row: str, label: str, spec: Spec, table: Spec) -> Iterator[Cell]:
        """A cell for each kind of question that the row's values have."""
        found = filled({**spec, "row": row}, self.runs.planned)
        known = [] if why_not(self.runs, found) else self.runs.kinds(place_of(found), found["each"])
        for kind in known:
            name = fill(label, {**found, "kind": kind})
            yield from self._cell(row, name, {**spec, "kind": kind}, None)

    def _cell(self, row: str, column: str, spec: Spec, shown: str | None) -> Iterator[Cell]:
        """One cell; none where it is left out."""
        spec = filled({**spec, "row": row}, self.runs.planned)
        if spec.get("verdict", NOT_RUN) not in TYPED:
            raise MemreproError(
                f"{row}, {column}: {spec['verdict']!r} is no verdict that an entry may give: "
                f"known are {', '.join(TYPED)}; without one a printed number is judged"
            )
        metric = str(spec.get("metric") or AS_PRINTED)
        name = f"{metric}@{spec['k']}" if spec.get("k") and spec.get("metric") else metric
        called = str(spec.get("called_metric", name))
        cell = Cell(row, column, called, shown or "", "", 0, NOT_RUN)
        if cell.reported not in ("", ABSENT):
            place = reference(spec["printed"], str(spec.get("printed_row", row)), column)
            cell = cell._replace(printed=place)
        if spec.get("docs"):
            yield from self._docs(cell, spec)
        elif spec.get("size"):
            yield from self._size(cell, spec)
        elif spec.get("call"):
            text = self.document.call(spec["call"])(spec)
            yield cell._replace(reproduced=text, verdict=NOT_COMPARABLE, note=self._note(spec, row))
        elif not spec.get("run") and shown == "":
            return  # nothing is printed there
        elif spec.get("before") and self._is_itself(spec):
            return  # no difference to tell
        elif reason := self._reason(spec, shown):
            if not spec.get("run"):
                yield cell._replace(verdict=spec.get("verdict", NOT_RUN), note=reason)
            elif spec.get("missing") != "omit":
                reported = "" if cell.reported == ABSENT else cell.reported
                yield cell._replace(reported=reported, note=reason)
        else:
            yield self._computed(cell, spec)

    def _is_itself(self, spec: Spec) -> bool:
        """Whether a cell would be compared with its own values."""
        own, other = self._sides(spec)
        return bool(own.get("run")) and place_of(own) == place_of(other)

    def _reason(self, spec: Spec, shown: str | None) -> str:
        """Why a cell has no computed number; '' where it has one."""
        if not spec.get("run"):
            reason = str(spec.get("why", ""))
        elif shown == ABSENT:
            reason = "not given in the paper"
        elif self.runs.profile not in spec.get("profiles", [self.runs.profile]):
            reason = spec["elsewhere"]
        elif not (reason := self._unevaluated(spec)):
            return ""
        return "; ".join(filter(None, [reason, *self._notes(spec)]))

    def _unevaluated(self, spec: Spec) -> str:
        """Why the runs of a cell have no values."""
        for one in self._sides(spec):
            if why := why_not(self.runs, one):
                return why
            if (found := self.runs.values(place_of(one))) is None:
                return f"{spec['row']}: not evaluated at {one['k']}"
            if found.empty:
                return f"{spec['row']}: no question is of the kind {one['kind']!r}"
        return ""

    def _sides(self, spec: Spec) -> list[Spec]:
        """The cell's own spec, and that of what it is compared with."""
        others = [beside(spec, key, self.document.named) for key in ("before", "minus")]
        return [spec, *(filled(one, self.runs.planned) for one in others if one)]

    def _computed(self, cell: Cell, spec: Spec) -> Cell:
        """A cell with its number or difference, n, verdict, note and sources."""
        own, *others = [place_of(one) for one in self._sides(spec)]
        now = self._values(own)
        note = self._note(spec, cell.row)
        cell = cell._replace(
            n=len(now), verdict=str(spec.get("verdict", NOT_COMPARABLE)), note=note
        )
        if spec.get("before"):
            found = self.runs.compare(own.run, self._values(others[0]), now)
            return cell._replace(comparison=found, sources=write_sources([others[0], own]))
        value = float(now["value"].mean())
        if others:
            value -= float(self._values(others[0])["value"].mean())
        cell = cell._replace(reproduced=number(value), sources=write_sources([own, *others]))
        if cell.reported and "verdict" not in spec:
            try:
                verdict = judge(cell.reported, value, bool(spec.get("picked")))
            except ValueError as error:
                raise MemreproError(
                    f"{cell.row}, {cell.column}: printed.yaml has {cell.reported!r}, which is no "
                    "number to judge by: give the cell a verdict"
                ) from error
            cell = cell._replace(verdict=verdict.label, term=verdict.term)
        return cell

    def _values(self, place: RunSource) -> pd.DataFrame:
        found = self.runs.values(place)
        assert found is not None  # `_reason` has asked
        return found

    def _docs(self, cell: Cell, spec: Spec) -> Iterator[Cell]:
        """How many docs a query is given; nothing where there is no run."""
        if why_not(self.runs, spec):
            return
        docs = self.runs.docs(spec["run"], str(spec.get("setting") or ""))
        if docs is None:
            return
        yield cell._replace(
            metric="docs", reproduced=f"{docs:.1f}", verdict=NOT_COMPARABLE,
            note=self._note(spec, cell.row), sources=write_sources([self.runs.file(spec["run"])]),
        )  # fmt: skip

    def _size(self, cell: Cell, spec: Spec) -> Iterator[Cell]:
        """A size of a run's keys; nothing where they were not measured, as those of BM25."""
        if why_not(self.runs, spec):
            return
        found = self.runs.key_sizes(spec["run"], str(spec.get("setting") or ""))
        if found is None:
            return
        sizes, source = found
        text = str(sizes[spec["size"]])
        text = number(float(text)) if "." in text else text
        yield cell._replace(
            metric=str(spec["size"]), reproduced=text, n=int(sizes["texts"]),
            verdict=NOT_COMPARABLE, note=self._note(spec, cell.row), sources=str(source),
        )  # fmt: skip

    def _note(self, spec: Spec, row: str) -> str:
        about = f"{row}: {spec['about']}" if spec.get("about") else ""
        return "; ".join(filter(None, [spec.get("note", ""), about, *self._notes(spec)]))

    def _notes(self, spec: Spec) -> list[str]:
        """What `printed.yaml` notes of a printed table, where the table asks for it."""
        if not spec.get("notes"):
            return []
        return self.document.printed_notes(spec["printed"])

    def _protocols(self, table: Spec) -> Iterator[Cell]:
        """Rows that were run, under every protocol by every level, with the number of questions."""
        path = paths.protocols(self.runs.profile)
        frame, source = read_table(path), str(FileSource(path.name))
        wanted = {(m["metric"], m["k"]) for m in map(metric_of, table["columns"])}
        for label, row in as_specs(table["rows"], self.document.named):
            spec = filled({**table, **row}, self.runs.planned)
            chosen = (frame["experiment"] == spec.get("run", "")) & (
                frame["setting"] == (spec.get("setting") or "")
            )
            fields = ["level", "protocol", "metric", "k", "n", "value"]
            for level, protocol, metric, k, n, value in frame.loc[chosen, fields].itertuples(
                index=False
            ):
                if (metric, k) in wanted:
                    name, column = f"{label}; by {level}, {protocol}, n = {n}", f"{metric}@{k}"
                    yield Cell(
                        name, column, column, "", number(value), n, NOT_COMPARABLE, sources=source
                    )


def put_in(cells: Iterable[Cell], computed: Iterable[Cell]) -> list[Cell]:
    """Computed cells in the places of those of the same row and column, further ones after them.

    One that does not say where its number is printed takes it from the cell whose place it takes.
    """
    found, kept = {(cell.row, cell.column): cell for cell in computed}, []
    for cell in cells:
        own = found.pop((cell.row, cell.column), cell)
        kept.append(own if own.printed else own._replace(printed=cell.printed))
    return [*kept, *found.values()]
