"""The planted truth is recovered, and what fails without its controls is shown."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from casebook import plots
from casebook.counterfactual import chapter, report
from casebook.errors import InputError
from casebook.inference import counts, permutation
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.intervals import bounds_text, estimate_text
from casebook.sensitivity import evaluation as documented
from casebook.sensitivity.evaluation import placebo_table
from casebook.sensitivity.placebo import VACUOUS, Inert, inert_words
from casebook.sensitivity.planted import VALUES, WEIGHTS, plant_cases
from casebook.sensitivity.study import drill_down, planted_collection
from casebook.sensitivity.tree import TreeSettings, excess
from casebook.stats import intervals


@pytest.fixture(scope="module")
def study():
    return chapter.run(planted_collection(), ["bm25"], TreeSettings())


def test_documents_and_cases_are_what_they_say():
    planted = plant_cases(cases=1, values=2, per_line=3)
    assert len(planted.documents) == 4 * 4 * 3
    assert planted.truth.sum(axis=1).tolist() == [3] * 4
    for row in planted.documents.itertuples():
        for name, weight in WEIGHTS[row.area].items():
            shown = str(getattr(row, name))
            assert row.text.count(shown) >= 1 + 3 * weight
    again = plant_cases(cases=1, values=2, per_line=3)
    assert planted.documents.equals(again.documents)
    assert planted.sheets == again.sheets
    with pytest.raises(InputError, match="values must be 2 to"):
        plant_cases(values=1 + min(map(len, VALUES.values())))


def test_inert_words_are_as_common_as_values_of_noise():
    inert = inert_words(plant_cases().documents["text"])
    assert inert.known
    assert [len(kind) for kind in inert.kinds] == [6, 6, 6]


def test_excess_recovers_what_decides(study):
    found = study.evaluated("bm25")
    assert found["auroc"]["value"] >= 0.95
    assert found["auroc"]["ci"][0] > 0.9
    assert found["spearman"]["value"] > 0.8
    assert found["spearman"]["p"] < 1e-6
    blind = study.evaluated("random")["auroc"]
    assert blind["ci"][0] < 0.5 < blind["ci"][1]


def test_excess_of_planted_noise_covers_zero(study):
    edges = study.edges["bm25"]
    weight = np.array(
        [WEIGHTS[case.rsplit("-", 1)[0]][name] for case, name in zip(edges["case_id"], edges["fact_type"], strict=True)]
    )
    beyond = excess(edges, "footrule")
    for name in ("all", *VALUES):
        noise = (weight == 0) & ((edges["fact_type"] == name) | (name == "all"))
        cases = edges["case_id"][noise].tolist()
        found = bootstrap_mean(beyond[noise].to_numpy(), clusters=cases)
        assert found.low < 0 < found.high, name
    decides = bootstrap_mean(beyond[weight > 0].to_numpy(), clusters=edges["case_id"][weight > 0].tolist())
    assert decides.low > 0.2


def test_first_five_fails_where_the_stratified_budget_does_not():
    table = chapter.budget_table(planted_collection(), TreeSettings())
    table = table.set_index("budget")
    first, mixed = table.loc["documented, first 5"], table.loc["stratified, 5"]
    assert first["pairs assessed"] == 24
    assert mixed["pairs assessed"] == first["pairs"] == 96
    assert first["dispositive accuracy"] < 0.5 < mixed["dispositive accuracy"]
    assert first["AUROC high"] < mixed["AUROC low"]


def test_placebos_exceed_the_documented_threshold(study):
    kinds = documented.kind_table(study, "bm25").set_index("kind")
    assert kinds.loc["placebo", "share above 1.5"] > 0.3
    parity = documented.parity_table(study).set_index("system")
    assert parity.loc["no retrieval", "non_dispositive_accuracy"] == 1
    assert parity.loc["random", "dispositive_accuracy"] == 1
    assert parity.loc["random", "non_dispositive_accuracy"] == 0


def test_tables_and_sentences_of_the_chapter(study):
    assert "AUROC" in report.answer(study, "bm25")
    types = report.type_table(study)
    assert set(types["system"]) == {"bm25", "random"}
    assert len(types) == 8
    retrievers = report.retriever_table(study).set_index("system")
    assert retrievers.loc["bm25", "balanced accuracy, held out"] > 0.7
    alone = retrievers.loc["type alone"]
    assert alone["pairs"] == retrievers.loc["bm25", "pairs"]
    assert alone["AUROC of excess"] == 0.5  # each type decides in two of four areas
    numbers = chapter.numbers([study, None], chapter.wordings("", ["bm25"]))
    auroc = numbers["planted"]["bm25"]["auroc"]
    assert auroc["control"] == 0.5
    assert auroc["n"] == 96
    for measures in numbers["planted"].values():
        for number in measures.values():
            assert set(number) == {"value", "ci", "n", "control", "reason"}
    rows = study.rows()
    assert {"Placebo", "Section"} <= set(rows["fact_type"])


@pytest.fixture
def draws(monkeypatch):
    """Note the resamples and the seed of every draw."""
    asked = {"resamples": set(), "seeds": set()}

    def note(name, value, **_):
        asked["resamples"].add(value)

    for module in (intervals, counts, permutation):
        monkeypatch.setattr(module, "check_count", note)
    for module in (intervals, counts):
        stream = module.stream
        monkeypatch.setattr(
            module, "stream", lambda seed, *rest, old=stream: asked["seeds"].add(seed) or old(seed, *rest)
        )
    return asked


def test_resamples_and_seed_reach_every_draw_of_the_chapter(draws):
    cases = planted_collection(6, 2, 4)
    settings = TreeSettings(1, 3, placebo_draws=1, seed=11)
    study = chapter.run(cases, ["bm25"], settings, n_boot=123)
    report.answer(study, "bm25")
    report.type_table(study)
    report.retriever_table(study)
    documented.kind_table(study, "bm25")
    documented.threshold_sweep(study, "bm25", [1.5])
    chapter.budget_table(cases, settings, 123)
    chapter.numbers([study], chapter.wordings("", ["bm25"]))
    placebo_table(study.placebos["bm25"], **study.options)
    assert draws == {"resamples": {123}, "seeds": {11}}


def test_the_answer_tells_the_numbers_of_its_table(study):
    told = report.answer(study, "bm25")
    types = report.type_table(study)
    numbers = study.numbers()["bm25"]
    for row in types[types["system"] == "bm25"].to_dict("records"):
        bounds = bounds_text(row["excess low"], row["excess high"], "+z.3f")
        assert f"{row['excess']:+z.3f} {bounds}" in told
        number = numbers[f"footrule {row['fact type']} over placebo"]
        assert number["ci"] == [row["excess low"], row["excess high"]]
    assert estimate_text(study.evaluated("bm25")["auroc"]) in told


def test_fewer_than_six_cases_have_no_interval():
    cases = planted_collection(1, 2, 4)  # four cases, one of each area
    study = chapter.run(cases, ["bm25"], TreeSettings(1, 4, placebo_draws=1))
    types = report.type_table(study)
    assert types["excess"].notna().any()
    assert types[["excess low", "excess high"]].isna().all(axis=None)
    used = types[types["excess"].notna()]
    assert set(used["reason"]) == {"fewer_than_six_clusters"}
    found = study.evaluated("bm25", threshold=0.1)
    for name in ("auroc", "balanced_accuracy", "dispositive"):
        assert found[name]["value"] is not None
        assert found[name]["ci"] == [None, None], name
        assert found[name]["reason"] == "fewer_than_six_clusters"
    assert "[no interval]" in report.answer(study, "bm25")


def test_a_collection_without_inert_words_has_a_chapter_that_says_so():
    cases = planted_collection(2, 2, 4)
    names = {word for kind in Inert().kinds for word in kind}
    texts = [
        " ".join(word for word in text.split() if word.strip(".,") not in names) for text in cases.documents["text"]
    ]
    bare = replace(cases, documents=cases.documents.assign(text=texts))
    study = chapter.run(bare, ["bm25"], TreeSettings(1, 4, placebo_draws=1))
    told = report.answer(study, "bm25")
    assert told.count(f"excess undefined, {VACUOUS}") == 4
    assert "exceed the documented threshold" not in told
    types = report.type_table(study)
    assert types["sensitivity"].notna().any() and types["placebo"].isna().all()
    retrievers = report.retriever_table(study).set_index("system")
    assert np.isnan(retrievers.loc["bm25", "AUROC of excess"])
    for figure in (
        plots.against_placebo(types, "footrule"),
        plots.case_matrix(study.scores("bm25"), "excess"),
        plots.displacements(study.edges["bm25"], study.placebos["bm25"], "displacement", (1.0,)),
    ):
        plt.close(figure)
    bands = documented.displacement_bands(study, "bm25")
    assert set(bands["n placebos"]) == {0}
    assert bands["share of placebos"].isna().all()
    kinds = documented.kind_table(study, "bm25").set_index("kind")
    assert kinds.loc["placebo", "n"] == 0
    assert placebo_table(study.placebos["bm25"], **study.options)["n"].tolist() == [0]
    items = drill_down(study, bare.precedents)["items"]
    assert items and all(item["placebo"] is None for item in items)
    numbers = study.numbers()["bm25"]["footrule Section over placebo"]
    assert numbers["value"] is None and numbers["reason"] == VACUOUS
