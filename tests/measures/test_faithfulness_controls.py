"""Own sources against foreign ones, and what moves the separation."""

import random

import pytest

from casebook.errors import InputError
from casebook.measures import faithfulness as controls
from casebook.measures import faithfulness as sweeps


@pytest.fixture
def topics():
    """Twelve explanations about twelve subjects, each from its own source."""
    rng = random.Random(3)
    sources, explanations = {}, {}
    shared = ["court", "held", "that", "party", "case", "which", "would", "other"]
    for i in range(12):
        own = [f"{a}{b}topic{chr(97 + i)}" for a in "bcd" for b in "xyz"]
        body = rng.choices(own, k=60) + rng.choices(shared, k=60)
        rng.shuffle(body)
        sources[f"s{i}"] = " ".join(body)
        lines = [[*rng.sample(own, 4), *rng.sample(shared, 4)] for _ in range(3)]
        explanations[f"e{i}"] = " ".join(" ".join(x).capitalize() + "." for x in lines)
    own = dict(zip(explanations, sources, strict=True))
    return controls.pair_sources(explanations, sources, own, draws=2, seed=1)


def test_foreign_sources_are_never_the_own_one(topics):
    for key, others in topics.foreign.items():
        assert len(set(others)) == 2 and topics.own[key] not in others
    same = {"a": "one text", "b": "one text"}
    with pytest.raises(InputError, match="two different sources"):
        controls.pair_sources(same, same, {"a": "a", "b": "b"})
    with pytest.raises(InputError, match="have no source"):
        controls.pair_sources({"a": "x"}, {"b": "y"}, {"a": "c"})


def test_own_sources_are_told_from_foreign_ones(topics):
    rows = controls.sentence_rows(topics)
    assert set(rows["condition"]) == {"matched", "mismatched"}
    assert rows.groupby("rule", sort=False).size().tolist() == [12 * 3 * 3] * 2
    for rule in controls.RULES:
        assert controls.separation(rows, rule).estimate > 0.95
    sweep = sweeps.threshold_sweep(rows).set_index(["rule", "threshold", "condition"])
    # Half the words are common to all subjects: 40 % is no test, 60 % is one.
    assert sweep.loc[("documented", 0.4, "mismatched"), "score"] == 1.0
    assert sweep.loc[("documented", 0.6, "mismatched"), "score"] == 0.0
    assert (sweep["n"] == 12).all() and (sweep["without_claim"] == 0).all()


def test_shuffled_sources_cannot_be_told_apart(topics):
    """Negative control: with a foreign source as its own, AUROC is one half."""
    wrong = {key: others[0] for key, others in topics.foreign.items()}
    pairing = controls.pair_sources(topics.explanations, topics.sources, wrong, draws=8, seed=2)
    foreign = {key: tuple(s for s in others if s != topics.own[key]) for key, others in pairing.foreign.items()}
    blind = controls.Pairing(topics.explanations, topics.sources, wrong, foreign)
    found = controls.separation(controls.sentence_rows(blind), "corrected")
    assert found.estimate == pytest.approx(0.5, abs=0.03)


def test_sweeps_over_lengths(topics):
    found = sweeps.length_sweep(topics, [10, 120])
    assert set(found["source_words"]) == {10, 120}
    matched = found[(found["rule"] == "documented") & (found["condition"] == "matched")]
    assert matched["score"].is_monotonic_increasing
    by_words = sweeps.by_sentence_length(controls.sentence_rows(topics))
    assert by_words["n"].sum() == 12 * 3 * 3 * 2
    assert by_words["share"].between(0, 1).all()
