"""A headline's verdict follows from its interval and margin alone."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from casebook import contrasts, estimates, paths
from casebook.errors import InputError
from casebook.files import write_json
from casebook.runs.headlines import Headline, per_cent, read_headlines

NAMES = {"dataset": "smoke", "system": "a", "against": "b", "measure": "nDCG@10"}


def headline_of(differences, clusters=None, **options):
    scores = pd.DataFrame({"a": differences, "b": 0.0})
    row = contrasts(scores, [("a", "b")], clusters, **options).iloc[0]
    names = {"dataset": "smoke", "measure": "nDCG@10", "cluster": "contracts"}
    return Headline.of(row, "Better?", **names), row


def test_a_switch_that_changed_no_input_is_no_answer():
    headline, _ = headline_of(np.zeros(40), not_measured={("a", "b"): "no claim has two parts"})
    assert headline.sentence == "Cannot be measured here: no claim has two parts (40 questions)."


def test_an_interval_by_question_says_of_which_questions_it_speaks():
    headline, row = headline_of(np.linspace(-0.1, 0.3, 60), np.repeat(range(4), 15))
    assert headline.low == row["low"]
    assert headline.sentence.endswith(
        "the interval is by question and holds for new questions from these contracts."
    )
    assert headline.word == "helps on these 4 contracts"
    assert "interval is by copy and" in dataclasses.replace(headline, unit="copies").sentence
    undecided, _ = headline_of(np.linspace(-0.3, 0.3, 60), np.repeat(range(4), 15))
    assert undecided.word == "undecided"


def test_answer_and_table_cannot_disagree():
    """The row's own verdict is the answer, whatever margin a page draws."""
    for shift in (-0.3, -0.05, 0.0, 0.05, 0.3):
        headline, row = headline_of(np.linspace(-0.2, 0.2, 30) + shift, margin=0.02)
        words = {
            "better": "helps",
            "worse": "hurts",
            "equivalent": "no effect",
            "undecided": "undecided",
        }
        assert headline.verdict == words[row["verdict"]]
        assert dataclasses.replace(headline, margin=0.5).verdict == headline.verdict


def test_a_value_is_taken_relative_to_the_one_that_means_nothing_and_printed_as_itself():
    wins = pd.DataFrame({"a": [1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1]})
    row = estimates(wins).iloc[0]
    headline = Headline.of(
        row, "Preferred?", null=0.5, dataset="votes", measure="win rate", against=None, unit="votes"
    )
    assert headline.value == pytest.approx(10 / 12 - 0.5) and headline.low == pytest.approx(
        row["low"] - 0.5
    )
    assert headline.effect.startswith("0.833 [") and "against" not in headline.sentence


# --- the words of a chapter


def answered(question="Better?", value=0.05, **names):
    fields = NAMES | {"value": value, "low": value - 0.03, "high": value + 0.03, "n": 40} | names
    return Headline(question, **fields)


def test_the_plain_sentence_stands_before_its_numbers_and_a_terminal_has_no_tags():
    headline = answered(meaning="First for 78 % of the questions.", against="b < c")
    numbers = "+0.050 [+0.020, +0.080] nDCG@10 against b < c (40 questions)."
    assert headline.sentence == f"Yes. First for 78 % of the questions. {numbers}"
    assert headline.markdown == (
        "**Better? Yes. First for 78 % of the questions.** "
        f'<span class="numbers">{numbers.replace("<", "&lt;")}</span>'
    )
    unmeasured = Headline("Better?", value=None, reason="no judgements", **NAMES)
    assert unmeasured.markdown == "**Better? Cannot be measured here: no judgements.**"


def test_a_share_that_is_not_quite_none_or_all_does_not_look_so():
    texts = {0.0: "0 %", 1.0: "100 %", 0.784: "78 %", 0.997: "99.7 %", 0.003: "0.3 %"}
    assert {share: per_cent(share) for share in texts} == texts


def test_results_of_an_earlier_version_are_to_be_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    headline, _ = headline_of(np.linspace(-0.1, 0.3, 60))
    rows = [dataclasses.asdict(headline) | {"method": "BCa"}]
    write_json(tmp_path / "mine" / "headlines" / "cell.json", rows)
    with pytest.raises(InputError, match="run it again: casebook run cell --run mine"):
        read_headlines("mine", "cell")
