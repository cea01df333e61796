"""The whole site: every page of the profiles that have results."""

import os
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memrepro import __version__
from memrepro.audit.counts import counts_in_words
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table, root
from memrepro.provenance.environment import git
from memrepro.provenance.places import is_evaluated
from memrepro.report import narrative
from memrepro.site import documents, drawings, numbers, questions
from memrepro.site.leaderboard import COLUMNS, leaderboard
from memrepro.site.pages import Link, Site
from memrepro.study.params import PROFILES, Plan, load_plan
from memrepro.study.plan import AUDIT

# In the order of the pages: what a reviewer looks for stands before the project's own benchmark.
_PROFILES = {
    "open": "Public data, and encoders that come as packages.",
    "full": "What needs a model hub or a GPU: the largest data sets and encoders.",
    "sample": "A benchmark that this project compiles itself; its numbers are not comparable with "
    "those of a document.",
}


def default_profiles() -> list[str]:
    """The profiles whose results are here."""
    return list(filter(is_evaluated, _PROFILES))


def write_site(profiles: Sequence[str] = ()) -> Path:
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
    target = root() / "build" / "site"
    # Written beside its place: a failed build leaves the last site, a new one holds no old page.
    part = target.with_name("site.part")
    shutil.rmtree(part, ignore_errors=True)
    site = Site(part, _navigation(profiles, plan, about))
    listed = []
    for profile in profiles:
        for dataset, runs in questions.browsable(profile, plan).items():
            _say(f"questions of {dataset}")
            listed.append(questions.write(site, profile, dataset, runs, plan))
    listed.sort(key=lambda one: one.questions, reverse=True)
    graphs = drawings.write(site, profiles, plan)
    site.page("questions.html", "questions.html", "Questions", listed=listed, graphs=graphs)
    browsed = {place: address for one in listed for place, address in one.methods.items()}
    traced: dict[str, dict[tuple[str, str, str], str]] = {}
    for profile in profiles:
        traced[profile] = {}
        for paper in _papers(profile, plan, about):
            _say(f"{paper} on {profile}")
            written = numbers.write(site, profile, paper, about[paper]["title"], browsed)
            traced[profile] = written | traced[profile]
            documents.write(site, profile, paper, about[paper])
    site.page(numbers.PAGE, "provenance.html", "Provenance")
    _write_leaderboard(site, profiles, plan, browsed, traced)
    _write_start(site, profiles, plan, about)
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
    return target / "index.html"


def _write_start(site: Site, profiles: list[str], plan: Plan, about: dict[str, Any]) -> None:
    """The headlines with their figure, and each document with what became of its numbers."""
    found = narrative.headlines(profiles)
    figure = found.figure if found else None
    sentences = found.sentences if found else []
    verdicts = [one.removeprefix("**").split("**", 1) for one in sentences]
    told = [
        {
            "name": profile,
            "about": _PROFILES[profile],
            "documents": [
                {
                    "path": documents.page_of(profile, paper),
                    "counts": _counted(profile, paper),
                    **about[paper],
                }
                for paper in _papers(profile, plan, about)
            ],
        }
        for profile in profiles
    ]
    site.page(
        "index.html", "start.html", "memrepro", profiles=told, made=_made(),
        verdicts=verdicts,
        counts=found.counts if found else "",
        figure=site.keep("headlines.svg", figure.read_bytes()) if figure else "",
    )  # fmt: skip


def _counted(profile: str, paper: str) -> str:
    """What became of the numbers that a document prints, in words; '' where none is counted."""
    path = paths.results(profile) / AUDIT / "counts.csv"
    counts = read_table(path) if path.is_file() else None
    if counts is None or paper not in set(counts["document"]):
        return ""
    return counts_in_words(counts, paper)


def _made() -> str:
    """Commit, time, machine and version; the time is `SOURCE_DATE_EPOCH` where that is set."""
    given, state = os.environ.get("SOURCE_DATE_EPOCH"), git()
    now = datetime.fromtimestamp(int(given), UTC) if given else datetime.now(UTC)
    commit = state["commit"] or "unknown: this folder is no git checkout"
    edited = " with uncommitted edits" if state["commit"] and not state["clean"] else ""
    return f"commit {commit}{edited}; {now:%d %B %Y, %H:%M UTC}; memrepro {__version__}"


def abouts() -> dict[str, dict[str, Any]]:
    """What each document and the audit ask and how they answer, in the order of the pages."""
    return {name: narrative.read_entries(name) for name in (*narrative.documents(), AUDIT)}


def _papers(profile: str, plan: Plan, about: dict[str, Any]) -> list[str]:
    """The reports of a profile, in the order of the pages."""
    planned = plan.reports.get(profile, ())
    return [paper for paper in about if paper in planned]


def _navigation(profiles: list[str], plan: Plan, about: dict[str, Any]) -> dict[str, list[Link]]:
    """The pages that every page links to."""
    general = [
        Link("index.html", "memrepro"),
        Link("leaderboard.html", "Leaderboard"),
        Link("questions.html", "Questions"),
    ]
    groups = {"": general}
    for profile in profiles:
        groups[profile] = [
            Link(documents.page_of(profile, paper), about[paper]["title"])
            for paper in _papers(profile, plan, about)
        ]
    return groups


def _write_leaderboard(
    site: Site, profiles: list[str], plan: Plan, browsed: dict[tuple[str, str, str], str],
    traced: dict[str, dict[tuple[str, str, str], str]],
) -> None:  # fmt: skip
    _say("leaderboard")
    entries = [entry for profile in profiles for entry in leaderboard(profile, plan)]
    site.page(
        "leaderboard.html",
        "leaderboard.html",
        "Leaderboard",
        entries=entries,
        browsed=browsed,
        traced=traced,
        columns=[f"{metric}@{k}" for metric, k in COLUMNS],
        datasets=list(dict.fromkeys(e.dataset for e in entries)),
        levels=list(dict.fromkeys(e.level for e in entries)),
        encoders=sorted({e.encoder for e in entries}),
        methods=sorted({e.method for e in entries}),
    )


def _say(what: str) -> None:
    print(f"memrepro: {what}", file=sys.stderr, flush=True)
