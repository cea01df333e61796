"""The written tables and figures of a document, for its notebook."""

import pandas as pd
from IPython.display import display

from memrepro.files.atomic import read_table
from memrepro.report.document import Document
from memrepro.report.profile import Views


class DocumentViews(Views):
    """Those of a document that is data; a table that is repeated is shown study below study."""

    def _stems(self, profile: str, item: str, suffix: str) -> dict[str, str]:
        """Title → name of the files, of the studies and data sets that have the item."""
        studies = Document.of(self.paper).studies(profile)
        names = {f"{s['stem']}_{item}": str(s["title"]) for s in studies}
        names = {**{f"{s['dataset']}_{item}": str(s["dataset"]) for s in studies}, **names}
        folder = self.folder(profile)
        return {t: n for n, t in names.items() if (folder / f"{n}{suffix}").is_file()}

    def show_table(self, profile: str, name: str) -> pd.DataFrame:
        """A table, wide."""
        return self.table(profile, name)

    def show_data(self, profile: str, name: str) -> pd.DataFrame:
        """A table that has no cells, as it lies in its file."""
        return read_table(self.folder(profile) / f"{name}.csv")

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
