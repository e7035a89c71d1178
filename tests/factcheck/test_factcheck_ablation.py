"""The pipeline without each part, planted notes, the simulator."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from casebook.factcheck import ablation
from casebook.factcheck.decompose import VERIFIABLE, decompose
from casebook.factcheck.pipeline import FactChecker
from casebook.factcheck.words import yaml_table
from casebook.verdicts import NO_DIFFERENCE, NO_UNIT_DIFFERS, NOT_MEASURED

UNUSED = {row["part"]: row["unused"] for row in yaml_table("parts")}


def test_what_a_part_adds_and_its_stated_impact_are_one_comparison():
    """Signs, bounds and words turn together; 199 sign patterns and that observed give p."""
    right = np.random.default_rng(3).random((40, len(ablation.COMPARED))) < 0.6
    wide = pd.DataFrame(right, columns=list(ablation.COMPARED))
    wide["no gate"] = wide["full"]
    rows = wide.rename_axis("id").reset_index().melt("id", var_name="config", value_name="right")
    rows = rows.assign(group=rows["id"], input=rows["config"], verdict="x")
    parts = ablation.part_contrasts(rows, n_resamples=199, seed=1).set_index("against")
    gate = parts.loc["without credibility gate", ["verdict", "reason"]].tolist()
    assert gate == [NO_DIFFERENCE, NO_UNIT_DIFFERS]
    p = parts["p"].dropna() * 200
    assert np.allclose(p, p.round())
    signed = parts.assign(verdict="better").reset_index()
    told = ablation.reported_impacts(signed).set_index("configuration")
    # The table of the document.
    reported = {"no FOL": -12, "k=1": -8, "no credibility": -15, "no 3-stage": -10}
    assert told["reported"].to_dict() == reported
    row = parts.loc["without query diversity"]
    assert row["difference"] == pytest.approx(wide["full"].mean() - wide["k=1"].mean())
    impact = told.loc["k=1", ["ours", "ours low", "ours high"]].tolist()
    assert impact == pytest.approx([-100 * row[name] for name in ("difference", "high", "low")])
    assert told.loc["k=1", "p_adjusted"] == row["p_adjusted"] and set(told["verdict"]) == {"worse"}


# The chapter on parts, which nbval runs, has the same on all claims.
@pytest.mark.faults
def test_under_planted_notes_weights_decide_and_all_configurations_have_costs(base, some):
    tables = ablation.ablate(
        FactChecker(base), some, noise_rates=(0.0, 1.0), noise_seeds=(0,), n_resamples=1_000
    )
    weights = tables["noise"].query("against == 'without credibility weighting'").set_index("rate")
    assert weights.loc[1.0, "difference"] > 0 and weights.loc[0.0, "verdict"] == NOT_MEASURED
    table = tables["configurations"].set_index("config")
    assert len(table) == 9 and table["n"].eq(len(some)).all()
    assert table.loc["k=1", "queries"] < table.loc["full", "queries"]


def test_a_part_that_changed_no_input_is_not_measured(base, some):
    """All documents have one level of credibility and pass the gate, and no claim has two parts."""
    kinds = {claim: [part.verifiability for part in decompose(claim.text)] for claim in some}
    single = [claim for claim in some if kinds[claim] == [VERIFIABLE]]
    tables = ablation.ablate(FactChecker(base), single, n_resamples=1_000)
    parts = tables["parts"].set_index("against")
    idle = parts[parts["verdict"] == NOT_MEASURED]
    expected = ["decomposition", "credibility weighting", "credibility gate"]
    assert idle["reason"].to_dict() == {f"without {part}": UNUSED[part] for part in expected}
    assert idle[["difference", "low", "high", "p", "p_adjusted"]].isna().all(axis=None)
    assert parts["difference"].notna().sum() == 2
    told = tables["reported"].set_index("configuration")["verdict"]
    assert told[["no credibility", "no FOL"]].tolist() == [NOT_MEASURED] * 2


def test_planted_notes_are_as_many_as_asked_and_marked(base):
    documents = base.documents
    notes = ablation.plant_noise(documents, 0.25, seed=3).iloc[len(documents) :]
    assert len(notes) == round(0.25 * len(documents)) and set(notes["kind"]) == {"forum"}


def test_a_planted_note_says_something_else(cases):
    made = {sentence: ablation.contradicted(sentence) for sentence in cases["contradictions"]}
    assert made == cases["contradictions"]


def test_the_simulator_is_the_documented_one():
    """Its penalties are the stated impacts; at ten claims the ablated system often wins."""
    told = yaml_table("documented")["simulator"]
    assert [*told["changed"], "no gate"] == list(ablation.documented_configs())
    right = {
        name: told["accuracy"] - sum(told["penalties"][part] for part in parts)
        for name, parts in told["changed"].items()
    }
    for name, points in told["reported"].items():
        assert 100 * (right[name] - right["full"]) == pytest.approx(points)
    expected = {"no FOL": 0.36, "k=1": 0.44, "no credibility": 0.30, "no 3-stage": 0.40}
    counts = np.arange(11)
    for name, share in expected.items():
        ablated = stats.binom.pmf(counts, 10, right[name])
        wins = ablated @ stats.binom.cdf(counts, 10, right["full"])
        assert round(wins, 2) == share


def test_each_configuration_leaves_out_what_its_name_says():
    texts = [
        "The Aster is a grey ferry. It was built in Bremen. Its crew is small.",
        "The Borealis carried tea. It sank in a storm. Nobody was hurt.",
    ]
    configs = ablation.documented_configs()

    def check(name):
        claim = "The Aster is a grey ferry and the Borealis carried tea."
        documents = pd.DataFrame({"doc_id": ["a", "b"], "text": texts})
        return FactChecker(documents, config=configs[name]).check(claim)

    full = check("full")
    assert len(full.subclaims) == 2 and len(full.queries) > 2
    assert not {item.passage for item in full.evidence} & {*texts}
    assert len(check("no FOL").subclaims) == 1
    assert len(check("k=1").queries) == 2  # one for each part
    assert {item.passage for item in check("no 3-stage").evidence} == {*texts}
    weights = [set(configs[name].rule.weights.values()) for name in ("full", "no credibility")]
    assert weights[0] == {1.0, 0.6, 0.3} and len(weights[1]) == 1
