"""The written tables and figures of a document, for its notebook."""

import pandas as pd
from IPython.display import display

from memrepro.report.document import Document
from memrepro.report.profile import Views


class DocumentViews(Views):
    """Those of a document that is data; a table that is repeated is shown study below study."""

    def _stems(self, profile: str, item: str, suffix: str) -> dict[str, str]:
        """Title → name of the files, of the studies and data sets that have the item."""
        studies = Document.of(self.paper).studies(profile)
        names = {str(s["title"]): f"{s['stem']}_{item}" for s in studies}
        names |= {str(s["dataset"]): f"{s['dataset']}_{item}" for s in studies}
        folder = self.folder(profile)
        have = {t: n for t, n in names.items() if (folder / f"{n}{suffix}").is_file()}
        return {title: name for name, title in {n: t for t, n in reversed(have.items())}.items()}

    def show_table(self, profile: str, name: str) -> pd.DataFrame:
        """A table, wide."""
        return self.table(profile, name)

    def show_figure(self, profile: str, name: str) -> object:
        """A figure, or a line that says why there is none."""
        return self.figure(profile, name)

    def show_tables(self, profile: str, item: str) -> pd.DataFrame:
        """A repeated table, study below study."""
        stems = self._stems(profile, item, ".csv")
        return pd.concat({title: self.table(profile, name) for title, name in stems.items()})

    def show_figures(self, profile: str, item: str) -> None:
        """A repeated figure, study below study."""
        stems = self._stems(profile, item, ".png")
        display(*(self.figure(profile, name) for name in stems.values()))  # type: ignore[no-untyped-call]
