"""What is measured of answers: SQuAD's scores, and logs of two kinds whose truth is known."""

import json
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.assistant.gate import gate_logs
from casebook.assistant.items import answer_items
from casebook.assistant.log import read_log
from casebook.assistant.study import (
    abstains,
    demonstration,
    foreign_contrasts,
    levels,
    pair_contrasts,
    planted_defects,
    score_answers,
    shipped_log,
    squad_text,
    token_f1,
    weakest_defect,
)
from casebook.errors import InputError
from casebook.verdicts import NO_DIFFERENCE

WORDS = st.lists(
    st.sampled_from(
        ("a", "an", "the", "The", "landlord's", "May", "may,", "not", "30", "days.", "(")
    ),
    max_size=8,
)

# Two kinds of material: question, context that the retrieval found, reference.
RECIPES = [
    (
        "How long does the sponge bake?",
        "Bake the sponge for 25 minutes at 180 degrees.",
        "For 25 minutes.",
    ),
    (
        "What is whisked for meringue?",
        "Whisk four egg whites until stiff, then add sugar.",
        "Four egg whites.",
    ),
    (
        "When is pastry rolled out?",
        "Rest pastry one hour in the refrigerator before rolling.",
        "After an hour.",
    ),
    (
        "How is rice rinsed?",
        "Rinse rice in cold water until nothing clouds, then drain.",
        "In cold water.",
    ),
    (
        "What thickens the gravy?",
        "Stir 30 g of flour into melted butter to thicken gravy.",
        "Flour in butter.",
    ),
    (
        "Which beans need soaking?",
        "Kidney beans soak overnight and boil hard 10 minutes.",
        "Kidney beans.",
    ),
    (
        "Where does dough rise?",
        "Leave dough covered near a warm oven for 90 minutes.",
        "Near an oven.",
    ),
    (
        "What goes on the salad?",
        "Dress the salad with lemon, olive oil and 2 g of salt.",
        "Lemon, oil and salt.",
    ),
]
DECISIONS = [
    (
        "Was the lease valid?",
        "The court held that the lease was void under section 11 of the Act.",
        "No, void.",
    ),
    (
        "Who bears the costs?",
        "Costs shall be paid by the respondent within 28 days.",
        "The respondent.",
    ),
    ("Was notice given?", "Notice must be served personally; posting it was not enough.", "No."),
    (
        "Is the guarantor liable?",
        "A guarantor is discharged where the loan is varied without consent.",
        "No.",
    ),
    (
        "What damages were awarded?",
        "Damages of 12,000 were awarded for loss of amenity.",
        "12,000.",
    ),
    (
        "Did limitation bar the claim?",
        "Time ran from discovery in 2015, so the action is statute-barred.",
        "Yes.",
    ),
    (
        "Was the witness believed?",
        "His evidence was rejected because it contradicted the ledger.",
        "No.",
    ),
    (
        "May the appeal proceed?",
        "Leave to appeal is granted on the question of jurisdiction alone.",
        "In part.",
    ),
]


def log_of(path, material, answer, **systems):
    rows = []
    for system, make in {"good": answer, **systems}.items():
        for number, (question, contexts, reference) in enumerate(material):
            row = {
                "id": f"q{number}",
                "question": question,
                "answer": make(contexts, reference),
                "system": system,
            }
            rows.append(row | {"contexts": [contexts], "reference": reference})
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def copied(contexts, _):
    return contexts


@given(WORDS.map(" ".join), WORDS.map(" ".join))
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


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", True),
        ("I’m not sure; this appears outside the provided statute.", True),
        ("I don't know.", True),
        ("The deadline is not stated in the context.", True),
        ("There is not enough information to answer.", True),
        ("No. The tenant may not sublet.", False),
        ("The landlord cannot enter without notice.", False),
        ("Das weiß ich leider nicht.", True),
        ("Ich kann diese Frage anhand der Passagen nicht beantworten.", True),
        ("Nein, der Mieter darf die Wohnung nicht untervermieten.", False),
        ("Je ne sais pas.", True),
        ("Le contexte ne mentionne pas la caution.", True),
        ("Le locataire ne peut pas sous-louer.", False),
        ("No puedo responder a esta pregunta.", True),
        ("El texto no menciona la fianza.", True),
        ("El inquilino no puede subarrendar.", False),
        ("我不知道。", True),
        ("租客不得转租。", False),
    ],
)
def test_abstentions(answer, expected):
    assert abstains(answer) is expected


GOLD = "Template, gold clause quoted"
OPENING = "Template, first clause of BM25 quoted"
ABOUT = {"dataset": "kitchen", "n_resamples": 200}


@pytest.mark.parametrize("material", [RECIPES, DECISIONS], ids=["recipes", "decisions"])
def test_copied_contexts_are_grounded_and_foreign_ones_are_not(tmp_path, material):
    said = {"bad": lambda *_: "Ask someone else."}
    rows = score_answers(read_log(log_of(tmp_path / "log.jsonl", material, copied, **said)))
    means = levels(rows, ["faithfulness", "mentions"], **ABOUT).set_index(["system", "measure"])
    assert means.loc[("good", "faithfulness"), "value"] == 1
    assert means.loc[("good", "faithfulness"), "control"] < 0.2
    assert means.loc[("bad", "faithfulness"), "value"] == 0
    assert means.loc[("good", "mentions"), ["value", "control"]].tolist() == [1, 0]
    baselines = foreign_contrasts(rows, "good", ["faithfulness"], **ABOUT)
    assert baselines["against"].tolist() == ["contexts of other questions", "the question repeated"]
    assert baselines["baseline"][0] == pytest.approx(means.loc[("good", "faithfulness"), "control"])
    row = pair_contrasts(rows, ["faithfulness"], [("good", "bad")], **ABOUT).iloc[0]
    assert (row["difference"], row["verdict"], row["better"]) == (1.0, "better", 8)


def test_agreement_with_references_that_are_all_the_same(tmp_path):
    material = [(question, contexts, "The baker pays.") for question, contexts, _ in RECIPES]
    said = {"also": lambda *_: "baker pays", "other": lambda *_: "Nobody."}
    log = log_of(tmp_path / "log.jsonl", material, lambda _, reference: reference, **said)
    rows = score_answers(read_log(log))
    means = levels(rows, ["exact", "token F1"], **ABOUT).set_index(["measure", "system"])
    for measure in ("exact", "token F1"):
        found = means.loc[measure].loc[["good", "also", "other"], ["value", "control"]]
        assert found.to_numpy().tolist() == [[1, 1], [1, 1], [0, 0]]
    pairs = [("good", "also"), ("good", "other"), ("also", "other")]
    found = pair_contrasts(rows, ["token F1"], pairs, **ABOUT).set_index(["system", "against"])
    same = found.loc[("good", "also"), ["p", "p_adjusted", "verdict"]]
    assert same.tolist() == [1, 1, NO_DIFFERENCE]
    assert found.loc[("good", "other"), "p_adjusted"] == pytest.approx(3 * 2 / 2**8)


def test_planted_defects_are_found_at_known_rates(tmp_path):
    log = read_log(log_of(tmp_path / "log.jsonl", DECISIONS, copied))
    defects = planted_defects(log, "good", **ABOUT)
    own = dict.fromkeys(("answer swapped", "negation turned"), "share of grounded sentences")
    rates = defects.assign(defect=defects["measure"].str.rpartition(", ")[2])
    rates = rates.set_index(["defect", "system"])
    assert rates.loc[("answer swapped", own["answer swapped"]), "value"] == 1
    assert rates.loc[("number changed", "share of named facts found"), "value"] == 1
    blind = rates.loc[("negation turned", own["negation turned"])]
    assert (blind["value"], blind["verdict"]) == (0, "worse")  # a tie is not noticed
    assert blind["high"] > 0.2  # Wilson's: few copies prove little
    weakest = weakest_defect(defects).iloc[0]
    assert (weakest["system"], weakest["value"]) == (own["negation turned"], 0)
    assert planted_defects(log[:1], "good", **ABOUT).empty


def test_chinese_answers_are_read_by_character(tmp_path):
    """F30: verbatim copies had faithfulness 0."""
    context = "押金最多为五周租金。房东必须在三十天内保护押金。"
    rows = [
        {"question": "押金是多少？", "answer": context, "contexts": [context], "system": "copy"}
    ]
    rows.append(rows[0] | {"answer": "自行车停放在地下室，走廊必须保持畅通。", "system": "other"})
    path = tmp_path / "log.jsonl"
    path.write_text(
        "\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8"
    )
    assert score_answers(read_log(path))["faithfulness"].tolist() == [1, 0]
    assert token_f1("五周租金。", "最多五周租金") == pytest.approx(0.8)
    assert token_f1("五周租金", "three months") == 0


def test_answers_without_contexts_are_held_against_those_of_another_system(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [
        {"id": "q1", "question": "Who pays?", "answer": "The tenant pays.", "system": "base"},
        {
            "id": "q1",
            "question": "Who pays?",
            "answer": "x",
            "system": "rag",
            "contexts": ["The tenant pays."],
        },
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    scored = score_answers(read_log(path)).set_index("system")
    assert scored.loc["base", "closed"]
    assert scored.loc["base", "faithfulness"] == 1
    assert np.isnan(scored.loc["rag", "token F1"])


def test_abstentions_have_no_grounding(tmp_path):
    path = log_of(tmp_path / "log.jsonl", RECIPES, lambda *_: "I do not know.")
    rows = score_answers(read_log(path))
    assert rows["faithfulness"].isna().all()
    assert (rows["answered"] == 0).all()


def failed_log(path, failures=2):
    """A log in which the first questions have a reason instead of an answer."""
    log_of(path, RECIPES, copied)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows[:failures]:
        row |= {"answer": None, "no_answer": "endpoint:m: no answer within 60 s"}
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_what_failed_is_not_answered_and_not_a_wrong_answer(tmp_path):
    log = read_log(failed_log(tmp_path / "log.jsonl"))
    assert log.attrs["notes"] == ["not answered: 2 (2 × endpoint:m: no answer within 60 s)"]
    rows = score_answers(log)
    assert rows["answered"].tolist() == [0.0, 0.0] + [1.0] * 6
    for key in ("token F1", "exact", "faithfulness", "words"):
        assert rows[key].isna().tolist() == [True, True] + [False] * 6, key
    measures = ["token F1", "answered"]
    undefined = levels(rows, measures, **ABOUT).set_index("measure")["undefined"]
    assert undefined["token F1"] == 2 and undefined["answered"] == 0


def test_a_gate_does_not_pass_by_failing(tmp_path):
    old = log_of(tmp_path / "old.jsonl", RECIPES, copied)
    new = failed_log(tmp_path / "new.jsonl", 6)
    found = gate_logs(new, old)
    assert found["verdict"] == "fail"
    assert found["notes"] == ["new: not answered: 6 (6 × endpoint:m: no answer within 60 s)"]
    alone = gate_logs(new, old, ["token F1"])
    assert alone["verdict"] == "incomparable" and alone["notes"][-1].endswith("gate 'answered' too")
    assert gate_logs(new, old, ["token F1", "answered"])["verdict"] == "fail"
    assert gate_logs(new, old, ["token F1"], common=True)["rows"]["n"].tolist() == [2]


def test_published_answers(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    log, name = shipped_log("pdpabench")
    assert name == "pdpabench"
    assert log.groupby("system").size().tolist() == [52, 52, 52, 52]
    rows = score_answers(log)
    # The study's own record of its abstentions, and of recall at three.
    kept = rows[rows["system"] == "Qwen3, RAG"]
    assert kept["abstained"].sum() == 6
    pair = ("Qwen3, RAG", "Qwen3, no RAG")
    assert pair_contrasts(rows, ["token F1"], [pair], **ABOUT).iloc[0]["verdict"] == "better"


# --- the gate


def wrong(*_):
    return "Ask the baker."


def shaky(contexts, reference):
    return "No idea." if reference.startswith("Kidney") else contexts


@pytest.mark.parametrize(
    ("new", "measures", "verdict"),
    [
        (copied, None, "pass"),
        (wrong, None, "fail"),
        (wrong, ["answered"], "pass"),
        (shaky, ["token F1"], "undecided"),
    ],
)
def test_a_gate_passes_fails_and_doubts(tmp_path, new, measures, verdict):
    paths = [
        log_of(tmp_path / f"{name}.jsonl", RECIPES, make)
        for name, make in (("new", new), ("old", copied))
    ]
    assert gate_logs(*paths, measures)["verdict"] == verdict


def test_a_gate_refuses_what_is_not_the_same(tmp_path):
    old, new = (log_of(tmp_path / f"{n}.jsonl", RECIPES[:n], copied) for n in (8, 7))
    found = gate_logs(new, old)
    assert found["verdict"] == "incomparable" and "1 questions differ" in found["notes"][0]
    assert gate_logs(new, old, common=True)["verdict"] == "pass"
    for path in (old, new):
        path.write_text(path.read_text().replace('"answer"', '"system_answer"'))
    columns = {"answer": "system_answer"}
    assert gate_logs(new, old, common=True, columns=columns)["verdict"] == "pass"
    with pytest.raises(InputError, match="unknown measure 'bleu'"):
        gate_logs(new, old, ["bleu"])
    new.write_text('{"question": "A?", "answer": "B."}')
    with pytest.raises(InputError, match="neither contexts nor references nor a second system"):
        gate_logs(new, old)


def test_systems_are_paired_by_name_or_by_what_follows_the_last_comma(tmp_path):
    old = log_of(
        tmp_path / "old.jsonl", RECIPES, copied, **{"m, retrieval": copied, "m, none": wrong}
    )
    new = log_of(
        tmp_path / "new.jsonl", RECIPES, copied, **{"n, none": wrong, "n, retrieval": wrong}
    )
    for path in (old, new):
        path.write_text(
            "".join(line + "\n" for line in path.read_text().splitlines() if '"good"' not in line)
        )
    rows = gate_logs(new, old, ["token F1"])["rows"].set_index("system")
    assert rows["against"].to_dict() == {"n, none": "m, none", "n, retrieval": "m, retrieval"}
    assert rows["verdict"].to_dict() == {"n, none": "pass", "n, retrieval": "fail"}


def test_without_a_mirror_templates_stand_in(monkeypatch, require):
    require("consumer_contracts_qa")
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    log, name = shipped_log("pdpabench")
    assert name == "consumer_contracts_qa"
    assert log["system"].unique().tolist() == [GOLD, OPENING]
    assert all("Template" in system for system in log["system"].unique())
    assert (log.groupby("system")["id"].nunique() > 300).all()
    quoted = log[log["system"] == OPENING].iloc[0]
    assert quoted["answer"].split() == quoted["contexts"][0].split()[:60]
    assert "Each answer is a template" in demonstration(name) and demonstration("pdpabench") is None


def test_what_a_template_says_before_its_quotation_is_no_claim(require):
    """F1: q002 had .5 grounded sentences: the question that the template repeats was one of two."""
    require("consumer_contracts_qa")
    log, _ = shipped_log("consumer_contracts_qa")
    gold = log[log["system"] == GOLD]
    assert not gold["answer"].str.contains("It was found for").any()
    assert (score_answers(gold.head(60), foreign=0)["faithfulness"] == 1).all()


@pytest.fixture(scope="module")
def scored():
    log, _ = shipped_log("smoke")
    return log, score_answers(log)


def fields_of(page, item, system):
    row = item["cells"][page["systems"].index(system)]
    return dict(zip(page["columns"], row, strict=True))


def test_items_hold_each_answer_and_what_does_not_support_it(scored):
    log, rows = scored
    page = answer_items(log, rows, "token F1", "Retrieval", data="smoke")
    assert page["asked"] == len(page["items"]) == log["id"].nunique()
    assert page["systems"] == ["Retrieval", "No retrieval"] and page["withheld"] == []
    assert page["measures"][0] == "token F1"
    scores = rows.pivot_table("token F1", "id", "system")
    gap = scores.max(axis=1) - scores.min(axis=1)
    assert gap[[item["id"] for item in page["items"]]].is_monotonic_decreasing
    answers = log.set_index(["id", "system"])
    for item in page["items"]:
        answer = answers.loc[(item["id"], "Retrieval")]
        fields = fields_of(page, item, "Retrieval")
        assert item["text"] == answer["question"] and answer["answer"].startswith(
            fields["answer"][:300]
        )
        shown = [page["documents"][place][1].removesuffix("…") for place in fields["contexts"]]
        pairs = zip(shown, answer["contexts"], strict=True)
        assert all(" ".join(text.split()).startswith(opening) for opening, text in pairs)
    one = log[log["system"] == "Retrieval"]
    alone = answer_items(one, rows, "token F1", "Retrieval")
    assert alone["card"] is None and alone["systems"] == ["Retrieval"]


def test_items_repeat_no_text_that_the_licence_does_not_allow(scored):
    log, rows = scored
    source = {"data": "consumer_contracts_qa", "is_quotation": True}
    page = answer_items(log, rows, "token F1", "Retrieval", **source)
    assert page["withheld"] == ["documents"] and page["items"][0]["text"]
    assert not {"answer", "not grounded"} & set(page["columns"])
    written = json.dumps([page["documents"], *(item["cells"] for item in page["items"])])
    for answer, contexts in log[["answer", "contexts"]].itertuples(index=False):
        for text in (answer, *(contexts or ())):
            assert json.dumps(text[:60])[1:-1] not in written
