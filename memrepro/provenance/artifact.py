"""What `docs/artifact.md` says that can be computed: claims, data, models, sizes, citations.

Each function makes one part of that page as Markdown.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from memrepro.data.registry import registrations
from memrepro.encode.models import registry
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_json, read_table
from memrepro.provenance import cite, tables
from memrepro.provenance.places import is_evaluated, plan
from memrepro.report.narrative import Values, documents, read_entries
from memrepro.study.plan import PROFILES

PROFILE = "open"  # whose claims the page lists: the public data
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


class Claim(NamedTuple):
    """A sentence of a report, and what checks it.

    Attributes:
        name: such as 'rfmem 2'.
        says: the sentence, filled.
        checks: commands → what they print for the number; a table that is counted → ''.
    """

    name: str
    says: str
    checks: Mapping[str, str]


def claims(profile: str, paper: str) -> Iterator[Claim]:
    """What a report says was found, one claim a sentence of its narrative."""
    entries, values = read_entries(paper), Values(profile, paper)
    here = entries.get("profiles", {}).get(profile, {})
    for number, one in enumerate((*entries.get("found", ()), *here.get("found", ())), start=1):
        text = one if isinstance(one, str) else one["says"]
        checks = dict(_checks(profile, paper, text, values))
        yield Claim(f"{paper} {number}", values.sentence(one), checks)


def _checks(profile: str, paper: str, text: str, values: Values) -> Iterator[tuple[str, str]]:
    """Of each table that a sentence names, a command for its first number, or the file counted."""
    checks: dict[str, dict[str, str]] = {}
    for place in _PLACEHOLDER.findall(text):
        table, *parts = (part.strip() for part in place.split("|"))
        kind, _, name = table.rpartition(":")
        folder, _, stem = name.strip().rpartition("/")
        of_table = checks.setdefault(table, {})
        if kind == "outcomes":
            of_table[f"results/{profile}/audit/counts.csv"] = ""
        elif kind == "claims":
            of_table[f"results/{profile}/findings/claims_counted.csv"] = ""
        elif kind in ("count", "rows"):
            of_table[f"results/{profile}/{folder or paper}/{stem}.csv"] = ""
        else:
            cell = values.cell(table, *parts[:2])
            of = f"{folder or paper}:{stem}:{cell.row}:{cell.column}"
            of_table[f'memrepro why --profile {profile} "{of}"'] = cell.reproduced
    for found in checks.values():
        first = next(iter(found.items()))
        yield next((one for one in found.items() if re.search(r"\d", one[1])), first)


def claim_list(profile: str = PROFILE) -> str:
    """Every claim of a profile's reports, with its checks."""
    parts = []
    for paper in (one for one in documents() if (paths.results(profile) / one).is_dir()):
        title = read_entries(paper)["title"]
        rows = [f"### {title}\n"]
        for claim in claims(profile, paper):
            rows.append(f"- **{claim.name}.** {claim.says}")
            rows += [_check(check, value) for check, value in claim.checks.items()]
        parts.append("\n".join(rows) if len(rows) > 1 else "")
    return "\n\n".join(filter(None, parts))


def _check(check: str, value: str) -> str:
    return f"  - `{check}` → {value}" if value else f"  - counted in `{check}`"


def data_table() -> str:
    """The data sets of every profile: files, size, licence and address."""
    rows = []
    for key, entry in plan().datasets.items():
        one = registrations()[key]
        known = [file.bytes for file in one.files if file.bytes]
        size = f"{sum(known) / 1e6:.1f} MB" if len(known) == len(one.files) else "not published"
        rows.append(
            (key, entry.profile, "made here" if one.compiled else len(one.files),
             "" if one.compiled else size, one.licence, one.homepage or "this repository")
        )  # fmt: skip
    columns = ["data set", "profile", "files", "size", "licence", "from"]
    return _markdown(pd.DataFrame(rows, columns=columns))


def model_table() -> str:
    """The encoders that runs use: where they come from, dimension, longest text and licence."""
    users: dict[str, set[str]] = {}
    for one in plan().runs.values():
        if one.encoder:
            users.setdefault(one.encoder, set()).add(one.profile)
    known = registry()
    rows = [
        (name, ", ".join(p for p in PROFILES if p in users[name]), known[name].source["kind"],
         known[name].dimension, known[name].maximum_length, known[name].licence)
        for name in known if name in users
    ]  # fmt: skip
    columns = ["encoder", "profiles", "source", "dimension", "tokens read", "licence"]
    return _markdown(pd.DataFrame(rows, columns=columns).replace({"wheel_parts": "wheels"}))


def size_table() -> str:
    """Each profile's runs, tables and files, and what they take on disk."""
    rows = []
    for profile in filter(is_evaluated, PROFILES):
        runs = [one for one in plan().runs.values() if one.profile == profile]
        manifest = read_json(paths.manifest(profile))
        files = [path for path in paths.results(profile).rglob("*") if path.is_file()]
        rows.append(
            (profile, len(runs), sum(len(one.variants()) for one in runs),
             sum(len(tables.tables(profile, paper)) for paper in tables.papers(profile)),
             len(manifest), f"{sum(path.stat().st_size for path in files) / 1e6:.0f} MB")
        )  # fmt: skip
    columns = ["profile", "experiments", "rankings", "tables", "files in the manifest", "results"]
    return _markdown(pd.DataFrame(rows, columns=columns))


def counts_table(profile: str = PROFILE) -> str:
    """What became of the documents' printed numbers: a row a document."""
    path = paths.results(profile) / "audit" / "counts.csv"
    found = read_table(path).pivot(index="outcome", columns="document", values="n")
    outcomes = list(dict.fromkeys(read_table(path)["outcome"]))
    return _markdown(found.loc[outcomes].rename_axis(columns=None).reset_index())


def citation_table(profile: str = PROFILE) -> str:
    """Which references each table used: tables of one report that used the same share a row."""
    rows = []
    for paper in tables.papers(profile):
        groups: dict[tuple[str, ...], list[str]] = {}
        for table in tables.tables(profile, paper):
            groups.setdefault(tuple(cite.used_by(profile, paper, table)), []).append(table)
        for keys, names in groups.items():
            rows.append((paper, ", ".join(f"`{key}`" for key in keys), ", ".join(names)))
    return _markdown(pd.DataFrame(rows, columns=["report", "cite", "tables"]))


def all_references() -> str:
    """Every entry as BibTeX."""
    return cite.bibtex(cite.references()["entries"])


def _markdown(frame: pd.DataFrame) -> str:
    heads = [str(name) for name in frame.columns]
    lines = [heads, ["---"] * len(heads), *frame.astype(str).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(cell.replace('|', '∣') for cell in line)} |" for line in lines)


PARTS = {
    "claims": claim_list,
    "counts": counts_table,
    "data": data_table,
    "models": model_table,
    "sizes": size_table,
    "citations": citation_table,
}


def fill(text: str, parts: Mapping[str, str]) -> str:
    """A text with what stands between each part's marks, `<!-- name -->`, made anew.

    Raises:
        MemreproError: if a part's marks are not both there.
    """
    for name, made in parts.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if start not in text or end not in text:
            raise MemreproError(f"the text has no {start} … {end}: put them where the part stands")
        before, rest = text.split(start, 1)
        text = f"{before}{start}\n{made}\n{end}{rest.split(end, 1)[1]}"
    return text
