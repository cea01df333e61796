"""The whole site: every page of the profiles that have results."""

import shutil
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import RESAMPLES, SEED
from memrepro.files import paths
from memrepro.files.atomic import root
from memrepro.site import audit, documents, passports, provenance, questions, subgraphs
from memrepro.site.items import folder, items
from memrepro.site.leaderboard import COLUMNS, leaderboard
from memrepro.site.marks import MARKS
from memrepro.site.pages import Link, Site
from memrepro.study.params import PROFILES, Plan, load_plan

# In the order of the pages: what a reviewer looks for stands before the project's own benchmark.
_PROFILES = {
    "open": "Public data, encoders that come as packages: PersonaBench, LoCoMo and PersonaMem.",
    "full": "What needs a model hub or a GPU: LongMemEval and the large encoders.",
    "sample": "A benchmark that this project compiles itself; its numbers are not comparable with "
    "those of a document.",
}


def default_profiles() -> list[str]:
    """The profiles whose results are here."""
    return [profile for profile in _PROFILES if paths.protocols(profile).is_file()]


def build(profiles: Sequence[str] = ()) -> Path:
    """Write the site of some profiles, or of all that have results, to `build/site/`.

    Raises:
        MemreproError: if a profile is unknown or has no results, or none has.
    """
    here = default_profiles()
    for profile in profiles:
        if profile not in PROFILES:
            raise MemreproError(f"unknown profile {profile!r}: known are {', '.join(PROFILES)}")
        if profile not in here:
            raise MemreproError(
                f"no results of the profile {profile!r}: run `make repro PROFILE={profile}` first"
            )
    chosen = [profile for profile in here if not profiles or profile in profiles]
    if not chosen:
        raise MemreproError("results/ holds no profile's results: run `make repro` first")
    return _build(chosen, load_plan())


def _build(profiles: list[str], plan: Plan) -> Path:
    about = abouts()
    datasets = frozenset(name.partition("-")[0] for name in plan.datasets)
    facts = provenance.facts()
    target = root() / "build" / "site"
    # Written beside its place: a failed build leaves the last site, a new one holds no old page.
    part = target.with_name("site.part")
    shutil.rmtree(part, ignore_errors=True)
    site = Site(part, _navigation(profiles, plan, about))
    _say("questions")
    graphs = subgraphs.write(site, profiles, plan)
    listed = [one for profile in profiles for one in questions.write(site, profile, plan)]
    site.page("questions.html", "questions.html", "Questions", listed=listed, graphs=graphs)
    browsed = {place: address for one in listed for place, address in one.methods.items()}
    written: dict[str, list[documents.Document]] = {}
    for profile in profiles:
        for paper in _papers(profile, plan, about):
            _say(f"{paper} on {profile}")
            written.setdefault(profile, []).append(
                documents.write(site, profile, paper, about[paper], sources(paper), datasets, facts)
            )
            for item in items(folder(profile, paper), datasets).values():
                if item.kind == "table":
                    passports.write(site, profile, paper, about[paper]["title"], item, browsed)
    _say("leaderboard")
    _write_leaderboard(site, profiles, plan)
    audit.write(site, profiles, datasets)
    site.page(
        "index.html",
        "start.html",
        "State",
        facts=[*facts, ("Profiles", ", ".join(profiles))],
        marks=MARKS.values(),
        profiles=[
            {"name": p, "about": _PROFILES[p], "documents": written.get(p, [])} for p in profiles
        ],
    )
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
    return target / "index.html"


def abouts() -> dict[str, dict[str, str]]:
    """What each document asks and how it answers, in the order of the pages."""
    text = files("memrepro.site").joinpath("documents.yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = yaml.safe_load(text)
    return found


def sources(paper: str) -> dict[str, str]:
    """Where each printed table of a document stands, by the table's name."""
    path = files("memrepro").joinpath("reported", f"{paper}.yaml")
    if not path.is_file():
        return {}
    entries: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: str(entry["source"])
        for name, entry in entries.items()
        if isinstance(entry, dict) and "source" in entry
    }


def _papers(profile: str, plan: Plan, about: dict[str, dict[str, str]]) -> list[str]:
    """The documents that a profile reports on, in the order of the pages."""
    planned = plan.papers(profile)
    return [paper for paper in about if paper in planned]


def _navigation(
    profiles: list[str], plan: Plan, about: dict[str, dict[str, str]]
) -> dict[str, list[Link]]:
    """The pages that every page links to."""
    general = [
        Link("index.html", "State"),
        Link("leaderboard.html", "Leaderboard"),
        Link("questions.html", "Questions"),
        Link(audit.PAGE, "Audit"),
    ]
    groups = {"": general}
    for profile in profiles:
        groups[profile] = [
            Link(documents.page_of(profile, paper), about[paper]["title"])
            for paper in _papers(profile, plan, about)
        ]
    return groups


def _write_leaderboard(site: Site, profiles: list[str], plan: Plan) -> None:
    entries = [entry for profile in profiles for entry in leaderboard(profile, plan)]
    site.page(
        "leaderboard.html",
        "leaderboard.html",
        "Leaderboard",
        entries=entries,
        columns=[f"{metric}@{k}" for metric, k in COLUMNS],
        datasets=list(dict.fromkeys(e.dataset for e in entries)),
        levels=list(dict.fromkeys(e.level for e in entries)),
        encoders=sorted({e.encoder for e in entries}),
        methods=sorted({e.method for e in entries}),
        resamples=RESAMPLES,
        seed=SEED,
    )


def _say(what: str) -> None:
    print(f"memrepro: {what}", file=sys.stderr, flush=True)
