"""Credibility of sources: by a table of kinds, domains and suffixes, and as documented."""

import re
from collections import namedtuple
from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.factcheck.words import yaml_table
from casebook.readers import read_yaml

CREDIBILITY = Path(__file__).with_name("credibility.yml")
#: Credibility of one source: score in [0, 1] and level.
Rating = namedtuple("Rating", "score level")
TRUSTED = Rating(1.0, "high")
_INNER_URL = re.compile(r".+?(https?(?::|%3A)(?:/|%2F).+)", re.IGNORECASE)


def _scores_by_name(rows):
    """Scores by lower-case name; an entry is a score or an object with one."""
    if not isinstance(rows, dict):
        return rows
    scores = {}
    for name, entry in rows.items():
        scores[str(name).lower()] = entry.get("score") if isinstance(entry, dict) else entry
    return scores


_UnitShare = Annotated[float, Field(strict=True, ge=0, le=1)]
_ScoresByName = Annotated[dict[str, _UnitShare], BeforeValidator(_scores_by_name)]


class RatingTable(BaseModel, extra="forbid"):
    """Scores of kinds of document, registered domains and public suffixes."""

    version: int
    levels: dict[str, _UnitShare]
    archives: list[str]
    kinds: _ScoresByName
    domains: _ScoresByName
    suffixes: _ScoresByName
    other: _UnitShare
    unknown: _UnitShare


@cache
def read_rating_table(path=CREDIBILITY):
    """Read and check a rating table."""
    try:
        return RatingTable.model_validate(read_yaml(path))
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error


def rate(url="", kind=None, table=None):
    """Rate a source by its kind, else its registered domain, else the public suffix."""
    table = table or read_rating_table()
    score = table.kinds.get(str(kind or "").lower())
    if score is None:
        score = _score_of_host(_original_host(str(url or "").strip(), table.archives), table)
    for level in ("high", "medium"):
        if score >= table.levels[level]:
            return Rating(score, level)
    return Rating(score, "low")


def _score_of_host(host, table):
    if not host:
        return table.unknown
    address = _extractor()(host)
    registered = address.top_domain_under_public_suffix or host
    if registered in table.domains:
        return table.domains[registered]
    suffix = "" if address.is_private else address.suffix.split(".")[0]
    return table.suffixes.get(suffix, table.other)


def _original_host(url, archives):
    """Host of an address; within an archive's address that of the page that it keeps."""
    host = _host(url)
    while host and any(f".{host}".endswith(f".{archive}") for archive in archives):
        inner = _INNER_URL.fullmatch(url)
        if inner is None:
            return None
        url = re.sub(r"^(https?:)/+", r"\1//", unquote(inner[1]))
        host = _host(url)
    return host


def _host(url):
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname
    except ValueError:
        return None
    return (host or "").rstrip(".")


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
