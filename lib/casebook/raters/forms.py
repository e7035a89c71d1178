"""Blind forms: from answers of systems, or explanations, to one form per rater and a sealed key."""

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Literal

import pandas as pd
from openpyxl import Workbook
from openpyxl.styles import Alignment, Font, PatternFill, Protection
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation
from pydantic import Field, TypeAdapter, ValidationError

from casebook import sheets
from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.files import new_folder, replacing, sha256_file, write_json, write_text
from casebook.paths import valid_name
from casebook.raters.answers import systems_of
from casebook.raters.design import (
    balance,
    draw_items,
    hidden_chance,
    make_design,
    new_secret,
    opaque_id,
    seal,
    text_hash,
)
from casebook.raters.layouts import (
    ABOUT_SHEET,
    FORMS,
    KEY,
    KEY_DIGEST,
    KEY_SCHEMA,
    LIKERT,
    PLAN_SCHEMA,
    PREREGISTRATION,
    REPORT,
    RUBRIC,
    RUBRIC_SHEET,
    SEALED,
    SHEET,
    paired_layout,
)
from casebook.raters.power import PRIMARY_TEST, simulated_power
from casebook.text import tokens

EXPLANATIONS = ("case_id", "chunk_id", "explanation_text", "source_chunk_text")
STUDIES = 400  # simulated, for the power that is registered
# Share and number of answers from which on a word of one side tells the system.
TELLING = 0.9
FEWEST_PAIRS = 5
NO_EVIDENCE = "(no passages)"  # where none of the systems had any
BETWEEN_PASSAGES = "\n\n* * *\n\n"
GREY = PatternFill("solid", start_color="FFE7E6E6")
TOP = Alignment(wrap_text=True, vertical="top")


@dataclass(frozen=True)
class Plan:
    """What a study is to be."""

    study: str  # its name, which raters read
    raters: dict[str, Literal["lay", "expert"]]
    focus: str | None = None  # system whose wins are counted; the first one by default
    items: int | None = None  # to draw; all by default
    per_item: int | None = None  # raters of each comparison; all by default
    pairs_per_item: int | None = None  # of systems, compared on each item; all by default
    seed: int = 0  # of the draw of items, public
    # Win rates of 1/2 plus or minus the margin count as no difference.
    margin: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05  # level of the primary test
    win_rate: Annotated[float, Field(gt=0, lt=1)] = 0.65  # for which the power is stated
    guess: str | None = None  # question for a column in which raters guess the system
    formats: Annotated[tuple[Literal["xlsx", "csv"], ...], Field(min_length=1)] = ("xlsx",)


def make_forms(answers, folder, plan, *, secret=None, account=None):
    """Write blind forms, the sealed key and the pre-registration of a comparison of systems.

    Parameters
    ----------
    answers : pandas.DataFrame
        One row per item: ``item_id``, ``prompt``, ``stratum``, a column of answers per system, as
        `read_answers` gives them, and perhaps ``evidence``: the passages that the systems were
        given, a list of texts. Forms show them without saying whose they were.
    folder : path-like
        New folder. ``for_raters`` goes to the raters, ``sealed`` is kept back.
    plan : Plan
        The study.
    secret : str, optional
        At least 32 characters; drawn anew by default. The same secret and plan give the same forms.
    account : dict, optional
        Account of the join of the answers, kept in the report.

    Returns
    -------
    dict
        The report: the draw, the balance of sides, texts that had to be changed, answers that name
        a system or are identical, and the pre-registration with the power of the primary test.

    Raises
    ------
    InputError
        If the plan does not fit the answers; nothing is written then.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> answers = pd.DataFrame({"item_id": [f"q{n}" for n in range(8)], "prompt": "May I?"})
    >>> answers["stratum"] = "all"
    >>> answers = answers.assign(new=[f"Yes, s. {n}." for n in range(8)], old="It depends.")
    >>> with TemporaryDirectory() as place:
    ...     plan = Plan("pilot", {"r1": "lay", "r2": "expert"})
    ...     report = make_forms(answers, Path(place, "pilot"), plan)
    ...     sorted(path.name for path in Path(place, "pilot").iterdir())
    ['for_raters', 'preregistration.json', 'sealed']
    >>> [(row["rater"], row["system"], row["left"]) for row in report["balance"]][:2]
    [('r1', 'new', 4), ('r1', 'old', 4)]
    """
    systems = systems_of(answers)
    focus = plan.focus or systems[0]
    secret = secret or new_secret()
    if focus not in systems:
        raise InputError(f"focus {focus!r} is no system: {', '.join(systems)}")
    if plan.guess and len(systems) > 2:
        raise InputError("the guess column needs exactly two systems")
    check_plan(plan, systems)
    draw = draw_items(answers["item_id"], plan.items, answers["stratum"], plan.seed)
    items = draw.loc[draw["drawn"], "item_id"].tolist()
    options = {"per_item": plan.per_item, "pairs_per_item": plan.pairs_per_item}
    design = make_design(items, systems, plan.raters, secret, **options)
    texts = answers.set_index("item_id").rename_axis("item").loc[items].drop(columns="stratum")
    if "evidence" in texts:
        texts["evidence"] = evidence_texts(texts["evidence"], secret)
    texts, changes = _cleaned(texts)
    report = {
        "account": account or {},
        "draw": draw.to_dict("records"),
        "balance": balance(design, systems).to_dict("records"),
        "text_changes": changes,
        **_telling(texts, systems),
    }
    key = {"secret": secret, "systems": systems, "focus": focus, "seed": plan.seed}
    layout = paired_layout(guess=bool(plan.guess), evidence="evidence" in texts)
    rows = _paired_rows(design, texts, secret)
    registered = _write(folder, plan, layout, rows, key, planned(plan, design), report)
    return report | {"preregistration": registered}


# Refuse a plan that cannot be, and names that are not safe or that tell a system.
def check_plan(plan, systems):
    try:
        TypeAdapter(Plan).validate_python(vars(plan))
    except ValidationError as error:
        raise InputError(first_problem(error)) from None
    for name in (plan.study, *plan.raters):
        valid_name(name, "study or rater")
        told = [system for system in systems if system.casefold() in name.casefold()]
        if told:
            problem = f"contains that of the system {told[0]!r}; choose another"
            raise InputError(f"the name {name!r}, which raters read, {problem}")


# The text of each item's evidence, in an order that tells no system.
def evidence_texts(passages, secret):
    texts = {}
    for item, of_item in passages.items():
        if not isinstance(of_item, list) or not all(isinstance(text, str) for text in of_item):
            raise InputError(f"evidence of item {item!r} is no list of texts")
        order = hidden_chance(secret, f"evidence of {item}").permutation(len(of_item))
        texts[item] = BETWEEN_PASSAGES.join(of_item[place] for place in order) or NO_EVIDENCE
    return pd.Series(texts)


# Texts fit for cells, and what that changed.
def _cleaned(texts):
    cleaned = texts.astype(object)
    changes = []
    for column in texts:
        cleaned[column], kinds = zip(*map(sheets.clean, texts[column]), strict=True)
        for item, changed in zip(texts.index, kinds, strict=True):
            if changed:
                changes.append({"item": item, "column": column, "changes": changed})
    return cleaned, changes


# By what raters may recognise a system; two that always say the same are refused.
def _telling(texts, systems):
    names = "|".join(rf"\b{re.escape(name)}\b" for name in systems)
    named = texts.apply(lambda cells: cells.str.contains(names, case=False)).stack()  # noqa: PD013
    words = []
    for system, against in itertools.combinations(systems, 2):
        for word, count in one_sided_words(texts[system], texts[against]).items():
            words.append({"systems": [system, against], "word": word, "items": count})
        if (texts[system] == texts[against]).all():
            problem = f"{system} and {against} give the same answer to all {len(texts)} items"
            raise InputError(f"{problem}: is one file named twice?")
    return {
        "texts_with_a_system_name": [
            {"item": item, "column": column} for item, column in named.index[named]
        ],
        "words_of_one_system": words,
    }


def one_sided_words(answers, answers_against):
    """The ten words that most often occur in exactly one of two answers: number of pairs by word.

    It is nearly all of them, so that the word tells a system, whatever its name.
    """
    counts = Counter()
    for text, text_against in zip(answers, answers_against, strict=True):
        counts.update(set(tokens(text)) ^ set(tokens(text_against)))
    fewest = max(FEWEST_PAIRS, TELLING * len(answers))
    frequent = sorted((-count, word) for word, count in counts.items() if count >= fewest)
    return {word: -minus_count for minus_count, word in frequent[:10]}


# The rows of all forms, in the order of the design, with what will be sealed.
def _paired_rows(design, texts, secret):
    rows = design.rename(columns={"item_id": "item"}).drop(columns="place")
    rows["prompt_id"] = [
        opaque_id(secret, "row", row.item, *sorted((row.left, row.right)), row.rater)
        for row in rows.itertuples()
    ]
    rows["prompt_text"] = rows["item"].map(texts["prompt"])
    for side, column in {"left": "system1_output", "right": "system2_output"}.items():
        rows[column] = [
            texts.loc[item, system] for item, system in zip(rows["item"], rows[side], strict=True)
        ]
    if "evidence" in texts:
        rows["evidence"] = rows["item"].map(texts["evidence"])
    return rows


# What will be tested, as it is registered before any form is out.
def planned(plan, design):
    raters = plan.per_item or len(plan.raters)
    size = {"items": (design["item_id"].nunique(),), "raters": (raters,)}
    rate = {"win_rates": (plan.win_rate,), "alpha": plan.alpha}
    powers = simulated_power(**size, **rate, studies=STUDIES).set_index("test")
    power = powers.loc[PRIMARY_TEST]
    assumed = ["win_rate", "tie_rate", "item_sd", "rater_sd"]
    no_difference = [0.5 - plan.margin, 0.5 + plan.margin]
    return {
        "design": {
            "items": size["items"][0],
            "raters": dict(plan.raters),
            "raters_per_comparison": raters,
            "comparisons": len(design) // raters,
            "systems": len({*design["left"], *design["right"]}),
            "seed_of_the_draw": plan.seed,
        },
        "primary": RUBRIC["registered"]["paired"]
        | {"alpha": plan.alpha, "no_difference": no_difference},
        "secondary": RUBRIC["registered"]["secondary"],
        "power": {
            "estimate": float(power["rejected"]),
            "ci": power[["low", "high"]].tolist(),
            "simulated_studies": STUDIES,
            "assumed": power[assumed].astype(float).to_dict(),
        },
    }


def make_likert_forms(explanations, folder, study, raters, *, secret=None, formats=("csv",)):
    """Write blind Likert forms for explanations, and the sealed key."""
    missing = [name for name in EXPLANATIONS if name not in explanations]
    if missing or explanations.empty:
        what = f"lack the column {', '.join(missing)}" if missing else "are none"
        raise InputError(f"explanations {what}")
    frame = explanations.assign(system=explanations.get("system", "")).astype(str)
    names = frame[["case_id", "chunk_id", "system"]].set_axis(["item", "chunk", "system"], axis=1)
    repeated = names[names.duplicated()]
    if len(repeated):
        first = ", ".join(repeated.iloc[0])
        raise InputError(f"{len(repeated)} explanations occur twice (first: {first})")
    secret = secret or new_secret()
    texts, changes = _cleaned(frame.set_index("chunk_id")[list(EXPLANATIONS[2:])])
    explained = names.join(texts.reset_index(drop=True))
    forms = []
    for rater in raters:
        order = hidden_chance(secret, f"order of {rater}").permutation(len(explained))
        form = explained.iloc[order].assign(rater=rater, annotator_id=rater)
        form["case_id"] = [opaque_id(secret, "case", item, rater) for item in form["item"]]
        rows = form[list(names)].itertuples(index=False)
        form["chunk_id"] = [opaque_id(secret, "row", *row, rater) for row in rows]
        forms.append(form)
    # One unnamed system has no name to hide.
    key = {"secret": secret, "systems": [name for name in names["system"].unique() if name]}
    plan = Plan(study, raters, formats=formats)
    check_plan(plan, key["systems"])
    report = {"text_changes": changes, "explanations": len(frame)}
    registered = {
        "design": {"explanations": len(frame), "raters": dict(raters)},
        "primary": RUBRIC["registered"]["likert"],
    }
    registered = _write(folder, plan, LIKERT, pd.concat(forms), key, registered, report)
    return report | {"preregistration": registered}


# --- files


# Write the folder of a study, whole or not at all; give the pre-registration.
def _write(folder, plan, layout, rows, key, registered, report):
    forms = dict(list(rows.groupby("rater", sort=False)))
    hidden = [name for name in rows if name not in ("rater", *layout.names)]
    sealed = {}
    for rater, form in forms.items():
        of_rows = form[hidden].assign(id=form[layout.key]).to_dict("records")
        for row, texts in zip(of_rows, form[layout.texts].to_dict("records"), strict=True):
            row["texts"] = {name: text_hash(text) for name, text in texts.items()}
        identity = opaque_id(key["secret"], "form", rater)
        sealed[rater] = {"form": identity, "kind": plan.raters[rater], "rows": of_rows}
    common = {"study": plan.study, "layout": layout.name}
    with new_folder(folder) as temporary:
        content = {"schema": KEY_SCHEMA, "forms": sealed, **common, **key}
        path = write_json(temporary / SEALED / KEY, content, private=True)
        write_json(temporary / SEALED / REPORT, report, private=True)
        about = {"study": plan.study, KEY_DIGEST: sha256_file(path)}
        for rater, form in forms.items():
            cells = form.reindex(columns=layout.names)
            of_form = about | {"rater": rater, "form": sealed[rater]["form"]}
            _write_form(temporary / FORMS, plan, layout, cells, of_form)
        hashes = {path.name: sha256_file(path) for path in sorted((temporary / FORMS).iterdir())}
        registered = {
            "schema": PLAN_SCHEMA,
            **common,
            "key_sha256": about[KEY_DIGEST],
            "forms_sha256": hashes,
            **registered,
        }
        # The key's hash holds the key, the seal all that was registered: neither is used alone.
        registered["seal"] = seal(key["secret"], registered)
        write_json(temporary / PREREGISTRATION, registered)
    return registered


# Write one rater's form; beside CSV, which has no second sheet, the rubric as text.
def _write_form(folder, plan, layout, cells, about):
    name = f"{plan.study}_{about['rater']}"
    kind = plan.raters[about["rater"]]
    rubric = layout.rubric_lines(kind, plan.guess)
    if "xlsx" in plan.formats:
        book = _workbook(layout, cells, {RUBRIC_SHEET: rubric, ABOUT_SHEET: about.items()})
        with replacing(folder / f"{name}.xlsx") as temporary:
            book.save(temporary)
    if "csv" in plan.formats:
        text = sheets.table_for_csv(cells).to_csv(index=False, lineterminator="\r\n")
        # Without the mark at its beginning spreadsheets take it for Latin-1.
        write_text(folder / f"{name}.csv", "\ufeff" + text)
        lines = [*rubric, (), ("study", plan.study), (KEY_DIGEST, about[KEY_DIGEST])]
        text = "".join("  ".join(line) + "\n" for line in lines)
        write_text(folder / f"{plan.study}_rubric_{kind}.txt", text)


# One rater's form: texts locked, lists of choices, rubric and hash on more sheets.
def _workbook(layout, cells, further):
    book = Workbook()
    book.properties.creator = "casebook"
    sheet = book.active
    sheet.title = SHEET
    sheet.freeze_panes = "B2"
    for number, column in enumerate(layout.columns, start=1):
        is_open = column.kind not in ("id", "text")
        texts = [None] * len(cells) if is_open else cells[column.name]
        letter = get_column_letter(number)
        sheet.column_dimensions[letter].width = column.width
        for line, text in enumerate([column.name, *texts], start=1):
            _write_cell(sheet.cell(line, number), text)
        sheet.cell(1, number).font = Font(bold=True)
        if column.choices:
            choices = ",".join(map(str, column.choices))
            rule = DataValidation("list", f'"{choices}"', allow_blank=True, showErrorMessage=True)
            rule.error = f"Choose one of {choices}."
            rule.add(f"{letter}2:{letter}{len(cells) + 1}")
            sheet.add_data_validation(rule)
    for name, lines in further.items():
        sheet = book.create_sheet(name)
        sheet.column_dimensions["A"].width = sheet.column_dimensions["B"].width = 90
        for line, texts in enumerate(lines, start=1):
            for number, text in enumerate(texts, start=1):
                _write_cell(sheet.cell(line, number), text)
    for sheet in book:
        sheet.protection.sheet = True
        sheet.protection.formatColumns = False
        sheet.protection.formatRows = False
    return book


# Write a text, grey and locked; without one the cell is the rater's.
def _write_cell(cell, text):
    cell.alignment = TOP
    if text is None:
        cell.protection = Protection(locked=False)
        return
    cell.value = sheets.for_workbook(text)
    cell.data_type = "s"  # text that begins with "=" would become a formula
    cell.number_format = "@"
    cell.fill = GREY
