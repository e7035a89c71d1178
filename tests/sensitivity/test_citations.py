"""Citations: as lawyers of two countries write them, each in one normal form."""

import re
import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook import paths
from casebook.readers import read_yaml
from casebook.sensitivity import domain as citations

EXAMPLES = read_yaml(Path(__file__).with_name("examples.yml"))


def test_one_citation_has_one_normal_form():
    forms = EXAMPLES["normal_form"]
    assert {written: citations.normalise_section(written) for written in forms} == forms
    assert {normal: citations.normalise_section(normal) for normal in forms.values()} == {
        normal: normal for normal in forms.values()
    }
    for written in ["S-304B", "Section-304B", "304-B", "u/s 304-B"]:
        assert citations.normalise_section(written) is None, written


def test_sections_are_of_the_act_beside_them_and_other_numbers_are_none():
    cited = EXAMPLES["cited"] | {text: [] for text in EXAMPLES["no_citation"]}
    assert {text: list(citations.cited_sections(text)) for text in cited} == cited


@given(
    st.sampled_from(["IPC", "CrPC", "IEA", "NIA", "PDPA", "MDA"]),
    st.integers(1, 999),
    st.sampled_from(["", "A", "B"]),
    st.sampled_from(["section {n} {a}", "s. {n}, {a}", "{a} s {n}", "u/s {n} of the {a}"]),
)
def test_every_number_of_an_act_is_found_in_every_wording(act, number, letter, wording):
    short = {"IEA": "Indian Evidence Act", "NIA": "NI Act"}.get(act, act)
    text = wording.format(a=short, n=f"{number}{letter}")
    assert citations.cited_sections(text) == (f"{act}-{number}{letter}",)


def test_shipped_neighbours_share_chapter_and_lie_near():
    near = citations.neighbours
    assert near("IPC-302")[:2] == ("IPC-301", "IPC-303")
    assert set(near("IPC-304")) >= {"IPC-304A", "IPC-304B", "IPC-302"}
    assert "IPC-379" not in near("IPC-377")  # another chapter begins at 378
    assert near("PDPA-13") == ("PDPA-14", "PDPA-15", "PDPA-15A")
    assert near("Constitution-Article-21")
    assert near("Nowhere-1") == ()
    assert citations.neighbours_or_next("Nowhere-1") == ("Nowhere-2",)
    assert citations.neighbours_or_next("Nowhere-7A") == ("Nowhere-6", "Nowhere-8")


SECTIONS = st.from_regex(r"[1-9][0-9]?[AB]?", fullmatch=True)


@given(st.lists(SECTIONS, max_size=24, unique=True), st.integers(0, 4))
def test_neighbours_are_symmetric_of_one_chapter_and_within_the_distance(numbers, distance):
    act = {"1": numbers[::2], "2": numbers[1::2]}
    near = citations.adjacent_sections({"X-": act}, distance)
    for one, others in near.items():
        at = int(re.search(r"\d+", one)[0])
        gaps = [abs(at - int(re.search(r"\d+", other)[0])) for other in others]
        assert gaps == sorted(gaps) and max(gaps, default=0) <= distance
        for other in others:
            assert other != one and one in near[other]
            assert any({one[2:], other[2:]} <= set(of_chapter) for of_chapter in act.values())


@pytest.mark.data
def test_shipped_structure_is_the_one_of_the_statute_files(mirror):
    made = runpy.run_path(paths.DATA / "make" / "act_structure.py")["structure"](mirror)
    assert made == citations.STRUCTURE
    assert sum(map(len, made["IPC-"].values())) >= 511
