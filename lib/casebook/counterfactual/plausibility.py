"""Whether an edited case could exist: accept, reject, or undetermined."""

import itertools

import pandas as pd

from casebook import paths
from casebook.counterfactual.cases import read_cases
from casebook.counterfactual.edits import edit_fact
from casebook.counterfactual.extraction_gold import read_gold
from casebook.counterfactual.facts import FACT_TYPES, query_text, sheet_hash
from casebook.counterfactual.plausibility_rules import ACCEPT, OUTCOMES, REJECT, UNDETERMINED, Decision, rules
from casebook.errors import CasebookError, InputError
from casebook.inference.clustered_shares import clustered_wilson
from casebook.inference.intervals import bounded
from casebook.inference.proportions import wilson
from casebook.readers import read_jsonl

__all__ = [
    "ACCEPT",
    "OUTCOMES",
    "REJECT",
    "UNDETERMINED",
    "Decision",
    "ModelValidator",
    "accept_rates",
    "labelled_edits",
    "rules",
    "validator_table",
]
LABELLED = paths.DATA / "counterfactual" / "edits.jsonl"
SCHEMA = {
    "type": "object",
    "properties": {"plausible": {"type": "boolean"}, "changes_operative_fact": {"type": "boolean"}},
    "required": ["plausible", "changes_operative_fact"],
    "additionalProperties": False,
}
QUESTIONS = """A hypothetical case was made by changing one fact of a real one.

Facts of the real case: {before}
Change: {change}
Facts of the hypothetical case: {after}

plausible: could the hypothetical case come before a court, without contradiction?
changes_operative_fact: can a court's decision depend on the changed fact?"""


class ModelValidator:
    """Judge edits by two yes-no questions to a language model."""

    def __init__(self, model, documented=False):
        self._model, self._documented = model, documented
        self._known, self.failures = {}, {}

    def __call__(self, before, edit):
        """Judge one edit; see `rules` for arguments and result."""
        key = (edit.fact_type, edit.old, edit.new)
        if not self._documented:
            key = (*key, edit.item, sheet_hash(before))
        if key not in self._known:
            self._known[key] = self._ask(before, edit)
        return self._known[key]

    def _ask(self, before, edit):
        prompt = QUESTIONS.format(
            before=query_text(before, caps=False), change=edit.description, after=query_text(edit.sheet, caps=False)
        )
        try:
            answer = self._model.complete_json(prompt, SCHEMA)
            found = [answer[name] for name in SCHEMA["required"]]
        except (CasebookError, KeyError, TypeError, ValueError, OSError) as error:
            return self._failed(getattr(error, "cause", None) or "nonsense")
        if self._documented:
            return _both([bool(value) for value in found])
        if not all(isinstance(value, bool) for value in found):
            return self._failed("nonsense")
        return _both(found)

    def _failed(self, cause):
        self.failures[cause] = self.failures.get(cause, 0) + 1
        outcome = ACCEPT if self._documented else UNDETERMINED
        return Decision(outcome, f"no answer: {cause}")


def _both(answers):
    if all(answers):
        return Decision(ACCEPT, "plausible and operative")
    return Decision(REJECT, "not operative" if answers[0] else "not plausible")


def accept_rates(decisions, level=0.95):
    """Give the share of accepted edits per fact type."""
    rows = []
    for name in (*FACT_TYPES, "all"):
        part = decisions if name == "all" else decisions[decisions["fact_type"] == name]
        count = {o: int((part["outcome"] == o).sum()) for o in OUTCOMES}
        decided = part[part["outcome"] != UNDETERMINED]
        rate = _share(decided, ACCEPT, level)
        open_ = _share(part, UNDETERMINED, level)
        rows.append(
            {
                "fact type": name,
                "n": len(part),
                "accepted": count[ACCEPT],
                "rejected": count[REJECT],
                "undetermined": count[UNDETERMINED],
                **bounded("rate", rate),
                **bounded("undetermined share", open_),
            }
        )
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(frame.columns[5:], float))


def _share(part, outcome, level):
    """Share of an outcome, with cases as clusters where they are known."""
    hits = part["outcome"] == outcome
    if "case_id" not in part:
        return wilson(int(hits.sum()), len(part), level)
    by = hits.groupby(part["case_id"])
    return clustered_wilson(by.sum().to_numpy(), by.size().to_numpy(), level)


def labelled_edits(path=LABELLED):
    """Read edits that a person called sensible or absurd."""
    sheets = {one.id: one.sheet for one in read_gold()}
    sheets |= {case.sheet.case_id: case.sheet for case in read_cases().cases}
    found = []
    for number, record in read_jsonl(path, {"sheet": str, "fact": str, "split": str}):
        if record["sheet"] not in sheets:
            raise InputError.at(path, number, f"no sheet {record['sheet']!r}")
        sheet = sheets[record["sheet"]]
        found.append((record, sheet, edit_fact(sheet, record["fact"], record["new"])))
    return found


def validator_table(validator=rules, edits=None):
    """Measure a validator on the labelled edits."""
    rows = [
        {
            "split": record["split"],
            "sheet": record["sheet"],
            "sensible": record["sensible"],
            "outcome": validator(sheet, edit).outcome,
        }
        for record, sheet, edit in edits or labelled_edits()
    ]
    frame, table = pd.DataFrame(rows), []
    for split, label in itertools.product(("dev", "heldout"), (True, False)):
        part = frame[(frame["split"] == split) & (frame["sensible"] == label)]
        right = (part["outcome"] == (ACCEPT if label else REJECT)).groupby(part["sheet"])
        share = clustered_wilson(right.sum().to_numpy(), right.size().to_numpy())
        table.append(
            {
                "edits": split,
                "measure": "sensible accepted" if label else "absurd rejected",
                **bounded("share", share),
                "n": len(part),
                "sheets": right.ngroups,
                "undetermined": int((part["outcome"] == UNDETERMINED).sum()),
                "accepting all": float(label),
            }
        )
    return pd.DataFrame(table)
