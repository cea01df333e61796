"""Tables made from true counts."""

from memrepro.audit.tables import table_of


def share(right, n, digits=4):
    """A share, rounded with halves up."""
    return f"{(2 * right * 10**digits + n) // (2 * n) / 10**digits:.{digits}f}"


def table(rows, sizes, *, metric="accuracy", digits=4, name="made", **reading):
    """A table of shares: row → right answers of each column, and their overall.

    Args:
        rows: row → right answers.
        sizes: column → questions.
    """
    columns = [*sizes, "Overall"]
    total = sum(sizes.values())
    shown = {
        row: [
            *(share(k, n, digits) for k, n in zip(right, sizes.values(), strict=True)),
            share(sum(right), total, digits),
        ]
        for row, right in rows.items()
    }
    entry = {"columns": columns, "rows": shown, "metric": metric, **reading}
    entry.setdefault("n", {**sizes, "Overall": total})
    return table_of("doc", name, entry)


def changed(made, row, column, shown):
    """The same table with another string in a cell."""
    rows = {r: dict(cells) for r, cells in made.rows.items()}
    rows[row][column] = shown
    return type(made)(made.document, made.name, rows, made.reading)
