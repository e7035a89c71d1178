"""Exports of potato, argilla and Label Studio, as judgements.

Layouts that were looked up: potato 1.2 (``annotated_instances``) and 2.12 (``user_state.json`` and
its exported tables), argilla 1.29 (``FeedbackDataset``) and 2.8 (``to_datasets``, ``to_json``),
Label Studio (JSON, JSON-MIN and CSV of label-studio-sdk 2.1).
"""

import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from casebook.errors import InputError
from casebook.readers import read_yaml
from casebook.sheets import cell_text

WORDS = read_yaml(Path(__file__).with_name("annotations.yml"))
MOST_NAMES = 5  # that a message lists

# Reasons why a judgement is no rating.
SKIPPED = "skipped"
DRAFT = "draft"
DISCARDED = "discarded"
BLANK = "blank"
SEVERAL = "several choices at once"
OTHER_KIND = "free text, ranking or region"
MODEL = "prediction of a model"


class Judgement(NamedTuple):
    """One rating by one rater of one item, where it stands, and why it is none if it is none."""

    path: Path
    row: int
    item: str
    rater: str
    criterion: str
    rating: str = ""
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Annotations:
    """What files of one layout hold: judgements, the fields of their items, and notes."""

    layout: str
    judgements: list
    fields: dict  # of each item
    notes: tuple = ()


def export_reader(records, names):
    """Find the reader of a tool's export by the names that its records have."""
    if "instance_id_to_label_to_value" in names:
        return _read_potato_states
    if "label_annotations" in names or {"instance_id", "user_id", "labels"} <= names.keys():
        return _read_potato_lines
    if "instance_id" in names and any(potato_label(name) for name in names):
        return _read_potato_table
    if "data" in names and ("annotations" in names or "completions" in names):
        return _read_label_studio
    if {"annotator", "annotation_id"} <= names.keys():
        return read_label_studio_rows
    if any(_holds_responses(record) for _, record in records):
        return _read_argilla
    return None


def label_text(value):
    """Give a rating or a name as text; a whole number has no decimal point."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and math.isnan(value):  # how parquet may say that there is none
        return ""
    return cell_text(value)


def listed(names):
    names = [str(name) for name in names]
    more = ", ..." if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


# --- potato

_VALUES = frozenset(WORDS["potato"]["values"])
_TICKED = frozenset(WORDS["potato"]["ticked"])
_TABLE_COLUMN = re.compile(r"(.+?)(?::::|\.)(.+)")


def potato_label(column):
    """Split the name of a column of potato's tables into schema and label; None of another."""
    match = _TABLE_COLUMN.fullmatch(column)
    if not match or match[1] == "span_annotation" or match[2].startswith("_"):
        return None
    return match[1], match[2]


def _read_potato_states(path, records, item_field):
    """Read ``user_state.json`` of potato 2: a file per rater, labels as pairs or objects."""
    _refuse_item_field(path, item_field, "potato")
    judgements = []
    for row, state in records:
        rater = label_text(state.get("user_id")) or path.resolve().parent.name
        for item, stored in _object(path, row, state, "instance_id_to_label_to_value").items():
            labels = stored
            if isinstance(stored, list):
                labels = defaultdict(dict)
                for label, value in stored:
                    labels[label_text(label["schema"])][label_text(label["name"])] = value
            judgements += _potato_judgements(path, row, item, rater, labels)
    return Annotations("potato", judgements, {})


def _read_potato_lines(path, records, item_field):
    """Read JSON lines of potato: of all raters, or of the one whose folder it is."""
    _refuse_item_field(path, item_field, "potato")
    judgements = []
    fields = {}
    for row, record in records:
        rater = label_text(record.get("user_id")) or path.resolve().parent.name
        item = label_text(record.get("instance_id", record.get("id")))
        name = "label_annotations" if "label_annotations" in record else "labels"
        labels = _object(path, row, record, name)
        judgements += _potato_judgements(path, row, item, rater, labels)
        fields.setdefault(item, {"displayed_text": record.get("displayed_text", "")})
    return Annotations("potato", judgements, fields)


def _read_potato_table(path, records, item_field):
    """Read CSV or TSV of potato: ``schema:::label`` of version 1, ``schema.label`` of version 2."""
    _refuse_item_field(path, item_field, "potato")
    judgements = []
    fields = {}
    for row, record in records:
        labels = defaultdict(dict)
        for column, cell in record.items():
            if schema_and_label := potato_label(column):
                schema, label = schema_and_label
                labels[schema][label] = cell
        for schema in labels.keys() & record.keys():  # version 2 resolves several choices there
            if record[schema]:
                labels[schema] = {record[schema]: "true"}
        rater = label_text(record.get("user_id") or record.get("user"))
        item = label_text(record["instance_id"])
        judgements += _potato_judgements(path, row, item, rater, labels)
        fields.setdefault(item, {"displayed_text": record.get("displayed_text", "")})
    return Annotations("potato", judgements, fields)


def _refuse_item_field(path, item_field, tool):
    if item_field:
        raise InputError(f"{path}: columns: item has no effect on an export of {tool}")


def _object(path, row, record, name):
    if not isinstance(record.get(name), dict):
        raise InputError.at(path, row, f"field {name!r} is not an object")
    return record[name]


def _potato_judgements(path, row, item, rater, labels):
    """Give the judgement of each schema; a schema that rates several options gives several."""
    if not rater or not item:
        raise InputError.at(path, row, "names no rater or no item")
    for schema, values in labels.items():
        answers = values if isinstance(values, dict) else {"value": values}
        filled = {label: label_text(value) for label, value in answers.items()}
        filled = {
            label: value
            for label, value in filled.items()
            if value and value.lower() != "false" and label != "free_response"
        }
        ticked = [
            label
            for label, value in filled.items()
            if value.lower() in _TICKED or value == label or label.startswith("scale_")
        ]
        if not filled:
            yield Judgement(path, row, item, rater, schema, reason=BLANK)
        elif len(filled) == 1:
            ((label, value),) = filled.items()
            rating = value if label in _VALUES else label.removeprefix("scale_")
            yield Judgement(path, row, item, rater, schema, rating)
        elif len(ticked) == len(filled):
            yield Judgement(path, row, item, rater, schema, reason=SEVERAL)
        else:
            for label, value in filled.items():
                yield Judgement(path, row, item, rater, f"{schema}, {label}", value)


# --- argilla

_RESPONSES = ".responses"
_STATUSES = {"draft": DRAFT, "pending": DRAFT, "discarded": DISCARDED}


def _responses_of(record):
    """Give the responses to each question of a record: lists of (user, value, status)."""
    responses = {}
    nested = record.get("responses")
    if isinstance(nested, dict) and "fields" in record:  # to_json of version 2
        for question, answers in nested.items():
            responses[question] = [(answer["user_id"], answer["value"], None) for answer in answers]
        return responses
    for name, value in record.items():
        question = name.removesuffix(_RESPONSES)
        if question != name:  # to_datasets of version 2
            users = record.get(f"{name}.users") or []
            statuses = record.get(f"{name}.status") or [None] * len(users)
            responses[question] = list(zip(users, value or [], statuses, strict=True))
        elif _is_response(value):  # lists, as some versions of datasets turn lists of objects
            columns = (value["user_id"], value["value"], value["status"])
            responses[name] = list(zip(*columns, strict=True))
        elif _are_responses(value):
            responses[name] = [
                (answer["user_id"], answer["value"], answer["status"]) for answer in value
            ]
    return responses


def _holds_responses(record):
    """Say whether a record has the responses of a question, in any of the three forms."""
    if isinstance(record.get("responses"), dict) and "fields" in record:
        return True
    return any(
        name.endswith(_RESPONSES) or _is_response(value) or _are_responses(value)
        for name, value in record.items()
    )


def _are_responses(value):
    return isinstance(value, list) and bool(value) and all(map(_is_response, value))


def _is_response(value):
    return isinstance(value, dict) and {"user_id", "value", "status"} <= value.keys()


def _read_argilla(path, records, item_field):
    """Read records of argilla: of a FeedbackDataset, or of version 2."""
    judgements = []
    fields = {}
    without_status = 0
    for row, record in records:
        responses = _responses_of(record)
        data = _fields_of_argilla(record, responses)
        name = data.get(item_field) if item_field else record.get("id", record.get("external_id"))
        if item_field and name is None:
            raise InputError.at(path, row, f"has no field {item_field!r}: it has {listed(data)}")
        item = label_text(name) or str(row)
        fields.setdefault(item, data)
        for question, answers in responses.items():
            for user, value, status in answers:
                if user is None:
                    raise InputError.at(path, row, f"a response to {question!r} names no user")
                without_status += status is None
                rating, reason = _single_answer(value)
                reason = _STATUSES.get(status, reason)
                judgements.append(
                    Judgement(path, row, item, label_text(user), question, rating, reason)
                )
    notes = []
    if without_status:
        notes.append(
            f"{without_status} responses without status: drafts and discarded ones among them "
            "count; argilla's to_datasets() keeps the status"
        )
    return Annotations("argilla", judgements, fields, tuple(notes))


def _fields_of_argilla(record, responses):
    """Give what a record says of its item."""
    if isinstance(record.get("fields"), dict):
        return {**record["fields"], **(record.get("metadata") or {}), "id": record.get("id")}
    fields = {}
    for name, value in record.items():
        is_field = not isinstance(value, dict | list) and name not in responses
        if is_field and ".responses" not in name and "suggestion" not in name:
            fields[name] = value
    return fields


def _single_answer(value):
    """Give the rating of an answer, and why there is none."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or value == "" or value == []:
        return "", BLANK
    if isinstance(value, list):
        several = all(isinstance(choice, str | int | float) for choice in value)
        return "", SEVERAL if several else OTHER_KIND
    if isinstance(value, dict):
        return "", OTHER_KIND
    return label_text(value), None


# --- Label Studio

_ROW_FIELDS = frozenset(WORDS["label_studio"]["columns"])


def _read_label_studio(path, records, item_field):
    """Read JSON of Label Studio: tasks with their annotations."""
    judgements = []
    fields = {}
    n_empty = 0
    for row, task in records:
        data = _object(path, row, task, "data")
        item = label_text(task.get("id", row))
        if item_field:
            item = label_text(data.get(item_field))
            if not item:
                raise InputError.at(
                    path, row, f"has no field {item_field!r}: its data has {listed(data)}"
                )
        fields.setdefault(item, data)
        annotations = task.get("annotations", task.get("completions")) or []
        n_empty += not annotations
        for annotation in annotations:
            rater = _annotator(path, row, annotation)
            judgements += _annotation_judgements(path, row, item, rater, annotation)
        for draft in task.get("drafts") or []:
            if isinstance(draft, dict):
                rater = label_text(draft.get("user")) or "unnamed"
                judgements.append(Judgement(path, row, item, rater, "", reason=DRAFT))
        for _ in task.get("predictions") or []:
            judgements.append(Judgement(path, row, item, MODEL, "", reason=MODEL))
    notes = [f"tasks without annotation: {n_empty}"] if n_empty else []
    return Annotations("Label Studio", judgements, fields, tuple(notes))


def _annotator(path, row, annotation):
    """Name who made an annotation: by address if there is one, else by number."""
    person = annotation.get("completed_by") if isinstance(annotation, dict) else None
    if isinstance(person, dict):
        person = person.get("email") or person.get("id")
    if person in (None, ""):
        raise InputError.at(path, row, "an annotation does not say who made it (completed_by)")
    return label_text(person)


def _annotation_judgements(path, row, item, rater, annotation):
    """Give the judgements of one annotation, one for each control tag."""
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        return [Judgement(path, row, item, rater, "", reason=SKIPPED)]
    values = defaultdict(list)
    for result in annotation.get("result") or []:
        if isinstance(result, dict) and "from_name" in result:  # others are relations
            values[label_text(result["from_name"])].append(result.get("value"))
    if not values:
        return [Judgement(path, row, item, rater, "", reason=BLANK)]
    judgements = []
    for tag, answers in values.items():
        rating, reason = _label_studio_answer(answers)
        judgements.append(Judgement(path, row, item, rater, tag, rating, reason))
    return judgements


def _label_studio_answer(values):
    """Give the rating of a control tag, and why there is none."""
    if len(values) != 1:
        return "", SEVERAL if values else BLANK
    value = values[0]
    if not isinstance(value, dict):
        return _single_answer(value)
    for kind in ("choices", "rating", "number", "selected"):
        if kind in value:
            return _single_answer(value[kind])
    if "taxonomy" in value:
        paths = [" / ".join(map(str, levels)) for levels in value["taxonomy"]]
        return _single_answer(paths)
    return "", OTHER_KIND


def read_label_studio_rows(path, records, item_field):
    """Read JSON-MIN or CSV of Label Studio, where a row holds the data and one annotation."""
    item_field = item_field or "id"
    rows = []
    for row, record in records:
        item = label_text(record.get(item_field))
        rater = label_text(record.get("annotator"))
        if not item or not rater:
            raise InputError.at(path, row, f"names no annotator, or no item in {item_field!r}")
        rows.append((row, item, rater, record))
    tags = _tags_of(rows, item_field)
    if not tags:
        raise InputError(
            f"{path}: in no column do the annotators of a task differ, so answers cannot be told "
            "from data: export JSON"
        )
    judgements = []
    fields = {}
    for row, item, rater, record in rows:
        data = {name: value for name, value in record.items() if name not in tags}
        fields.setdefault(item, data)
        for tag in tags:
            rating, reason = row_answer(record.get(tag))
            judgements.append(Judgement(path, row, item, rater, tag, rating, reason))
    data_columns = [name for name in fields[rows[0][1]] if name not in _ROW_FIELDS]
    note = "columns in which the annotators of a task never differ, read as its data: "
    notes = [note + (", ".join(data_columns) or "none")]
    return Annotations("Label Studio", judgements, fields, tuple(notes))


def _tags_of(rows, item_field):
    """Find the columns that hold answers: those in which two annotators of a task differ."""
    texts = defaultdict(set)
    names = {}
    for _, item, _, record in rows:
        for name, value in record.items():
            if name not in _ROW_FIELDS and name != item_field and label_text(value):
                names[name] = None
                texts[name, item].add(label_text(value))
    differing = {name for (name, _), values in texts.items() if len(values) > 1}
    return [name for name in names if name in differing]


def row_answer(value):
    """Give the rating in a cell: a choice as it is, others as JSON of their values."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except ValueError:
            return label_text(value), None
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, list):
        return _label_studio_answer(value)
    return _single_answer(value)
