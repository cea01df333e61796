"""The audit page: coverage and consistency, as the audit's own stage has written them."""

from memrepro.site import documents
from memrepro.site.items import folder, items
from memrepro.site.narrative import steps
from memrepro.site.pages import Site

PAGE = "audit.html"
NAME = "audit"


def write(site: Site, profiles: list[str], datasets: frozenset[str]) -> None:
    """Write the audit page, of the profiles that have been audited."""
    audited = []
    for profile in profiles:
        found = items(folder(profile, NAME), datasets)
        if not found:
            continue
        shown = {
            name: documents.view(site, PAGE, profile, NAME, item, "")
            for name, item in found.items()
        }
        executed = folder(profile, NAME) / "report.ipynb"
        audited.append({"name": profile, "pieces": steps(executed, shown)})
    site.page(PAGE, "audit.html", "Audit", profiles=audited)
