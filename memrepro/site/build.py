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
from memrepro.provenance import lineage
from memrepro.provenance.environment import here
from memrepro.provenance.places import is_evaluated, profiles_of, run_file
from memrepro.report import narrative
from memrepro.site import audit, documents, drawings, made, numbers, questions
from memrepro.site.groups import Groups
from memrepro.site.items import folder, items
from memrepro.site.leaderboard import COLUMNS, leaderboard
from memrepro.site.marks import OUTCOMES
from memrepro.site.narrative import html
from memrepro.site.pages import Link, Site
from memrepro.study.params import PROFILES, Plan, load_plan

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
    facts = made.facts()
    target = root() / "build" / "site"
    # Written beside its place: a failed build leaves the last site, a new one holds no old page.
    part = target.with_name("site.part")
    shutil.rmtree(part, ignore_errors=True)
    site = Site(part, _navigation(profiles, plan, about))
    groups = Groups(site, target)
    graphs = _drawings(groups, site, profiles, plan)
    listed = [
        _questions(groups, site, profile, dataset, runs, plan)
        for profile in profiles
        for dataset, runs in questions.browsable(profile, plan).items()
    ]
    site.page("questions.html", "questions.html", "Questions", listed=listed, graphs=graphs)
    browsed = {place: address for one in listed for place, address in one.methods.items()}
    written: dict[str, list[documents.Document]] = {}
    for profile in profiles:
        for paper in _papers(profile, plan, about):

            def write(profile: str = profile, paper: str = paper) -> documents.Document:
                _say(f"{paper} on {profile}")
                title, found = about[paper]["title"], items(folder(profile, paper), datasets)
                numbers.write(site, profile, paper, title, found.values(), browsed)
                return documents.write(
                    site, profile, paper, about[paper], sources(paper), datasets, facts
                )

            inputs = [
                *_of_profile(profile), folder(profile, paper), document_folder(paper),
                paths.build(profile) / f"{paper}.html", paths.manifest(profile),
                documents.ledger(profile),
            ]  # fmt: skip
            texts = (about[paper], browsed, lineage.recorded(folder(profile, paper)), here())
            name = f"{profile}/{paper}"
            written.setdefault(profile, []).append(groups.make(name, inputs, write, *texts))
    site.page(numbers.PAGE, "provenance.html", "Provenance")
    inputs = [path for profile in profiles for path in _of_profile(profile)]
    groups.make("leaderboard", inputs, lambda: _write_leaderboard(site, profiles, plan))
    audited = [folder(profile, audit.NAME) for profile in profiles]
    groups.make("audit", audited, lambda: audit.write(site, profiles, datasets))
    site.page(
        "index.html",
        "start.html",
        "State",
        opening=html(narrative.headlines(profiles)),
        facts=[*facts, ("Profiles", ", ".join(profiles))],
        marks=OUTCOMES.values(),
        profiles=[
            {"name": p, "about": _PROFILES[p], "documents": written.get(p, [])} for p in profiles
        ],
    )
    groups.save()
    _say(f"{len(groups.made)} groups of pages made, the others stand as they were")
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
    return target / "index.html"


def _of_profile(profile: str) -> list[Path]:
    """What a profile's numbers are computed from: rankings, gold and the parameters."""
    of = [paths.results(one) for one in profiles_of(profile)]
    names = ("runs", "data", "evaluation", "latency")
    return [root() / "params.yaml", *(folder / name for folder in of for name in names)]


def _questions(
    groups: Groups, site: Site, profile: str, dataset: str, runs: list[str], plan: Plan
) -> questions.Listed:
    """A data set of the question browser."""

    def write() -> questions.Listed:
        _say(f"questions of {dataset}")
        return questions.write(site, profile, dataset, runs, plan)

    home = plan.datasets[dataset].profile
    inputs = [
        *map(run_file, runs), *(paths.trace(profile, name) for name in runs),
        paths.qrels(home, dataset), paths.places(home, dataset), paths.prepared(dataset),
    ]  # fmt: skip
    entries = [plan.experiment(name) for name in runs]
    return groups.make(f"questions/{profile}/{dataset}", inputs, write, entries, plan.evaluation)


def _drawings(groups: Groups, site: Site, profiles: list[str], plan: Plan) -> list[Link]:
    """What documents draw of single questions; it is made of the data, where they are here."""
    inputs = [root() / "params.yaml", root() / "data" / "prepared", root() / "data" / "vectors"]
    inputs += [paths.results(profile) / "runs" for profile in profiles]
    return groups.make("drawings", inputs, lambda: drawings.write(site, profiles, plan), profiles)


def abouts() -> dict[str, dict[str, str]]:
    """What each document asks and how it answers, in the order of the pages."""
    return {name: narrative.read_entries(name) for name in narrative.documents()}


def sources(paper: str) -> dict[str, str]:
    """Where each printed table of a document stands, by the table's name."""
    path = document_folder(paper) / "printed.yaml"
    if not path.is_file():
        return {}
    entries: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: str(entry["source"])
        for name, entry in entries.items()
        if isinstance(entry, dict) and "source" in entry
    }


def document_folder(paper: str) -> Path:
    """Where a document's own modules and printed numbers lie."""
    return Path(str(files("memrepro"))) / "papers" / paper


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
    _say("leaderboard")
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
