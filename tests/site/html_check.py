"""Reads pages as strictly as a checker: every element closed in order, ids once, what is linked."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "input", "hr", "col"}


class Page(HTMLParser):
    """What a page holds.

    `links` are the addresses of href and src; `loads` those that a browser fetches by itself.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        assert text.startswith("<!doctype html>")
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), f"an attribute twice: {tag} {attrs}"
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        for name in ("href", "src"):
            if name in attributes:
                self.links.append(attributes[name])
                if tag != "a":
                    self.loads.append(attributes[name])

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID, f"<{tag}/> at {self.getpos()}"
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> at {self.getpos()}"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] in ("script", "style"):
            self.scripts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def luminance(colour: str) -> float:
    """Relative luminance of a `#rrggbb` (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def palettes(css: str) -> list[dict[str, str]]:
    """The names and colours of each `:root` of a style sheet, in order."""
    found = re.findall(r":root\s*\{(.*?)\}", css, re.S)
    return [dict(re.findall(r"--([a-z]+):\s*(#[0-9a-f]{6})", block)) for block in found]
