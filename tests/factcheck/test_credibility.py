"""Ratings of sources, beside the documented heuristic and its faults."""

import pytest

from casebook.errors import InputError
from casebook.factcheck.credibility import TABLE, documented_rating, rate, read_table, unwrap


@pytest.mark.parametrize(
    ("url", "documented", "corrected"),
    [
        ("https://www.cam.ac.uk/x", "high", "high"),
        ("https://notreuters.com/a", "high", "low"),
        ("https://myedu", "high", "low"),
        ("https://www.bbc.co.uk/news", "low", "high"),
        ("https://india.gov.in/", "low", "high"),
        ("https://uscourts.gov/", "high", "high"),
        ("https://www.service.gouv.fr/", "low", "high"),
        ("https://example.org/", "medium", "medium"),
        ("https://someone.github.io/", "low", "low"),
        ("http://blog.example.com/", "low", "low"),
        ("https://nature.com.evil.io/x", "low", "low"),
    ],
)
def test_levels(url, documented, corrected):
    assert documented_rating(url).level == documented
    assert rate(url).level == corrected


def test_documented_scores_in_their_order():
    scores = {
        "https://a.edu": 0.90,
        "https://edu": 0.85,
        "https://en.wikipedia.org/wiki": 0.60,
        "https://x.org": 0.55,
        "https://x.com": 0.40,
        "http://x.com": 0.30,
        "http://[broken": 0.20,
        # Every "www." is removed, also inside: wwww.gov becomes wgov.
        "https://nowww.reuters.com": 0.85,
    }
    assert {url: documented_rating(url).score for url in scores} == scores


@pytest.mark.parametrize(
    ("url", "inner"),
    [
        ("https://web.archive.org/web/2020/http://a.gov/b", "http://a.gov/b"),
        ("https://web.archive.org/web/20200101id_/https:/a.gov", "https://a.gov"),
        ("https://archive.ph/2021.01/https://www.bbc.co.uk/x", None),
        ("https://web.archive.org/web/2/https%3A%2F%2Fa.edu%2Fq", "https://a.edu/q"),
    ],
)
def test_archives_are_unwrapped(url, inner):
    found, opaque = unwrap(url, read_table()["archives"])
    assert not opaque
    assert inner is None or found == inner
    assert rate(url).level == "high"


def test_an_archive_without_an_address_is_unknown():
    rating = rate("https://archive.ph/AbCdE")
    assert (rating.score, rating.rule) == (0.40, "archive without an address")
    assert documented_rating("https://web.archive.org/web/2/http://x.gov").score == 0.55


def test_kind_beats_address_and_unknown_kinds_do_not_matter():
    assert rate("https://x.com", kind="primary").level == "high"
    assert rate("https://a.gov", kind="Forum").level == "low"
    assert rate("https://a.gov", kind="poem").level == "high"


@pytest.mark.parametrize("url", ["", "   ", "http://", "http://[x", "https://\u2603"])
def test_strange_addresses_never_crash(url):
    assert 0 <= rate(url).score <= 1


def test_a_private_suffix_is_no_public_body():
    # edu.someblog would be; a blog host's customers are not.
    assert rate("https://ac.blogspot.com").rule == "other"


def test_a_wrong_table_is_named(tmp_path):
    path = tmp_path / "table.yml"
    for text, problem in [
        ("a: [", "not YAML"),
        ("[]", "needs exactly"),
        (TABLE.read_text().replace("wikipedia.org: 0.60", "wikipedia.org: 6"), "0..1"),
    ]:
        path.write_text(text)
        read_table.cache_clear()
        with pytest.raises(InputError, match=problem):
            read_table(path)
    read_table.cache_clear()
