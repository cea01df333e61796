"""An executed notebook as a page, by nbconvert: code folded, figures with words, nothing that runs.

Markdown may hold markup, and what it names may be a data set's: nothing runs, is loaded or leads
away by itself. What is of no tag here shows as its text.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from jinja2 import PackageLoader

from memrepro.files.atomic import write_text
from memrepro.site.pages import ENVIRONMENT, Link, asset

_TAGS = (
    "a", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt",
    "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li", "ol", "p", "pre", "s", "span",
    "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
)  # fmt: skip
_ATTRIBUTES = {
    "*": ["class", "id"], "a": ["href", "title"],
    "td": ["align", "colspan", "rowspan", "style"], "th": ["align", "colspan", "rowspan", "style"],
}  # fmt: skip
_STYLE = re.compile(r"<style\b.*?</style\s*>", re.IGNORECASE | re.DOTALL)  # pandas has one a table
_BOX = '<div class="scroll tall" tabindex="0" role="region" aria-label="Table"><table'
# Marks behind headings; random ids, to which nothing links.
_NOT_SHOWN = re.compile(r'<a class="anchor-link"[^>]*>.*?</a>| id="cell-id=[^"]*"')
_HEADING = re.compile(r'<h2 id="([^"]*)">(.*?)</h2>', re.DOTALL)


class Notebook(NamedTuple):
    """An executed notebook as HTML.

    Attributes:
        title: its first heading; the rest does not repeat it.
        body: all its cells.
        contents: the headings of the second level, with their anchors.
    """

    title: str
    body: str
    contents: list[Link]


def read_notebook(executed: Path, keep: Callable[[str, bytes], str] | None = None) -> Notebook:
    """Convert an executed notebook.

    Args:
        executed: the file.
        keep: stores a figure under a name such as 'figure2.png' and returns its address, which the
            page links to; without it a figure is within the page.
    """
    notebook = nbformat.read(executed, as_version=4)
    title = _describe(notebook, keep)
    body, _ = _exporter().from_notebook_node(notebook)
    body = _NOT_SHOWN.sub("", body)
    contents = [
        Link(anchor, unescape(re.sub(r"<[^>]+>", "", text)))
        for anchor, text in _HEADING.findall(body)
    ]
    return Notebook(title or executed.stem, body, contents)


def to_page(executed: Path, page: Path) -> Path:
    """Write an executed notebook as one HTML file; it loads and runs nothing."""
    template = ENVIRONMENT.get_template("alone.html")
    found = read_notebook(executed)
    write_text(page, template.render(notebook=found, css=asset("site.css")))
    return page


def _describe(notebook: Any, keep: Callable[[str, bytes], str] | None) -> str:
    """Give each figure its place, its number and words in its stead; return the title.

    The words are those of the paragraph above it, which says what is drawn. What else outputs say
    of themselves is dropped.
    """
    title = words = ""
    number = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if not title and cell.source.startswith("# "):
                first, _, cell.source = cell.source.partition("\n")
                title = first[2:].strip()
            paragraphs = [text for text in cell.source.split("\n\n") if text.strip()]
            words = _plain(paragraphs[-1]) if paragraphs else words
        cell.outputs = [one for one in cell.get("outputs", ()) if one.get("name") != "stderr"]
        for output in cell.outputs:
            output.metadata = nbformat.NotebookNode()
            if kind := next((k for k in output.get("data", ()) if k.startswith("image/")), ""):
                number += 1
                output.metadata.number, output.metadata.words = number, words or title
                output.metadata |= _place(output.data[kind], kind, number, keep)
    return title


def _place(
    data: str, kind: str, number: int, keep: Callable[[str, bytes], str] | None
) -> dict[str, str]:
    content = data.encode() if kind == "image/svg+xml" else b64decode(data)
    if keep:
        suffix = kind.removeprefix("image/").partition("+")[0]
        address = keep(f"figure{number}.{suffix}", content)
        return {"source": address, "large": address}
    return {"source": f"data:{kind};base64,{b64encode(content).decode()}", "large": ""}


def _plain(markdown: str) -> str:
    """A paragraph without headings and marks."""
    lines = [line for line in markdown.splitlines() if not line.startswith("#")]
    return re.sub(r"[*`]|\[(?=[^]]*\]\()|\]\([^)]*\)", "", " ".join(lines)).strip()


@cache
def _exporter() -> Any:
    from nbconvert import HTMLExporter  # half a second, and few stages have a page
    from nbconvert.preprocessors.sanitize import SanitizeHTML

    allowed = {"tags": [*_TAGS], "attributes": _ATTRIBUTES, "styles": ["text-align"]}
    sanitizer = SanitizeHTML(**allowed)

    def clean(html: str) -> str:
        safe = sanitizer.sanitize_html_tags(_STYLE.sub("", html))
        return str(safe).replace("<table", _BOX).replace("</table>", "</table></div>")

    exporter = HTMLExporter(
        extra_loaders=[PackageLoader("memrepro.site")], template_name="basic",
        template_file="notebook.html", exclude_input_prompt=True, exclude_output_prompt=True,
        sanitize_html=True,
    )  # fmt: skip
    exporter.register_filter("clean_html", clean)
    return exporter
