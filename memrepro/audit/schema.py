"""The types of what a table says of itself, see `tables.KEYS`; checked when a file is read."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, ValidationError

from memrepro.errors import MemreproError, cut

_LARGEST = 10**9


def _text(value: Any) -> Any:
    """A name or a word: YAML reads 5, 2024-01-01 and yes as others than text."""
    return value if isinstance(value, Mapping | list | tuple | set | None) else str(value)


def _whole(value: Any) -> Any:
    return "" if isinstance(value, bool | str | float) else value


Text = Annotated[str, BeforeValidator(_text)]
Count = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=_LARGEST)]
Columns = dict[Text, list[Text]]


class Reading(BaseModel):
    """What a table says of itself beside its columns and rows."""

    model_config = ConfigDict(extra="forbid")

    source: Text = ""
    file: Text = ""
    line: Count | None = None
    label: Text = ""
    section: Text = ""
    caption: Text = ""
    bold: Columns = {}
    underlined: Columns = {}
    grey: Columns = {}
    starred: Columns = {}
    stars: dict[Text, dict[Text, Annotated[int, BeforeValidator(_whole), Field(ge=0, le=9)]]] = {}
    wide: Columns = {}
    note: Text = ""
    notes: list[Text] = []
    n: Any = None
    n_source: Text = ""
    total: Count | None = None
    partial: StrictBool = False
    runs: dict[Text, Count] = {}
    whole: Columns = {}
    whole_rows: dict[
        Text, Annotated[list[Any], Field(max_length=0)] | tuple[Literal["sum", "mean"], list[Text]]
    ] = {}
    formulas: dict[Text, Annotated[list[Text], Field(min_length=1)]] = {}
    set: StrictBool = False
    beside: StrictBool = False
    metric: Text = ""
    dataset: Text = ""
    encoder: Text = ""
    setting: Text = ""
    to_the_digit: StrictBool = False
    without_run: dict[Text, Any] = {}
    names: dict[Text, Text] = {}


def checked(
    where: str, entry: Mapping[str, Any], columns: Sequence[str], told: Mapping[str, str]
) -> dict[str, Any]:
    """What a table says of itself, of the right types.

    Args:
        where: table and file, for people.
        entry: key → value, without columns and rows.
        columns: of the table.
        told: key → what it must be, for people.

    Raises:
        MemreproError: naming the table, the key, what was found and what it must be.
    """
    try:
        made = Reading.model_validate({str(key): value for key, value in entry.items()})
    except ValidationError as error:
        first = error.errors()[0]
        key, *at = (str(part) for part in first["loc"])
        place = key + (f", {at[0]!r}" if at else "")
        found = cut(repr(_inside(entry[key], at)), 60)
        raise MemreproError(
            f"{where}: {place} is {found}; {key!r} must be {told.get(key, 'as documented')}"
        ) from error
    reading = made.model_dump(exclude_unset=True)
    for whole, parts in reading.get("whole", {}).items():
        if strange := [part for part in parts if part not in columns]:
            raise MemreproError(
                f"{where}: the whole {whole!r} has the part {strange[0]!r}, which is no column; "
                f"columns are {cut(', '.join(columns), 200)}"
            )
    return {key: list(v) if isinstance(v, tuple) else v for key, v in reading.items()}


def _inside(value: Any, at: Sequence[str]) -> Any:
    """What stands at the first step into a value, where it has one."""
    if at and isinstance(value, Mapping):
        return next((own for key, own in value.items() if str(key) == at[0]), value)
    return value
