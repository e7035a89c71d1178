from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest
from annotated_texts import labelled_edits
from statsmodels.stats.proportion import proportion_confint

from casebook.errors import InputError
from casebook.readers import read_yaml
from casebook.sensitivity.edits import edit_fact, single_fact_edits
from casebook.sensitivity.facts import from_dict
from casebook.sensitivity.plausibility import (
    ACCEPT,
    REJECT,
    UNDETERMINED,
    ModelValidator,
    accept_rates,
    rules,
)

EXAMPLES = read_yaml(Path(__file__).with_name("examples.yml"))


def sheet(sections=(), **more):
    return from_dict({"case_id": "x", "sections_cited": list(sections), **more}, empty=True)


def added(before, name):
    return next(edit for edit in single_fact_edits(before) if edit.new == name)


def test_rules_on_added_evidence():
    rows = []
    for sections, name, _ in EXAMPLES["added_evidence"]:
        before = sheet(sections)
        rows.append([sections, name, rules(before, added(before, name)).outcome])
    assert rows == EXAMPLES["added_evidence"]


def both(plausible, operative):
    return {"plausible": plausible, "changes_operative_fact": operative}


ANSWERS = [
    (both(True, True), ACCEPT),
    (both(True, False), REJECT),
    (both(False, True), REJECT),
    (both("false", True), UNDETERMINED),
    ({"plausible": True}, UNDETERMINED),
    ([], UNDETERMINED),
    (InputError("down"), UNDETERMINED),
    (OSError("down"), UNDETERMINED),
]


def test_no_answer_is_undetermined():
    before = sheet(["IPC-302"])
    edit = added(before, "Confession")
    for answer, outcome in ANSWERS:
        judge = ModelValidator(Mock(complete_json=Mock(side_effect=[answer])))
        assert judge(before, edit).outcome == outcome
        assert sum(judge.failures.values()) == int(outcome == UNDETERMINED)
    assert judge.failures == {"down": 1}


def test_the_rules_separate_absurd_from_sensible_edits_that_they_were_not_chosen_on():
    rows = []
    for record, before, edit in labelled_edits():
        expected = ACCEPT if record["sensible"] else REJECT
        is_right = rules(before, edit).outcome == expected
        rows.append((record["split"], record["sensible"], is_right))
    table = pd.DataFrame(rows, columns=["split", "sensible", "right"])
    right = table.groupby(["split", "sensible"])["right"]
    assert right.sum().loc["heldout"].tolist() == [48, 80]
    assert right.size().loc["heldout"].tolist() == [52, 80]
    assert (right.size() - right.sum()).loc["dev"].tolist() == [2, 0]


def test_ten_edits_of_a_case_with_one_outcome_count_once():
    """Twenty cases, of which fifteen are accepted: statsmodels' interval of 15 of 20, not of
    150 of 200."""
    edits = [
        {"case_id": case, "fact_type": "Evidence", "outcome": ACCEPT if case < 15 else REJECT}
        for case in range(20)
        for _ in range(10)
    ]
    row = accept_rates(pd.DataFrame(edits)).set_index("fact type").loc["all"]
    assert row[["n", ACCEPT, REJECT]].tolist() == [200, 150, 50]
    expected = proportion_confint(15, 20, method="wilson")
    assert row[["rate low", "rate high"]].tolist() == pytest.approx(expected, abs=0.007)


def test_rules_on_sections_and_parties():
    parties = {"petitioner_type": "Individual", "respondent_type": "State"}
    rows = []
    for sections, item, new, _ in EXAMPLES["exchanged"]:
        before = sheet(sections, parties=parties)
        outcome = rules(before, edit_fact(before, item, new)).outcome
        rows.append([sections, item, new, outcome])
    assert rows == EXAMPLES["exchanged"]


def test_nobody_works_below_fourteen_and_no_minor_is_of_age():
    ages = {"ages": [{"value": 40, "descriptor": "petitioner"}]}
    before = sheet(parties={"petitioner_type": "Employee"}, numerical_facts=ages)
    outcomes = [rules(before, edit_fact(before, "ages/0", age)).outcome for age in (13.0, 14.0)]
    assert outcomes == [REJECT, ACCEPT]
    accused = {"ages": [{"value": 40, "descriptor": "accused"}]}
    before = sheet(parties={"petitioner_type": "State"}, numerical_facts=accused)
    assert rules(before, edit_fact(before, "parties/respondent", "Minor")).outcome == REJECT
