"""What documents draw of single questions, by the module `site` in a document's folder."""

import io

import memrepro.report.figures  # noqa: F401  sets what makes an svg byte-stable
from memrepro.report.modules import document_parts
from memrepro.site.pages import Link, Site
from memrepro.study.params import Plan


def write(site: Site, profiles: list[str], plan: Plan) -> list[Link]:
    """Draw what the documents offer of each profile, and write which question has a drawing."""
    found: dict[str, list[str]] = {}
    links = []
    for profile in profiles:
        for part in document_parts("site"):
            for one in part.drawings(profile, plan):
                path = f"{profile}/graphs/{one.experiment}--{_safe(one.query_id)}.svg"
                text = io.StringIO()
                one.draw().savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
                site.text(path, text.getvalue())
                found.setdefault(f"{profile}/{one.dataset}/{one.query_id}", []).append(path)
                links.append(Link(path, f"{one.dataset}, {one.query_id}: {one.outcome}"))
    site.data("data/graphs", found)
    return links


def _safe(query_id: str) -> str:
    """A question's id as part of a file's name."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in query_id)
