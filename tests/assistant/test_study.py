"""What is measured of answers: SQuAD's scores, and logs whose truth is known."""

import json
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.assistant.gate import gate_logs
from casebook.assistant.items import answer_items
from casebook.assistant.log import read_log
from casebook.assistant.published import shipped_log
from casebook.assistant.study import (
    abstains,
    explained_answers,
    foreign_contrasts,
    levels,
    pair_contrasts,
    score_answers,
    squad_text,
    token_f1,
)
from casebook.errors import InputError
from casebook.explain.defects import detection, explanation_copies, lower_scores
from casebook.verdicts import NO_DIFFERENCE

KINDS = ("a", "an", "the", "The", "landlord's", "May", "may,", "not", "30", "days.", "(")
WORDS = st.lists(st.sampled_from(KINDS), max_size=8).map(" ".join)
MATERIAL = """
How long does the sponge bake?|Bake the sponge for 25 minutes at 180 degrees.|For 25 minutes.
What is whisked for meringue?|Whisk four egg whites until stiff, then add sugar.|Four egg whites.
When is pastry rolled?|Rest pastry one hour in the refrigerator before rolling.|After an hour.
How is rice rinsed?|Rinse rice in cold water until nothing clouds, then drain.|In cold water.
What thickens the gravy?|Stir 30 g of flour into melted butter to thicken gravy.|Flour in butter.
Which beans need soaking?|Kidney beans soak overnight and boil hard 10 minutes.|Kidney beans.
Where does dough rise?|Leave dough covered near a warm oven for 90 minutes.|Near an oven.
What goes on the salad?|Dress the salad with lemon, olive oil and 2 g of salt.|Lemon, oil and salt.
"""
RECIPES = [line.split("|") for line in MATERIAL.strip().splitlines()]
GROUNDED = "share of grounded sentences"
FOREIGN = "contexts of other questions"
ABOUT = {"dataset": "kitchen", "n_resamples": 200}


def log_of(path, material=RECIPES, **systems):
    """Write a log; systems make their answers of the contexts and the reference."""
    rows = []
    for system, make in systems.items():
        for number, (question, contexts, reference) in enumerate(material):
            row = {"id": f"q{number}", "question": question, "system": system}
            row |= {"answer": make(contexts, reference), "contexts": [contexts]}
            rows.append(row | {"reference": reference})
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def copied(contexts, _):
    return contexts


def wrong(*_):
    return "Ask somebody else."


def shaky(contexts, reference):
    return "No idea." if reference.startswith("Kidney") else contexts


# --- single answers


@given(WORDS, WORDS)
def test_agreement_is_that_of_squad(answer, reference):
    """The definition of SQuAD's evaluation script, by precision and recall."""

    def words(text):
        kept = "".join(char for char in text.lower() if char not in string.punctuation)
        return [word for word in kept.split() if word not in ("a", "an", "the")]

    ours, theirs = words(answer), words(reference)
    same = sum(min(ours.count(word), theirs.count(word)) for word in set(ours))
    expected = float(ours == theirs)
    if same:
        precision, recall = same / len(ours), same / len(theirs)
        expected = 2 * precision * recall / (precision + recall)
    assert token_f1(answer, reference) == pytest.approx(expected)
    assert (squad_text(answer) == squad_text(reference)) == (ours == theirs)


ABSTENTIONS = [
    "",
    "I’m not sure; this appears outside the provided statute.",
    "The deadline is not stated in the context.",
    "There is not enough information to answer.",
    "Das weiß ich leider nicht.",
    "Le contexte ne mentionne pas la caution.",
    "No puedo responder a esta pregunta.",
    "我不知道。",
]
ANSWERS = [
    "No. The tenant may not sublet.",
    "The landlord cannot enter without notice.",
    "Nein, der Mieter darf die Wohnung nicht untervermieten.",
    "Le locataire ne peut pas sous-louer.",
    "El inquilino no puede subarrendar.",
    "租客不得转租。",
]


def test_abstentions():
    assert [text for text in ABSTENTIONS if not abstains(text)] == []
    assert [text for text in ANSWERS if abstains(text)] == []


def test_chinese_answers_are_read_by_character(tmp_path):
    context = "押金最多为五周租金。房东必须在三十天内保护押金。"
    other = "自行车停放在地下室，走廊必须保持畅通。"
    material = [("押金是多少？", context, None)]
    log = log_of(tmp_path / "log.jsonl", material, copy=copied, other=lambda *_: other)
    assert score_answers(read_log(log))["faithfulness"].tolist() == [1, 0]
    assert token_f1("五周租金。", "最多五周租金") == pytest.approx(0.8)
    assert token_f1("五周租金", "three months") == 0


# --- logs


def test_copied_contexts_are_grounded_and_foreign_ones_are_not(tmp_path):
    rows = score_answers(read_log(log_of(tmp_path / "log.jsonl", good=copied, bad=wrong)))
    means = levels(rows, ["faithfulness", "mentions"], **ABOUT).set_index(["system", "measure"])
    good = means.loc[("good", GROUNDED)]
    assert good["value"] == 1 and good["control"] < 0.2
    assert means.loc[("bad", GROUNDED), "value"] == 0
    assert means.loc[("good", "share of named facts found"), "value"] == 1
    baselines = foreign_contrasts(rows, "good", **ABOUT)
    assert baselines["against"].tolist() == [FOREIGN, "the question repeated"]
    assert baselines["baseline"][0] == pytest.approx(good["control"])
    row = pair_contrasts(rows, ["faithfulness"], [("good", "bad")], **ABOUT).iloc[0]
    assert (row["difference"], row["verdict"], row["better"]) == (1.0, "better", 8)


def test_agreement_with_references_that_are_all_the_same(tmp_path):
    """Pairs that were not planned are a family of their own."""
    material = [(question, contexts, "The baker pays.") for question, contexts, _ in RECIPES]
    said = {"good": lambda _, reference: reference, "also": lambda *_: "baker pays"}
    log = log_of(tmp_path / "log.jsonl", material, **said, other=lambda *_: "Nobody.")
    rows = score_answers(read_log(log))
    means = levels(rows, ["token F1"], **ABOUT)
    assert means[["value", "control"]].to_numpy().tolist() == [[1, 1], [1, 1], [0, 0]]
    planned = [("good", "also"), ("good", "other")]
    found = pair_contrasts(rows, ["token F1"], planned, **ABOUT).set_index(["system", "against"])
    same = found.loc[("good", "also"), ["p", "p_adjusted", "verdict"]]
    assert same.tolist() == [1, 1, NO_DIFFERENCE]
    assert found["family"].nunique() == 2 and found["comparisons"].tolist() == [2, 2, 1]
    assert found.loc[("good", "other"), "p_adjusted"] == pytest.approx(2 * 2 / 2**8)


def test_planted_defects_are_found_at_known_rates(tmp_path):
    log = read_log(log_of(tmp_path / "log.jsonl", good=copied))
    explained = explained_answers(log, "good", "kitchen")
    copies = explanation_copies(explained)
    shares = detection(lower_scores(explained, copies, n_resamples=200), copies)
    rates = shares.set_index(["part", "system"])["value"]
    assert rates["swapped source", "corrected faithfulness"] == 1
    assert rates["changed number", "mentions"] == 1


def test_answers_without_contexts_are_held_against_those_of_another_system(tmp_path):
    path = log_of(tmp_path / "log.jsonl", RECIPES[:2], base=copied, rag=wrong)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows[:2]:
        row["contexts"] = row["reference"] = None
    path.write_text("\n".join(map(json.dumps, rows)))
    scored = score_answers(read_log(path))
    assert scored["closed"].tolist() == [True, True, False, False]
    assert scored["faithfulness"].tolist() == [1, 1, 0, 0]
    assert np.isnan(scored["token F1"][0])


def failed_log(path, failures=2):
    """A log in which the first questions have a reason instead of an answer."""
    log_of(path, good=copied)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows[:failures]:
        row |= {"answer": None, "no_answer": "endpoint:m: no answer within 60 s"}
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_what_failed_or_abstained_is_not_a_wrong_answer(tmp_path):
    rows = score_answers(read_log(failed_log(tmp_path / "log.jsonl")))
    assert rows["answered"].tolist() == [0.0, 0.0] + [1.0] * 6
    for key in ("token F1", "faithfulness"):
        assert rows[key].isna().tolist() == [True, True] + [False] * 6, key
    assert levels(rows, ["token F1", "answered"], **ABOUT)["undefined"].tolist() == [2, 0]
    path = log_of(tmp_path / "shy.jsonl", shy=lambda *_: "I do not know.")
    rows = score_answers(read_log(path))
    assert rows["faithfulness"].isna().all() and rows["token F1"].notna().all()


def test_published_answers(mirror, monkeypatch):
    """The study's own record of its abstentions; without a mirror templates stand in."""
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    log, name = shipped_log("pdpabench")
    assert name == "pdpabench" and log.groupby("system").size().tolist() == [52] * 4
    rows = score_answers(log)
    assert rows.loc[rows["system"] == "Qwen3, RAG", "abstained"].sum() == 6
    pair = ("Qwen3, RAG", "Qwen3, no RAG")
    assert pair_contrasts(rows, ["token F1"], [pair], **ABOUT).iloc[0]["verdict"] == "better"
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR")
    assert shipped_log("pdpabench")[1] == "smoke"
    with pytest.raises(InputError, match="unknown dataset 'x'"):
        shipped_log("x")


# --- the gate


def test_a_gate_passes_fails_and_doubts(tmp_path):
    old = log_of(tmp_path / "old.jsonl", good=copied)
    for make, measures, verdict in [
        (copied, None, "pass"),
        (wrong, None, "fail"),
        (wrong, ["answered"], "pass"),
        (shaky, ["token F1"], "undecided"),
    ]:
        new = log_of(tmp_path / "new.jsonl", good=make)
        assert gate_logs(new, old, measures)["verdict"] == verdict
    found = gate_logs(failed_log(tmp_path / "new.jsonl", 6), old, ["token F1"])
    assert found["verdict"] == "fail"  # nothing passes by answering less
    assert found["rows"]["measure"].tolist() == ["answered", "token F1"]
    assert found["notes"] == ["new: not answered: 6 (6 × endpoint:m: no answer within 60 s)"]


def test_a_gate_refuses_what_is_not_the_same(tmp_path):
    old = log_of(tmp_path / "old.jsonl", good=copied)
    new = log_of(tmp_path / "new.jsonl", RECIPES[:7], good=copied)
    found = gate_logs(new, old)
    assert found["verdict"] == "incomparable" and "1 questions differ" in found["notes"][0]
    assert gate_logs(new, old, common=True)["verdict"] == "pass"
    with pytest.raises(InputError, match="unknown measure 'bleu'"):
        gate_logs(new, old, ["bleu"])


def test_systems_are_paired_by_name_or_by_what_follows_the_last_comma(tmp_path):
    old = log_of(tmp_path / "old.jsonl", **{"m, retrieval": copied, "m, none": wrong})
    new = log_of(tmp_path / "new.jsonl", **{"n, none": wrong, "n, retrieval": wrong, "k": wrong})
    gate = gate_logs(new, old, ["token F1"])
    assert gate["notes"] == ["system 'k' has no partner in the old log"]
    rows = gate["rows"].query("measure == 'token F1'").set_index("system")
    assert rows["against"].to_dict() == {"n, none": "m, none", "n, retrieval": "m, retrieval"}
    assert rows["verdict"].to_dict() == {"n, none": "pass", "n, retrieval": "fail"}


# --- items


def test_items_hold_each_answer():
    log, _ = shipped_log("smoke")
    rows = score_answers(log)
    page = answer_items(log, rows, ["token F1", "faithfulness"], "Retrieval", data="smoke")
    assert page["asked"] == len(page["items"]) == log["id"].nunique()
    assert page["systems"] == ["Retrieval", "No retrieval"] and page["withheld"] == []
    scores = rows.pivot_table("token F1", "id", "system")
    gap = scores.max(axis=1) - scores.min(axis=1)
    assert gap[[item["id"] for item in page["items"]]].is_monotonic_decreasing
    withheld = answer_items(log, rows, ["token F1"], "Retrieval", data="consumer_contracts_qa")
    assert withheld["withheld"] == ["documents"] and "contexts" not in withheld["columns"]
