"""Cases with annotations: which fact types decide them, and which matter most."""

from dataclasses import dataclass

from casebook import paths
from casebook.counterfactual.annotations import annotation_frame
from casebook.counterfactual.fact_checks import present_types
from casebook.counterfactual.fact_types import FACT_TYPES, FactSheet
from casebook.counterfactual.facts import from_dict
from casebook.datasets.jsonl import read_jsonl
from casebook.errors import InputError

SHIPPED = paths.DATA / "counterfactual" / "cases.jsonl"
SIDES = ("dispositive_facts", "non_dispositive_facts")
RANKING = "expert_importance_ranking"


@dataclass(frozen=True)
class Case:
    """One case: its sheet and what somebody said of its facts.

    Parameters
    ----------
    sheet : FactSheet
        Its ``case_id`` is the name of the case.
    dispositive, non_dispositive : tuple of str
        Fact types that decide the case and that do not; types may stand on neither.
    ranking : dict
        Fact type -> importance, 1 for the most important; may be empty.
    title, citation, facts, rationale, jurisdiction : str
        For the reader; empty if the file has none.
    """

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
        """Name the annotated types of which the sheet holds no fact to change.

        Evidence is never one: an item can be added.
        """
        here = {*present_types(self.sheet), "Evidence"}
        named = {*self.dispositive, *self.non_dispositive, *self.ranking}
        return tuple(name for name in FACT_TYPES if name in named - here)


@dataclass(frozen=True)
class CaseSet:
    """Annotated cases, and the names of those left out for want of annotations."""

    cases: tuple
    excluded: tuple

    def annotations(self):
        """Give the annotations in rows.

        Returns
        -------
        pandas.DataFrame
            As from `annotation_frame`.
        """
        return annotation_frame(case.record for case in self.cases)

    def account(self):
        """Count what was read.

        Returns
        -------
        dict of int
            Cases read, annotated, and excluded without annotations; annotated pairs of
            case and type; annotated types without a fact in the sheet.
        """
        pairs = sum(len(c.dispositive) + len(c.non_dispositive) for c in self.cases)
        return {
            "read": len(self.cases) + len(self.excluded),
            "annotated": len(self.cases),
            "excluded_without_annotations": len(self.excluded),
            "pairs": pairs,
            "untestable_types": sum(len(case.untestable) for case in self.cases),
        }


def read_cases(path=SHIPPED, documented=False):
    """Read annotated cases.

    Parameters
    ----------
    path : path-like
        JSON lines with ``case_id``, ``fact_sheet``, ``dispositive_facts``,
        ``non_dispositive_facts`` and, optionally, ``expert_importance_ranking``,
        ``title``, ``citation``, ``facts``, ``rationale`` and ``jurisdiction``; by
        default the set that the project ships.
    documented : bool, default False
        Read fact sheets as the documented system does (see `from_dict`).

    Returns
    -------
    CaseSet
        Cases in the order of the file; those without any annotation are named apart.

    Raises
    ------
    InputError
        If a fact type is unknown or stands on both sides, a rank is no positive number,
        a sheet is wrong, or a case comes twice; names file and line.
    """
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
    told = {
        name: str(record.get(name) or "")
        for name in ("title", "citation", "facts", "rationale", "jurisdiction")
    }
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
