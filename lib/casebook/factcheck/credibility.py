"""Credibility of sources: by a table of kinds, domains and suffixes, and as documented."""

from collections import namedtuple
from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.factcheck.words import yaml_table
from casebook.readers import read_yaml

CREDIBILITY = Path(__file__).with_name("credibility.yml")
#: Credibility of one source: score in [0, 1] and level.
Rating = namedtuple("Rating", "score level")


_Score = Annotated[float, Field(strict=True, ge=0, le=1)]


class RatingTable(BaseModel, extra="forbid"):
    """Scores of kinds of document, registered domains and public suffixes, in small letters."""

    version: int
    levels: dict[str, _Score]
    kinds: dict[str, _Score]
    domains: dict[str, _Score]
    suffixes: dict[str, _Score]
    other: _Score
    unknown: _Score


@cache
def read_rating_table(path=CREDIBILITY):
    try:
        return RatingTable.model_validate(read_yaml(path))
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error


def rate(url="", kind="", table=None):
    """Rate a source by its kind, else its registered domain, else the public suffix."""
    table = table or read_rating_table()
    score = table.kinds.get(kind.lower())
    if score is None:
        score = _score_of_address(_extractor()(url.strip().lower()), table)
    reached = [level for level in ("high", "medium") if score >= table.levels[level]]
    return Rating(score, *reached[:1] or ["low"])


def _score_of_address(address, table):
    registered = address.top_domain_under_public_suffix
    if not address.fqdn:
        return table.unknown
    if registered in table.domains:
        return table.domains[registered]
    suffix = "" if address.is_private else address.suffix.split(".")[0]
    return table.suffixes.get(suffix, table.other)


@cache
def _extractor():
    """Public suffix list of the package; nothing is downloaded."""
    import tldextract

    return tldextract.TLDExtract(
        suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
    )


def documented_rating(url):
    """Rate an address by the documented heuristic, quirks included: the end of the host."""
    try:
        address = urlsplit(url)
    except ValueError:
        return Rating(0.20, "low")
    host = address.netloc.lower().replace("www.", "")
    for row in yaml_table("documented")["credibility"]:
        if host.endswith(tuple(row["ends"])):
            return Rating(row["score"], row["level"])
    return Rating(0.40 if address.scheme == "https" else 0.30, "low")
