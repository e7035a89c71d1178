"""Data cards: YAML files with the content, checksums and licence of each data set."""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import jinja2
import pydantic
from pydantic import AfterValidator, NonNegativeInt, StringConstraints

from casebook import paths
from casebook.errors import InputError
from casebook.readers import read_yaml

# Loaders that a card may name, functions of casebook.data.sets, and the kind of data of each.
KIND_OF_LOADER = read_yaml(Path(__file__).with_name("sets.yml"))["loaders"]
# Beginnings of SPDX names of licences under which a report may show whole texts.
OPEN_LICENCES = ("MIT", "Apache-2.0", "BSD-", "CC0-", "CC-BY-3", "CC-BY-4", "CC-BY-SA-")

# A path below the folder that it is joined to.
RelativePath = Annotated[
    str, StringConstraints(pattern=r"^([\w-][\w.-]*/)*[\w-][\w.-]*$")
]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
# A text of one line, however the card breaks it.
Line = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Licence(_Strict):
    """Licence of the data themselves, not of the package that carries them."""

    name: Line
    spdx: Line | None = None
    non_commercial: bool
    url: Line | None = None
    notes: Line | None = None


class Source(_Strict):
    """A place of files: a folder of the project, of the mirror, a wheel or a url."""

    shipped: RelativePath | None = None
    mirror: RelativePath | None = None
    wheel: Annotated[str, StringConstraints(pattern=r"^[\w.-]+==[\w.]+$")] | None = None
    # Without a login or a query, which could hold secrets.
    url: Annotated[str, StringConstraints(pattern=r"^https://[^@?]+$")] | None = None
    member: RelativePath | None = None  # of the wheel
    rename: dict[str, RelativePath] = {}

    @property
    def address(self):
        return self.url or self.wheel

    def __str__(self):
        return self.address or (
            f"mirror/{self.mirror}" if self.mirror else "the project"
        )


class Split(_Strict):
    documents: NonNegativeInt
    queries: NonNegativeInt
    judgements: NonNegativeInt
    note: Line | None = None


class Card(_Strict):
    """Everything that is known about a data set before it is read."""

    key: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_]*$")]
    title: Line
    description: Line
    licence: Licence
    citation: Line
    loader: Literal[tuple(KIND_OF_LOADER)]  # a card names none by its path
    sources: list[Source]
    files: dict[RelativePath, Sha256]
    splits: dict[str, Split]
    default_split: str
    caveats: list[Line] = []

    @property
    def kind(self):
        return KIND_OF_LOADER[self.loader]


def load_card(path):
    try:
        card = Card.model_validate(read_yaml(path))
    except pydantic.ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error
    if card.key != path.stem:
        raise InputError(f"{path}: field key: is {card.key!r}, the file name differs")
    return card


def first_problem(error):
    """First wrong field of what pydantic refused, in words; any other error as it is."""
    if not isinstance(error, pydantic.ValidationError):
        return str(error)
    problem = error.errors()[0]
    where = ".".join(map(str, problem["loc"]))
    return f"field {where}: {problem['msg']}" if where else problem["msg"]


_load_once = cache(load_card)


def cards():
    """All data cards, by key: those of the project and those that are shipped."""
    return {key: _load_once(path) for key, path in paths.card_files().items()}


def card_of(dataset):
    """Card of a data set or of a part of one (``key_split``, ``key.system``), or None."""
    keys = [key for key in cards() if f"{dataset}_".startswith((f"{key}_", f"{key}."))]
    return cards()[max(keys, key=len)] if keys else None


def may_show(card):
    """The texts that a report may show: ``items`` (questions, claims) and ``documents``.

    Of data under a non-commercial licence only what its authors wrote is shown.
    """
    spdx = (card.licence.spdx if card else None) or ""
    if spdx.startswith("CC-BY-NC"):
        return frozenset({"items"})
    if spdx.startswith(OPEN_LICENCES) and not card.licence.non_commercial:
        return frozenset({"items", "documents"})
    return frozenset()


def as_markdown(card):
    text = Path(__file__).with_name("card.md.jinja").read_text()
    return (
        jinja2.Template(text, trim_blocks=True, lstrip_blocks=True).render(card=card)
        + "\n"
    )
