"""Where LaTeX's long tables keep their heads: set apart, before the table, or printed twice."""

import re
from collections.abc import Sequence

from memrepro.audit.read.tex_source import closing

Row = tuple[bool, list[str], str]  # whether a rule stands above; cells; what ended it


def of_deluxetable(body: str) -> str:
    """The rows of an AAS table: its heads, then its data."""
    head = re.search(r"\\tablehead\s*(?=\{)", body)
    heads = body[head.end() + 1 : closing(body, head.end()) - 1] if head else ""
    data = re.search(r"\\startdata([\s\S]*?)(?:\\enddata|$)", body)
    return f"{heads} \\\\ \\midrule {data[1] if data else ''}"


def head_set_before(text: str, before: int) -> str:
    """What supertabular's head was set to last."""
    for name in ("tablefirsthead", "tablehead"):
        found = list(re.finditer(rf"\\{name}\s*(?=\{{)", text[:before]))
        if found and before - found[-1].end() < 10_000:
            at = found[-1].end()
            return text[at + 1 : closing(text, at) - 1] + " "
    return ""


def of_longtable(rows: Sequence[Row]) -> list[Row]:
    """A long table's rows: its first head, its body and its last foot, each once."""
    parts: dict[str, list[Row]] = {}
    body: list[Row] = []
    for row in rows:
        if row[2] in ("row", ""):
            body.append(row)
            continue
        parts[row[2]] = [*body, row]
        body = []
    head = parts.get("endfirsthead") or parts.get("endhead") or []
    if body:
        body[0] = (body[0][0] or bool(head), *body[0][1:])
    return [*head, *body, *parts.get("endlastfoot", [])]
