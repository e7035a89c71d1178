"""Fact types and acts of the user's own: read, found, edited and measured like the library's."""

import itertools
import json
import re

import numpy as np
import pytest
import yaml
from refusals import not_refused

from casebook import Explainer, extract_sheet
from casebook.data.folders import load_beir
from casebook.errors import InputError
from casebook.paths import ROOT
from casebook.sensitivity import citations, facts
from casebook.sensitivity.cases import extracted_collection, user_collection
from casebook.sensitivity.domain import SHIPPED_DOMAIN, read_domain
from casebook.sensitivity.edits import single_fact_edits
from casebook.sensitivity.evaluation import sensitivity
from casebook.sensitivity.extract import extract_with_model
from casebook.sensitivity.plausibility import ACCEPT, REJECT, rules
from casebook.sensitivity.study import run_sensitivity_study
from casebook.sensitivity.tree import TreeSettings

PAGE = (ROOT / "book/methods/counterfactual_sensitivity.md").read_text(encoding="utf-8")
HULL = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]
TEXT = (
    "The insured owned the Liberian carrier Aster and claimed for a constructive total loss. She "
    "had given 14 days' notice under s. 39 of the Marine Insurance Act and relied on M.I.A. 33. "
    "She did not fly the flag of Panama. The claim was for $500,000."
)


@pytest.fixture(scope="module")
def hull(tmp_path_factory):
    path = tmp_path_factory.mktemp("hull") / "hull.yml"
    path.write_text(HULL, encoding="utf-8")
    return read_domain(path)


def read(folder, text):
    path = folder / "mine.yml"
    if not isinstance(text, str):
        text = yaml.safe_dump(json.loads(json.dumps(text)))  # without anchors
    path.write_text(text, encoding="utf-8")
    return read_domain(path)


def values_of(sheet):
    return [(fact.fact_type, fact.value) for fact in sheet.further_facts]


# ---- the file


def test_without_a_file_the_tables_are_the_librarys(hull):
    assert read_domain(None) is SHIPPED_DOMAIN and SHIPPED_DOMAIN.fact_types == facts.FACT_TYPES
    assert SHIPPED_DOMAIN.account() is None
    assert hull.fact_types == (*facts.FACT_TYPES, "vessel flag", "loss", "notice period")
    assert set(hull.acts) == {*SHIPPED_DOMAIN.acts, "MIA"} and hull.notes == ()
    assert hull.structure["IPC-"] == SHIPPED_DOMAIN.structure["IPC-"]


FLAG = {"name": "flag", "values": {"Malta": "Malta", "Panama": ["Panama"]}}
PERIOD = {"name": "period", "pattern": r"(?P<value>\d+) days"}
ACT = {"code": "MIA", "titles": ["Marine Insurance Act"]}


WRONG = [
    ("", "give the lists facts, acts or both"),
    ("- facts", "give the lists facts, acts or both"),
    ({"fact": [FLAG]}, "unknown key 'fact': the keys are facts, acts"),
    ({"facts": []}, "facts is no list of entries: begin each with '- name:'"),
    ({"facts": {"flag": {}}}, "facts is no list of entries"),
    ({"facts": ["flag"]}, "facts 1: is no mapping: begin it with 'name:'"),
    ({"facts": [{"values": {}}]}, r"facts 1: field name: Field required; the keys are name, "),
    ({"facts": [FLAG | {"colour": 1}]}, r"facts 1 \(flag\): field colour: Extra inputs"),
    ({"facts": [{"name": "flag"}]}, "give either values .words. or pattern"),
    ({"facts": [FLAG | {"pattern": "x"}]}, "give either values .words. or pattern"),
    ({"facts": [FLAG | {"values": {"Malta": "Malta"}}]}, "values: .*at least 2"),
    ({"facts": [FLAG | {"values": {"Malta": "(", "Panama": "P"}}]}, "'\\(' is no regular expr"),
    (
        {"facts": [FLAG | {"values": {"Malta": "x*", "P": "P"}}]},
        "'x\\*' matches the empty text",
    ),
    ({"facts": [FLAG | {"values": {"Malta": "", "P": "P"}}]}, "at least 1 character"),
    ({"facts": [FLAG | {"values": {"Malta": "(?i)m", "P": "P"}}]}, "forms of Malta do not go"),
    ({"facts": [FLAG | {"values": {"Malta": "M", "P": ["P", "M"]}}]}, "'M' tells Malta and P"),
    ({"facts": [FLAG | {"unit": "days"}]}, "unit is of a number"),
    ({"facts": [PERIOD | {"pattern": r"(\d+) days"}]}, r"needs the group \(\?P<value>"),
    ({"facts": [PERIOD | {"ordered": True}]}, "ordered already"),
    ({"facts": [PERIOD | {"least": 9, "most": 1}]}, "least is 9 and most 1: exchange them"),
    ({"facts": [PERIOD | {"alternatives": [0.5], "least": 1}]}, "0.5 is not between"),
    ({"facts": [PERIOD | {"most": float("nan")}]}, "finite number"),
    ({"facts": [FLAG, FLAG]}, r"facts 2 \(flag\): comes twice"),
    ({"facts": [FLAG, FLAG | {"name": "Flag"}]}, "the name is taken by flag"),
    ({"facts": [FLAG | {"name": "placebo"}]}, "the name is taken by Placebo"),
    ({"facts": [FLAG | {"name": "evidence"}]}, "the name is taken by Evidence"),
    ({"acts": [{"code": "MIA"}]}, r"acts 1 \(MIA\): field titles: Field required"),
    ({"acts": [ACT | {"code": "M I A"}]}, "field code"),
    ({"acts": [ACT | {"code": "Sec"}]}, "reads as a unit, not as an act"),
    ({"acts": [ACT | {"abbreviations": ["mia"]}]}, "field abbreviations.0"),
    ({"acts": [ACT | {"country": "GB"}]}, "'IN', 'SG' or 'elsewhere'"),
    ({"acts": [ACT | {"sections": ["41-33"]}]}, "'41-33' is no section: give 12, 12A or a"),
    ({"acts": [ACT | {"sections": ["1-9999"]}]}, "'1-9999' is no section"),
    ({"acts": [ACT | {"sections": ["1-5", 3]}]}, "section 3 stands twice"),
    ({"acts": [ACT, ACT | {"code": "MI"}]}, "'Marine Insurance Act' is a name of MIA too"),
    ("facts:\n- name: flag\n  name: loss\n", "twice|duplicate"),
]


def test_a_file_that_cannot_be_used_is_refused_by_file_and_entry(tmp_path):
    path = re.escape(str(tmp_path / "mine.yml"))
    bad = [(content, f"^{path}.*{problem}") for content, problem in WRONG]
    assert not_refused(lambda content: read(tmp_path, content), bad) == []


@pytest.mark.parametrize("form", [r"(?P<value>1)|(a+)+$", r"(?P<value>(\d|\d\d)+)!x"])
def test_a_pattern_that_does_not_end_is_refused(tmp_path, monkeypatch, form):
    monkeypatch.setattr("casebook.sensitivity.domain.SLOWEST_SEARCH", 0.2)
    with pytest.raises(InputError, match=r"period.*takes more than 0.2 s: avoid repetitions"):
        read(tmp_path, {"facts": [PERIOD | {"pattern": form}]})


def test_what_has_the_name_of_ours_replaces_it_and_a_note_says_so(tmp_path):
    survey = {"name": "Evidence", "values": {"survey": "survey(?:or)?", "log book": "log book"}}
    penal = ACT | {"code": "IPC", "titles": ["Insurance Policy Code"], "sections": ["1-9"]}
    domain = read(tmp_path, {"facts": [survey], "acts": [penal]})
    assert domain.fact_types == facts.FACT_TYPES
    assert domain.notes == (
        "mine.yml replaces the fact type Evidence",
        "mine.yml replaces the act IPC",
    )
    text = "A surveyor and an eyewitness were heard. Section 3 of the Insurance Policy Code."
    sheet = extract_sheet(text, domain=domain).sheet
    assert values_of(sheet) == [("Evidence", "survey")] and sheet.evidence_items == ()
    assert citations.neighbours("IPC-3", domain) == ("IPC-2", "IPC-4", "IPC-1", "IPC-5")
    edits = single_fact_edits(sheet, fact_types=["Evidence"], domain=domain)
    assert [edit.description for edit in edits] == ["Evidence: survey to log book"]
    with pytest.raises(InputError, match=r"Evidence: mine.yml replaces this type"):
        facts.from_dict(
            {"case_id": "x", "evidence_items": [{"evidence_type": "FIR"}]}, domain=domain
        )


# ---- found, written, edited


def test_facts_and_acts_are_found_with_their_place(hull):
    found = extract_sheet(TEXT, domain=hull)
    assert values_of(found.sheet) == [
        ("vessel flag", "Liberia"),  # and not Panama, which is negated
        ("loss", "constructive total loss"),
        ("notice period", 14),
    ]
    assert found.sheet.sections_cited == ("MIA-39", "MIA-33")
    assert found.sheet.numerical_facts.durations == ()  # 14 days are the notice period
    assert [amount.value for amount in found.sheet.numerical_facts.amounts] == [500_000]
    places = {span.field: TEXT[span.start : span.end] for span in found.spans}
    assert places["further_facts.0"] == "Liberian"
    assert places["further_facts.2"] == "14 days' notice"
    ours = extract_sheet(TEXT).sheet
    assert ours.further_facts == () and ours.numerical_facts.durations


def test_words_are_whole_and_scripts_without_blanks_are_read(tmp_path):
    flags = {"Malta": ["Malta", "马耳他"], "Panama": "Panama"}
    domain = read(tmp_path, {"facts": [FLAG | {"name": "船旗", "values": flags}]})
    sheet = extract_sheet("这艘船悬挂马耳他国旗。", domain=domain).sheet
    assert values_of(sheet) == [("船旗", "Malta")]
    assert values_of(extract_sheet("Maltases and Panamas.", domain=domain).sheet) == []


def test_chapters_may_have_numbers_and_edits_stay_within_them(tmp_path):
    domain = read(tmp_path, {"acts": [ACT | {"sections": {1: ["1-3"], 2: ["4-6"]}}]})
    assert citations.neighbours("MIA-3", domain) == ("MIA-2", "MIA-1")


def test_numbers_outside_the_bounds_are_left_out_and_counted(hull):
    found = extract_sheet("She gave 14 days' notice, they 900 days' notice.", domain=hull)
    assert values_of(found.sheet) == [("notice period", 14)]
    assert "1 numbers of 'notice period' are not between 1 and 365, and are left out" in found.notes


def test_numbers_are_read_as_the_rules_read_them_and_limits_of_a_statute_are_none(tmp_path):
    domain = read(tmp_path, {"facts": [PERIOD | {"pattern": r"(?P<value>[\w,]+(?: lakh)?) days"}]})
    for text, values in [
        ("The period was fourteen days.", [14]),
        ("The period was 1,000 days.", [1000]),
        ("The period was some days.", []),
        ("The period was not exceeding 30 days.", []),
    ]:
        assert [value for _, value in values_of(extract_sheet(text, domain=domain).sheet)] == values


def facts_of_a_case(record, domain):
    return facts.from_dict({"case_id": "x", **record}, domain=domain)


def test_a_sheet_is_read_and_written_the_same_and_checked_by_its_domain(hull):
    sheet = extract_sheet(TEXT, "aster", domain=hull).sheet
    assert facts.from_dict(json.loads(json.dumps(facts.to_dict(sheet))), domain=hull) == sheet
    query = facts.query_text(sheet)
    assert query.endswith(
        "vessel flag: Liberia. loss: constructive total loss. notice period: 14 days."
    )
    flag = {"fact_type": "vessel flag", "value": "Liberia"}
    one_fact = [
        (
            {"fact_type": "colour", "value": "red"},
            "0.fact_type: 'colour' is unknown: choose from v",
        ),
        ({"fact_type": "vessel flag", "value": "Peru"}, "'Peru': choose from Liberia, Panama, Mal"),
        ({"fact_type": "notice period", "value": 900}, "900: give a number from 1 to 365"),
        ({"fact_type": "notice period", "value": "14"}, "give a number from 1 to 365"),
        ({"fact_type": "notice period", "value": True}, "must be a number"),
        ({"fact_type": "notice period", "value": 7, "unit": "weeks"}, "is not that of the type"),
    ]
    bad = [({"further_facts": [fact]}, hull, problem) for fact, problem in one_fact]
    bad.append(({"further_facts": [flag, flag]}, hull, "'Liberia' stands twice"))
    bad.append(({"further_facts": [flag]}, SHIPPED_DOMAIN, "is unknown: choose from none"))
    assert not_refused(facts_of_a_case, bad) == []


def test_sheets_without_further_facts_keep_their_hash_and_form():
    sheet = facts.from_dict({"case_id": "x", "sections_cited": ["IPC-302"]})
    assert "further_facts" not in facts.to_dict(sheet)
    assert "further" not in facts.canonical_json(sheet)


def test_edits_exchange_one_value_along_an_order_or_for_every_other(hull):
    sheet = extract_sheet(TEXT, domain=hull).sheet
    edits = single_fact_edits(sheet, domain=hull, fact_types=list(hull.types))
    changes = {}
    for edit in edits:
        assert not edit.noop and edit.removed and edit.added
        changes.setdefault(edit.fact_type, []).append(edit.new)
    assert changes == {
        "vessel flag": ["Panama", "Malta"],
        "loss": ["partial loss", "actual total loss"],
        "notice period": ["7 days", "30 days", "90 days"],
    }
    end = facts.from_dict(
        {"case_id": "x", "further_facts": [{"fact_type": "loss", "value": "actual total loss"}]},
        domain=hull,
    )
    (edit,) = single_fact_edits(end, domain=hull)[-1:]
    assert edit.description == "loss: actual total loss to constructive total loss"


def test_numbers_without_alternatives_are_halved_and_doubled_within_bounds(tmp_path):
    domain = read(tmp_path, {"facts": [PERIOD | {"most": 20}]})
    record = {"case_id": "x", "further_facts": [{"fact_type": "period", "value": 9}]}
    edits = single_fact_edits(facts.from_dict(record, domain=domain), domain=domain)
    assert [edit.new for edit in edits if edit.fact_type == "period"] == ["4", "18"]


def test_the_rules_know_the_matter_and_the_sections_of_an_act_of_ones_own(hull):
    sheet = extract_sheet(TEXT, domain=hull).sheet
    edits = {
        edit.new: rules(sheet, edit, hull).outcome
        for edit in single_fact_edits(sheet, lambda section: ["MIA-40", "MIA-50"], domain=hull)
    }
    assert edits["MIA-40"] == ACCEPT and edits["MIA-50"] == REJECT
    assert edits["Confession"] == REJECT  # in a civil dispute
    assert edits["Panama"] == ACCEPT
    assert citations.neighbours_or_next("MIA-39", hull)[0] == "MIA-39A"


def test_explanations_tell_of_facts_of_ones_own(hull):
    sheet = extract_sheet("A Maltese ship.", domain=hull).sheet
    texts = {"a": "The owner of a Maltese tanker sued.", "b": "The rent was due."}
    explained = Explainer(texts, domain=hull).result(sheet, "a")
    assert explained.sentences[0].text == "Both tell of vessel flag Malta."
    assert explained.sentences[0].support[0].quote == "Maltese"


class Model:
    """Answers with facts, and keeps the schema that it was given."""

    name = "fake"

    def complete_json(self, prompt, schema):
        self.schema = schema.model_json_schema()
        return {"further_facts": [{"fact_type": "vessel flag", "value": "Liberia"}]}


def test_a_language_model_is_told_the_types_and_their_values(hull):
    model = Model()
    found = extract_with_model(TEXT, model, domain=hull)
    assert values_of(found.sheet) == [("vessel flag", "Liberia")] and found.method == "fake"
    (span,) = found.spans
    assert TEXT[span.start : span.end] == "Liberian"
    further = model.schema["$defs"]["FurtherFact"]["properties"]
    assert further["fact_type"]["enum"] == list(hull.types)
    assert '"Panama"' in further["value"]["description"]
    extract_with_model(TEXT, model)
    assert "further_facts" not in model.schema["properties"]


# ---- measured


def planted_hulls(folder, hull):
    """Write cases whose flag and notice period decide, as documents state them often."""
    flags = list(hull.types["vessel flag"].values)
    losses = list(hull.types["loss"].values)
    months = ("January", "February", "March", "April", "May", "June")
    counsel = ("Agarwal", "Banerjee", "Das", "Ghosh", "Iyer", "Kapoor")
    rng = np.random.default_rng(5)
    documents = folder / "documents"
    documents.mkdir()
    lines = list(itertools.product(flags, (7, 14, 30, 90), range(8)))
    for number, at in enumerate(rng.permutation(len(lines))):
        flag, days, _ = lines[at]
        text = f"vessel flag: {flag}. " * 7 + f"notice period: {days} days. " * 7
        text += f"loss: {rng.choice(losses)}. Sections cited: MIA-{rng.integers(33, 42)}. "
        text += f"Filed in {rng.choice(months)}, docket {2101 + rng.integers(6)}. "
        text += f"Counsel: {rng.choice(counsel)}."
        (documents / f"d{number:03d}.txt").write_text(text, encoding="utf-8")
    records = []
    for number, (flag, days) in enumerate(itertools.product(flags, (7, 30))):
        values = {"vessel flag": flag, "notice period": days, "loss": losses[number % 3]}
        record = {
            "case_id": f"case-{number}",
            "sections_cited": [f"MIA-{34 + number}"],
            "further_facts": [{"fact_type": kind, "value": v} for kind, v in values.items()],
            "dispositive_facts": ["vessel flag", "notice period"],
            "non_dispositive_facts": ["loss", "Section"],
        }
        records.append(json.dumps(record))
    cases = folder / "cases.jsonl"
    cases.write_text("\n".join(records), encoding="utf-8")
    return cases, documents


def test_planted_facts_of_ones_own_are_edited_measured_and_told_apart(hull, tmp_path):
    cases, documents = planted_hulls(tmp_path, hull)
    collection = user_collection(cases, documents, hull)
    assert collection.account["pairs"] == 24 and collection.account["untestable_types"] == 0
    study = run_sensitivity_study(
        collection, ["bm25"], TreeSettings(1, None), n_resamples=200, chunking=False
    )
    table = study.sensitivity("bm25").set_index("fact type")
    assert list(table.index) == list(hull.fact_types)
    assert table.loc["vessel flag", "edges"] == 12 and table.loc["vessel flag", "cases"] == 6
    for decisive in ("vessel flag", "notice period"):
        for other in ("loss", "Section"):
            assert table.loc[decisive, "excess"] > table.loc[other, "excess"] + 0.1
    assert table.loc["Evidence", "edges"] == 0  # nothing to remove, and additions are not plausible
    assert study.evaluated("bm25")["auroc"]["ci"][0] > 0.8
    # Our own aggregate of the same edges, type by type.
    edges = study.edges["bm25"]
    part = edges[(edges["fact_type"] == "vessel flag") & (edges["status"] == "ok")]
    assert table.loc["vessel flag", "sensitivity"] == pytest.approx(
        part.groupby("case_id")["footrule"].mean().mean()
    )
    assert list(sensitivity(edges)["fact type"]) == list(facts.FACT_TYPES)


def test_questions_that_are_judgments_are_read_with_the_file(hull, tmp_path):
    corpus = [{"_id": f"d{n}", "text": f"Liberia, MIA 39, docket {n}"} for n in range(4)]
    corpus += [{"_id": f"e{n}", "text": "Malta and nothing else"} for n in range(4)]
    question = {"_id": "aster", "text": f"{TEXT} Liberia and docket 1."}
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text(json.dumps(question), encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text(
        "query-id\tcorpus-id\tscore\naster\td1\t1\n", encoding="utf-8"
    )
    dataset = load_beir(tmp_path)
    collection = extracted_collection(dataset, hull)
    assert collection.domain is hull
    assert ("vessel flag", "Liberia") in values_of(collection.sheets[0])
    assert collection.neighbours("MIA-39")[0] == "MIA-39A"


def test_the_commands_take_the_file_and_report_it(casebook, hull, tmp_path):
    _, documents = planted_hulls(tmp_path, hull)
    mine = tmp_path / "hull.yml"
    mine.write_text(HULL, encoding="utf-8")
    options = ("--facts", mine, "--mode", "bm25")
    judgment = tmp_path / "aster.txt"
    judgment.write_text(TEXT, encoding="utf-8")
    small = ("--depth", 1, "--placebos", 1)
    code, out, _ = casebook("sensitivity", "run", judgment, documents, *options, *small, "--json")
    report = json.loads(out)
    assert code == 0 and report["facts"]["sha256"] == hull.sha256
    assert report["nodes"][0]["sensitivity_scores"]["vessel flag"]["edges"] > 0
    before = mine.read_bytes()
    code, *_ = casebook("sensitivity", "run", judgment, documents, *options, "-o", mine)
    assert code == 1 and mine.read_bytes() == before
