"""Credibility of a source by its kind, its registered domain and its public suffix."""

import re
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote, urlsplit

from casebook import paths
from casebook.errors import InputError
from casebook.factcheck.model import LEVELS
from casebook.readers import read_yaml

TABLE = paths.DATA / "factcheck" / "credibility.yml"
GATES = {"none": 0.0, "low": 0.3, "medium": 0.5, "high": 0.8}
_INNER = re.compile(r"https?(?::|%3A)(?:/|%2F){1,2}[^\s]+", re.IGNORECASE)
_SECTIONS = ("kinds", "domains", "suffixes")
_KEYS = {"version", "levels", "other", "unknown", "archives", *_SECTIONS}

# The documented heuristic, in its order: ends of the host, score, level.
_DOCUMENTED = (
    ((".edu", ".gov", ".ac.uk"), 0.90, "high"),
    (
        (
            *("edu", "gov", "ac.uk", "nature.com", "science.org", "nih.gov"),
            *("cdc.gov", "who.int", "nasa.gov", "reuters.com", "apnews.com"),
            *("bbc.com", "pbs.org"),
        ),
        0.85,
        "high",
    ),
    (
        (
            *("wikipedia.org", "britannica.com", "nationalgeographic.com"),
            *("scientificamerican.com", "theconversation.com"),
        ),
        0.60,
        "medium",
    ),
    ((".org",), 0.55, "medium"),
)


@dataclass(frozen=True)
class Rating:
    """Credibility of one source."""

    score: float
    level: str
    rule: str
    address: str = ""


@cache
def _extractor():
    """Load the public suffix list of the package; nothing is downloaded."""
    import tldextract

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@cache
def read_table(path=TABLE):
    """Read a rating table."""
    table = read_yaml(path, "rating table")
    if not isinstance(table, dict) or set(table) != _KEYS:
        found = sorted(map(str, table)) if isinstance(table, dict) else "none of them"
        raise InputError(f"{path}: needs exactly {sorted(_KEYS)}, has {found}")
    table = dict(table)
    for section in _SECTIONS:
        table[section] = _scores(path, section, table[section])
    _scores(path, "other", {name: table[name] for name in ("other", "unknown")})
    return table


def _scores(path, section, entries):
    """Check the scores of one section and give them as name to float."""
    if not isinstance(entries, dict):
        raise InputError(f"{path}: section {section!r} must map names to scores")
    scores = {
        str(name).lower(): entry.get("score") if isinstance(entry, dict) else entry for name, entry in entries.items()
    }
    for name, score in scores.items():
        if not isinstance(score, int | float) or not 0 <= score <= 1:
            raise InputError(f"{path}: {section} {name!r}: score {score!r} not in 0..1")
    return scores


def unwrap(url, archives):
    """Take the address out of an archive's address."""
    for _ in range(5):  # archives of archives exist
        host = _host(url)
        if host is None or not any(_within(host, name) for name in archives):
            return url, False
        inner = _INNER.search(url, len(urlsplit(url).scheme) + 3)
        if inner is None:
            return url, True
        url = re.sub(r"^(https?:)/+", r"\1//", unquote(inner.group()), flags=re.I)
    return url, True


def _within(host, domain):
    return host == domain or host.endswith(f".{domain}")


def _host(url):
    """Give the lower-case host of an address, None if it has none."""
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname
    except ValueError:
        return None
    return (host or "").rstrip(".") or None


def rate(url="", kind=None, table=None):
    """Rate a source."""
    table = read_table() if table is None else table
    if kind is not None and str(kind).lower() in table["kinds"]:
        return _rating(table, table["kinds"][str(kind).lower()], f"kind {kind}", url)
    address, opaque = unwrap(str(url or "").strip(), table["archives"])
    host = _host(address) if address else None
    if opaque or host is None:
        rule = "archive without an address" if opaque else "no address"
        return _rating(table, table["unknown"], rule, address)
    parts = _extractor()(host)
    registered = parts.top_domain_under_public_suffix
    for domain, score in table["domains"].items():
        if _within(host, domain) and (registered == domain or not registered):
            return _rating(table, score, f"domain {domain}", address)
    if not parts.is_private:
        label = parts.suffix.split(".")[0]
        if label in table["suffixes"]:
            rule = f"suffix {parts.suffix}"
            return _rating(table, table["suffixes"][label], rule, address)
    return _rating(table, table["other"], "other", address)


def _rating(table, score, rule, address):
    level = next((name for name in LEVELS[:2] if score >= table["levels"][name]), "low")
    return Rating(float(score), level, rule, address)


def documented_rating(url):
    """Rate an address by the documented heuristic, quirks included."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.lower().replace("www.", "")
    except (ValueError, AttributeError, TypeError):
        return Rating(0.20, "low", "cannot be read", str(url))
    for ends, score, level in _DOCUMENTED:
        found = next((end for end in ends if host.endswith(end)), None)
        if found is not None:
            return Rating(score, level, f"host ends in {found}", url)
    secure = parts.scheme == "https"
    return Rating(0.40 if secure else 0.30, "low", "https" if secure else "not https", url)
