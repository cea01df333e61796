"""Pages from templates: everything that is not markup of this package's own is escaped."""

import json
import os
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import mistune
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from memrepro.files.atomic import write_text

ENVIRONMENT = Environment(
    loader=PackageLoader("memrepro.site"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_render = mistune.create_markdown(escape=True, plugins=["table"])
ENVIRONMENT.filters["markdown"] = lambda text: Markup(_render(text))  # markup in it is escaped
ASSETS = ("site.css", "site.js", "data.js", "questions.js", "provenance.js")


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
            self.text(name, asset(name))

    def page(self, path: str, template: str, title: str, **values: Any) -> None:
        """Write one page.

        Args:
            path: from the site's root, with '/' between folders.
            template: of `templates/`.
            title: of the page.
            values: what the template asks for.
        """
        up = "../" * path.count("/")
        text = ENVIRONMENT.get_template(template).render(
            title=title, here=path, up=up, navigation=self.navigation, **values
        )
        self.text(path, text)

    def data(self, key: str, value: Any) -> None:
        """Write data as the script `<key>.js`, which gives the packed value to `memrepro.keep`.

        Plain script elements load from a folder on the disk, which a page may not fetch from.
        """
        self.text(f"{key}.js", f'memrepro.keep({json.dumps(key)},"{packed(value)}");\n')

    def text(self, path: str, text: str) -> None:
        """Write a text file."""
        write_text(self.root / path, text)

    def keep(self, path: str, content: bytes) -> str:
        """Put a file into the site; return its path there."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return path


def asset(name: str) -> str:
    """The text of a style sheet or script of this room."""
    return files("memrepro.site").joinpath(name).read_text(encoding="utf-8")


def packed(value: Any) -> str:
    """A value as JSON, deflated, in base64, which `data.js` unpacks.

    It is about a fifth of the JSON, and nothing in it can be taken for markup.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode(), 9)).decode()


def relative(path: str, page: str) -> str:
    """A path of the site as a page of it links to it."""
    return os.path.relpath(path, Path(page).parent.as_posix())
