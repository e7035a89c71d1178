"""Cases with annotations: which fact types decide them, and which matter most."""

from dataclasses import dataclass

from casebook import paths
from casebook.counterfactual.annotations import annotation_frame
from casebook.counterfactual.fact_checks import present_types
from casebook.counterfactual.fact_types import FACT_TYPES, FactSheet
from casebook.counterfactual.facts import from_dict
from casebook.errors import InputError
from casebook.readers import read_jsonl

SHIPPED = paths.DATA / "counterfactual" / "cases.jsonl"
SIDES = ("dispositive_facts", "non_dispositive_facts")
RANKING = "expert_importance_ranking"


@dataclass(frozen=True)
class Case:
    """One case: its sheet and what somebody said of its facts."""

    sheet: FactSheet
    dispositive: tuple
    non_dispositive: tuple
    ranking: dict
    title: str = ""
    citation: str = ""
    facts: str = ""
    rationale: str = ""
    jurisdiction: str = ""

    @property
    def record(self):
        """Give the annotations as `annotation_frame` takes them."""
        values = (self.dispositive, self.non_dispositive, self.ranking)
        names = (*SIDES, RANKING)
        return {"case_id": self.sheet.case_id, **dict(zip(names, values, strict=True))}

    @property
    def untestable(self):
        """Name the annotated types of which the sheet holds no fact to change."""
        here = {*present_types(self.sheet), "Evidence"}
        named = {*self.dispositive, *self.non_dispositive, *self.ranking}
        return tuple(name for name in FACT_TYPES if name in named - here)


@dataclass(frozen=True)
class CaseSet:
    """Annotated cases, and the names of those left out for want of annotations."""

    cases: tuple
    excluded: tuple

    def annotations(self):
        """Give the annotations in rows."""
        return annotation_frame(case.record for case in self.cases)

    def account(self):
        """Count what was read."""
        pairs = sum(len(c.dispositive) + len(c.non_dispositive) for c in self.cases)
        return {
            "read": len(self.cases) + len(self.excluded),
            "annotated": len(self.cases),
            "excluded_without_annotations": len(self.excluded),
            "pairs": pairs,
            "untestable_types": sum(len(case.untestable) for case in self.cases),
        }


def read_cases(path=SHIPPED, documented=False):
    """Read annotated cases."""
    cases, excluded, seen = [], [], set()
    for number, record in read_jsonl(path, {"case_id": str, "fact_sheet": dict}):
        case = _case(path, number, record, documented)
        name = case.sheet.case_id
        if name in seen:
            raise InputError.at(path, number, f"case {name!r} comes twice")
        seen.add(name)
        if case.dispositive or case.non_dispositive or case.ranking:
            cases.append(case)
        else:
            excluded.append(name)
    if not seen:
        raise InputError(f"{path}: holds no cases")
    return CaseSet(tuple(cases), tuple(excluded))


def _case(path, number, record, documented):
    where = f"{path}:{number}"
    sheet = {"case_id": record["case_id"], **record["fact_sheet"]}
    sides = [_types(path, number, record, name) for name in SIDES]
    told = {name: str(record.get(name) or "") for name in ("title", "citation", "facts", "rationale", "jurisdiction")}
    ranking = _ranking(path, number, record)
    case = Case(from_dict(sheet, where, documented), *sides, ranking, **told)
    try:
        annotation_frame([case.record])
    except InputError as error:
        raise InputError.at(path, number, str(error)) from error
    return case


def _types(path, number, record, name):
    """Give the fact types of one side; each stands once."""
    types = record.get(name) or []
    if not isinstance(types, list) or not all(isinstance(t, str) for t in types):
        raise InputError.at(path, number, f"field {name!r} is not a list of fact types")
    if len(set(types)) < len(types):
        raise InputError.at(path, number, f"field {name!r} names a fact type twice")
    return tuple(types)


def _ranking(path, number, record):
    ranking = record.get(RANKING) or {}
    if not isinstance(ranking, dict):
        raise InputError.at(path, number, f"field {RANKING!r} is not an object")
    for fact_type, rank in ranking.items():
        wrong = isinstance(rank, bool) or not isinstance(rank, int | float)
        if wrong or not 1 <= rank <= len(FACT_TYPES):
            problem = f"field {RANKING!r}: rank {rank!r} of {fact_type} is not 1 to 4"
            raise InputError.at(path, number, problem)
    return ranking
