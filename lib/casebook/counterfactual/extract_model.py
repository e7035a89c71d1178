"""Fact sheets by a language model, held to the schema and to the text."""

import json
from dataclasses import replace

from casebook.counterfactual.citations import find_citations
from casebook.counterfactual.extraction import Extraction, FactSpan, extract_sheet
from casebook.counterfactual.fact_keys import fact_at, fact_fields, fact_key
from casebook.counterfactual.fact_types import EVIDENCE_TYPES
from casebook.counterfactual.facts import from_dict, sheet_schema
from casebook.errors import InputError

ATTEMPTS = 2
_PROMPT = """Read the judgment below and write down the facts of the case as a fact
sheet. Use only what the text says. Leave out limits that a statute sets, dates and
docket numbers. Copy the words that name an item of evidence into its description.
Cite sections as in IPC-302, Constitution-Article-21, CPC-Order-7-Rule-11, PDPA-13.
Leave lists empty, and types Unknown, where the text says nothing.
{again}
Judgment:
{text}
"""


def extract_with_model(text, model, case_id="case", country=None):
    """Extract a fact sheet with a language model, and with the rules if that fails."""
    by_rules = extract_sheet(text, case_id, country)
    start, end = by_rules.region
    name = getattr(model, "name", "") or type(model).__name__
    again, notes = "", []
    for attempt in range(1, ATTEMPTS + 1):
        prompt = _PROMPT.format(text=text[start:end], again=again)
        try:
            answer = model.complete_json(prompt, _schema())
        except InputError as problem:  # the model has tried again by itself
            notes.append(f"attempt {attempt}: {problem}")
            break
        try:
            sheet = from_dict({**answer, "case_id": case_id}, name, empty=True)
        except (InputError, TypeError) as problem:
            notes.append(f"attempt {attempt}: {problem}")
            again = f"The last answer was refused: {problem}\n"
        else:
            return _placed(sheet, text, by_rules, name, notes)
    notes.append(f"{name} gave no usable fact sheet: the rules were used")
    return replace(by_rules, notes=(*by_rules.notes, *notes))


def _schema():
    """Give the sheet's schema for a model: no case id, evidence of the vocabulary."""
    schema = json.loads(json.dumps(sheet_schema()))
    del schema["properties"]["case_id"]
    schema["required"] = []
    evidence = schema["$defs"]["EvidenceItem"]["properties"]["evidence_type"]
    evidence["enum"] = list(EVIDENCE_TYPES)
    return schema


def _placed(sheet, text, by_rules, name, notes):
    """Give the model's sheet with the spans of those facts that the text shows."""
    start, end = by_rules.region
    known = {fact_key(by_rules.sheet, span.field): span for span in by_rules.spans}
    part = text[start:end]
    for one in find_citations(part):
        place = FactSpan("", start + one.start, start + one.end)
        known.setdefault(("Section", one.id), place)
    spans, missing = [], 0
    for field in fact_fields(sheet):
        span = known.get(fact_key(sheet, field)) or _quoted(sheet, field, part, start)
        if span is None:
            missing += 1
        else:
            spans.append(replace(span, field=field))
    if missing:
        notes.append(f"{missing} facts of {name} were not found in the text")
    region = by_rules.region
    return Extraction(sheet, tuple(spans), region, name, tuple(notes))


def _quoted(sheet, field, part, offset):
    """Find the words that a model copied for an item of evidence."""
    if not field.startswith("evidence_items"):
        return None
    words = fact_at(sheet, field).description
    at = part.casefold().find(words.casefold()) if words else -1
    return FactSpan(field, offset + at, offset + at + len(words)) if at >= 0 else None
