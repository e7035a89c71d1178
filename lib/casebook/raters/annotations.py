"""Ratings as people have them: a row per rating, and exports of annotation tools.

Layouts that were looked up: potato 1.2 (``annotated_instances``) and 2.12 (``user_state.json`` and
its exported tables), argilla 1.29 (``FeedbackDataset``) and 2.8 (``to_datasets``, ``to_json``),
Label Studio (JSON, JSON-MIN and CSV of label-studio-sdk 2.1).
"""

import difflib
import json
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from casebook.errors import InputError
from casebook.readers import read_json, read_records, read_yaml, suffix_of
from casebook.sheets import as_ratings, cell_text, rating_table, wide_ratings

WORDS = read_yaml(Path(__file__).with_name("annotations.yml"))
ROLES = WORDS["roles"]
OBJECTS = (".json", ".jsonl", ".parquet")  # files of objects; others are tables
NEEDED = ("rater", "item", "rating")
LIKELY = 0.75  # similarity from which on another name may be a slip of a known one
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


def read_ratings(path, *, numbers=None, id_column=None, columns=None, criterion=None):
    r"""Read ratings, items x raters; blank cells are missing.

    Parameters
    ----------
    path : path-like
        CSV (comma, semicolon or tab; UTF-8), ``.xlsx`` or ``.xlsm`` with a row per item, whose
        first row names the raters; or with a row per rating, with columns such as rater, item,
        rating and perhaps criterion, in any letter case; JSON or JSON lines of such rows; or an
        export of potato (its folder too), argilla or Label Studio.
    numbers : bool, optional
        Whether ratings must be numbers (True) or may be labels (False); by default most
        of the cells tell.
    id_column : str, optional
        Column that names the items of a file with a row per item, ``""`` if there is none; by
        default the first column, if it is not a rater's.
    columns : dict, optional
        ``rater``, ``item``, ``rating`` or ``criterion`` to the name of that column in the file; of
        an export, ``item`` to the field that names the items.
    criterion : str, optional
        Which ratings to read, if there are those of several criteria.

    Returns
    -------
    pandas.DataFrame, shape [items, raters]
        Numbers (float, NaN missing) or labels (object, None missing). ``attrs["notes"]`` says
        what was read of a file with a row per rating or of an export, and what was left out.

    Raises
    ------
    InputError
        If the table is damaged, names no raters, repeats an item, holds text among
        numbers, or a column that is not the first looks like names of the items; if a rater
        rates an item twice and differently, or there are several criteria and none is chosen.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("item,ann,bob\nq1,4,5\nq2,2,\n")
    >>> read_ratings(path).to_dict("index")
    {'q1': {'ann': 4.0, 'bob': 5.0}, 'q2': {'ann': 2.0, 'bob': nan}}
    >>> _ = path.write_text("Rater,Item,Score\nann,q1,4\nbob,q1,5\nann,q2,2\n")
    >>> read_ratings(path).attrs["notes"]
    ['a row per rating: 3 ratings taken of 3 judgements']
    """
    if id_column is not None and (columns or criterion):
        name = "columns" if columns else "criterion"
        raise InputError(f"{path}: {name} has no effect where a row holds an item: leave it out")
    annotations = None if id_column is not None else read_annotations(path, columns)
    if annotations is None and criterion:
        raise InputError(f"{path}: a row holds an item, so there is no criterion {criterion!r}")
    if annotations is None:
        return _as_wide(path, numbers, id_column)
    by_criterion, notes = _by_criterion(path, annotations)
    names = ", ".join(by_criterion)
    if criterion is None and len(by_criterion) > 1:
        raise InputError(
            f"{path}: holds ratings of several criteria: {names}: choose one (--criterion)"
        )
    criterion = criterion or names
    if criterion not in by_criterion:
        raise InputError(f"{path}: has no criterion {criterion!r}: it has {names}")
    return _items_by_raters(by_criterion[criterion], notes, numbers)


def read_criteria(path, columns=None):
    """Read the ratings of each criterion, numbers or labels: a dict of frames."""
    annotations = read_annotations(path, columns)
    if annotations is None:
        return {"ratings": _as_wide(path, None, None)}
    by_criterion, notes = _by_criterion(path, annotations)
    return {
        criterion: _items_by_raters(ratings, notes, None)
        for criterion, ratings in by_criterion.items()
    }


def _as_wide(path, numbers, id_column):
    ratings = wide_ratings(path, numbers=numbers, id_column=id_column)
    ratings.attrs["notes"] = []
    return ratings


def _by_criterion(path, annotations):
    """Part the ratings by criterion; also give the notes on all of them."""
    ratings, notes = distinct_ratings(path, annotations)
    by_criterion = defaultdict(list)
    for judgement in ratings:
        by_criterion[judgement.criterion].append(judgement)
    return by_criterion, notes


def distinct_ratings(path, annotations):
    """Give the judgements that are ratings, each once, and notes on what was left out."""
    ratings = {}
    repeated = 0
    left_out = Counter()
    for judgement in annotations.judgements:
        if judgement.reason:
            left_out[judgement.reason] += 1
            continue
        key = (judgement.item, judgement.rater, judgement.criterion)
        earlier = ratings.setdefault(key, judgement)
        if earlier is judgement:
            continue
        if earlier.rating != judgement.rating:
            raise InputError.at(
                judgement.path,
                judgement.row,
                f"{judgement.rater} rates {judgement.item} a second time ({judgement.criterion}: "
                f"{judgement.rating!r}, in row {earlier.row} {earlier.rating!r}): keep one row",
            )
        repeated += 1
    if not ratings:
        reasons = "; ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise InputError(
            f"{path}: read as {annotations.layout}, holds no ratings: {reasons or 'no judgements'}"
        )
    n_judgements = len(annotations.judgements)
    notes = [f"{annotations.layout}: {len(ratings)} ratings taken of {n_judgements} judgements"]
    if repeated:
        notes.append(f"{repeated} repeated judgements counted once")
    notes += [f"left out: {count} {reason}" for reason, count in left_out.items()]
    return list(ratings.values()), [*notes, *annotations.notes]


def _items_by_raters(judgements, notes, numbers):
    """Arrange the ratings of one criterion as items x raters."""
    frame = pd.DataFrame(judgements)
    ratings = frame.set_index("row")[["rating"]].set_axis([judgements[0].criterion], axis=1)
    frame["value"] = as_ratings(judgements[0].path, ratings, numbers).iloc[:, 0].to_numpy()
    wide = frame.pivot(index="item", columns="rater", values="value")  # noqa: PD010
    wide = wide.reindex(index=frame["item"].unique(), columns=frame["rater"].unique())
    if wide.to_numpy().dtype.kind != "f":
        wide = wide.astype(object).where(wide.notna(), None)
    wide.attrs["notes"] = notes
    return wide.rename_axis(index="item", columns=None)


# --- files and their layouts


def read_annotations(path, columns=None):
    """Read a row per rating or an export; None of a table with a row per item."""
    columns = columns or {}
    if unknown := columns.keys() - ROLES.keys():
        raise InputError(
            f"columns: {min(unknown)!r} is none of {', '.join(ROLES)}, the columns of a rating"
        )
    annotations = [_read_file(file, columns) for file in annotation_files(path)]
    first = annotations[0]
    if len(annotations) == 1:
        return first
    judgements = []
    fields = {}
    notes = {}
    for part in annotations:
        if part is None:
            raise InputError(f"{path}: holds a file that is no export of potato: name one file")
        judgements += part.judgements
        fields |= part.fields
        notes |= dict.fromkeys(part.notes)
    return Annotations(first.layout, judgements, fields, tuple(notes))


def annotation_files(path):
    """List the files of an export: one, or of potato's output folder all that hold answers."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = potato_files(path)
    if not files:
        raise InputError(
            f"{path}: is a folder without potato's annotated_instances or user_state.json: "
            "name a file"
        )
    return files


def potato_files(folder):
    """List the files with answers in potato's output folder: of all raters, else of each."""
    patterns = ("annotated_instances.*", "*/user_state.json", "*/annotated_instances.jsonl")
    for pattern in patterns:
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def _read_file(path, columns):
    records = records_of(path)
    names = dict.fromkeys(name for _, record in records for name in record)
    if reader := export_reader(records, names):
        if refused := [name for name in columns if name != "item"]:
            raise InputError(f"{path}: columns: {refused[0]} has no effect on an export")
        try:
            return reader(path, records, columns.get("item"))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: is not as the tool exports it: {error!r:.100}") from error
    is_table = suffix_of(path) not in OBJECTS
    roles = roles_of(path, names, columns, may_be_wide=is_table)
    return _read_long(path, records, roles) if roles else None


def records_of(path):
    """Read rows, objects or lines with their numbers; cells of tables are text."""
    kind = suffix_of(path)
    if kind == ".parquet":
        return _parquet_records(path)
    if kind == ".jsonl":
        return read_records(path)[0]
    if kind != ".json":
        table = rating_table(path)
        return list(zip(map(int, table.index), table.to_dict("records"), strict=True))
    content = read_json(path)
    content = content if isinstance(content, list) else [content]
    for number, record in enumerate(content, 1):
        if not isinstance(record, dict):
            raise InputError.at(path, number, "is not an object")
    if not content:
        raise InputError(f"{path}: holds no records")
    return list(enumerate(content, 1))


def _parquet_records(path):
    try:
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"{path}: parquet needs the package pyarrow: install it, or write JSON lines"
        ) from None
    try:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        problem = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: is no parquet file, or is damaged: {problem}") from error
    return list(enumerate(rows, 1))


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


# --- a row per rating


def plain(name):
    """Give a name as it is compared: ``Item ID``, ``itemId`` and ``item_id`` are one."""
    return re.sub(r"[\W_]+", "", str(name)).casefold()


def roles_of(path, names, columns, *, may_be_wide):
    """Find the columns of rater, item, rating and criterion; None if a row may hold an item."""
    for role, name in columns.items():
        if name not in names:
            raise InputError(
                f"{path}: no column {name!r}, which is to be read as {role!r}; "
                f"it has {_listed(names)}"
            )
    roles = matching_roles(names, columns)
    missing = [role for role in NEEDED if role not in roles]
    if not missing:
        return roles
    near = _near_names([name for name in names if name not in roles.values()], missing)
    if columns or not may_be_wide or (len(missing) == 1 and near):
        raise InputError(
            f"{path}: a row per rating needs columns of rater, item and rating; "
            f"none names the {missing[0]} among {_listed(names)}{_suggestion(near, missing[0])}"
        )
    return None


def matching_roles(names, columns):
    """Find the column of each role: the one that ``columns`` names, else by the words of it."""
    roles = dict(columns)
    for role, words in ROLES.items():
        by_word = {plain(name): name for name in names if name not in roles.values()}
        matches = [by_word[plain(word)] for word in words if plain(word) in by_word]
        if role not in roles and matches:
            roles[role] = matches[0]
    return roles


def _near_names(names, roles):
    """Find, for each role, the name that is most likely a slip of one of its words."""
    near = {}
    for role in roles:
        words = [plain(word) for word in ROLES[role]]
        for name in names:
            if difflib.get_close_matches(plain(name), words, 1, LIKELY):
                near.setdefault(role, name)
    return near


def _suggestion(near, role):
    if role in near:
        return f": is it {near[role]!r}? Say columns {role}={near[role]}"
    return f": say columns {role}=COLUMN"


def _listed(names):
    names = [str(name) for name in names]
    more = ", ..." if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _read_long(path, records, roles):
    """Read a row per rating."""
    judgements = []
    fields = {}
    for row, record in records:
        names = {role: text_of(record.get(column)) for role, column in roles.items()}
        if not names["rater"] or not names["item"]:
            raise InputError.at(path, row, "names no rater or no item")
        criterion = names.get("criterion", roles["rating"])
        reason = None if names["rating"] else BLANK
        judgements.append(
            Judgement(path, row, names["item"], names["rater"], criterion, names["rating"], reason)
        )
        data = {name: cell for name, cell in record.items() if name not in roles.values()}
        fields.setdefault(names["item"], data)
    unread = [name for name in records[0][1] if name not in roles.values()]
    notes = [f"columns not read: {_listed(unread)}"] if unread else []
    return Annotations("a row per rating", judgements, fields, tuple(notes))


def text_of(value):
    """Give a rating or a name as text; a whole number has no decimal point."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and math.isnan(value):  # how parquet may say that there is none
        return ""
    return cell_text(value)


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
        rater = text_of(state.get("user_id")) or path.resolve().parent.name
        for item, stored in _object(path, row, state, "instance_id_to_label_to_value").items():
            labels = stored
            if isinstance(stored, list):
                labels = defaultdict(dict)
                for label, value in stored:
                    labels[text_of(label["schema"])][text_of(label["name"])] = value
            judgements += _potato_judgements(path, row, item, rater, labels)
    return Annotations("potato", judgements, {})


def _read_potato_lines(path, records, item_field):
    """Read JSON lines of potato: of all raters, or of the one whose folder it is."""
    _refuse_item_field(path, item_field, "potato")
    judgements = []
    fields = {}
    for row, record in records:
        rater = text_of(record.get("user_id")) or path.resolve().parent.name
        item = text_of(record.get("instance_id", record.get("id")))
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
        rater = text_of(record.get("user_id") or record.get("user"))
        item = text_of(record["instance_id"])
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
        filled = {label: text_of(value) for label, value in answers.items()}
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
            raise InputError.at(path, row, f"has no field {item_field!r}: it has {_listed(data)}")
        item = text_of(name) or str(row)
        fields.setdefault(item, data)
        for question, answers in responses.items():
            for user, value, status in answers:
                if user is None:
                    raise InputError.at(path, row, f"a response to {question!r} names no user")
                without_status += status is None
                rating, reason = _single_answer(value)
                reason = _STATUSES.get(status, reason)
                judgements.append(
                    Judgement(path, row, item, text_of(user), question, rating, reason)
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
    return text_of(value), None


# --- Label Studio

_ROW_FIELDS = frozenset(WORDS["label_studio"]["columns"])


def _read_label_studio(path, records, item_field):
    """Read JSON of Label Studio: tasks with their annotations."""
    judgements = []
    fields = {}
    n_empty = 0
    for row, task in records:
        data = _object(path, row, task, "data")
        item = text_of(task.get("id", row))
        if item_field:
            item = text_of(data.get(item_field))
            if not item:
                raise InputError.at(
                    path, row, f"has no field {item_field!r}: its data has {_listed(data)}"
                )
        fields.setdefault(item, data)
        annotations = task.get("annotations", task.get("completions")) or []
        n_empty += not annotations
        for annotation in annotations:
            rater = _annotator(path, row, annotation)
            judgements += _annotation_judgements(path, row, item, rater, annotation)
        for draft in task.get("drafts") or []:
            if isinstance(draft, dict):
                rater = text_of(draft.get("user")) or "unnamed"
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
    return text_of(person)


def _annotation_judgements(path, row, item, rater, annotation):
    """Give the judgements of one annotation, one for each control tag."""
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        return [Judgement(path, row, item, rater, "", reason=SKIPPED)]
    values = defaultdict(list)
    for result in annotation.get("result") or []:
        if isinstance(result, dict) and "from_name" in result:  # others are relations
            values[text_of(result["from_name"])].append(result.get("value"))
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
        item = text_of(record.get(item_field))
        rater = text_of(record.get("annotator"))
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
            if name not in _ROW_FIELDS and name != item_field and text_of(value):
                names[name] = None
                texts[name, item].add(text_of(value))
    differing = {name for (name, _), values in texts.items() if len(values) > 1}
    return [name for name in names if name in differing]


def row_answer(value):
    """Give the rating in a cell: a choice as it is, others as JSON of their values."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except ValueError:
            return text_of(value), None
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, list):
        return _label_studio_answer(value)
    return _single_answer(value)
