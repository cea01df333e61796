"""Pages from templates: everything that is not markup of this package's own is escaped."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from memrepro.files.atomic import write_text

_ENVIRONMENT = Environment(
    loader=PackageLoader("memrepro.site"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["prose"] = Markup  # of `narrative`, which has escaped it
ASSETS = ("site.css", "site.js", "questions.js")


@dataclass(frozen=True)
class Link:
    """A page of the site: its path from the site's root, and what links to it say."""

    path: str
    text: str


class Site:
    """A folder of pages that share a navigation.

    Attributes:
        root: the folder.
        navigation: the pages that every page links to, by group.
    """

    def __init__(self, root: Path, navigation: Mapping[str, Sequence[Link]]) -> None:
        self.root = root
        self.navigation = navigation
        for name in ASSETS:
            text = files("memrepro.site").joinpath(name).read_text(encoding="utf-8")
            write_text(root / name, text)

    def page(self, path: str, template: str, title: str, **values: Any) -> Path:
        """Write one page.

        Args:
            path: from the site's root, with '/' between folders.
            template: of `templates/`.
            title: of the page.
            values: what the template asks for.
        """
        up = "../" * path.count("/")
        text = _ENVIRONMENT.get_template(template).render(
            title=title, here=path, up=up, navigation=self.navigation, **values
        )
        write_text(self.root / path, text)
        return self.root / path

    def copy(self, source: Path, path: str) -> str:
        """Put a file into the site; return its path there."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        return path


def script(call: str, *values: Any) -> str:
    """A script that calls a function with JSON; it is safe in a script element as well.

    Plain script elements load from a folder on the disk, which a page may not fetch from.
    """
    given = ",".join(json.dumps(v, ensure_ascii=False, separators=(",", ":")) for v in values)
    for character in "<>&\u2028\u2029":
        given = given.replace(character, f"\\u{ord(character):04x}")
    return f"{call}({given});\n"


def relative(path: str, page: str) -> str:
    """A path of the site as a page of it links to it."""
    return os.path.relpath(path, Path(page).parent.as_posix())
