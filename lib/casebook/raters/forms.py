"""Blind forms: from answers of systems, or explanations, to one form per rater and a sealed key."""

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Literal

import pandas as pd
from openpyxl import Workbook
from openpyxl.styles import Alignment, Font, NamedStyle, PatternFill, Protection
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
ROW_HEIGHT = 180
# Share and number of answers from which on a word of one side tells the system.
TELLING = 0.9
FEWEST_PAIRS = 5
NO_EVIDENCE = "(no passages)"  # where none of the systems had any
# Characters of a passage, and of all passages of a question, that a form shows.
LONGEST_PASSAGE = 4_000
LONGEST_EVIDENCE = 24_000
BETWEEN_PASSAGES = "\n\n* * *\n\n"


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
    design = make_design(
        items,
        systems,
        plan.raters,
        secret,
        per_item=plan.per_item,
        pairs_per_item=plan.pairs_per_item,
    )
    items_drawn = answers.set_index(answers["item_id"].rename("item")).loc[items]
    columns = ["prompt", *systems]
    cuts = []
    if "evidence" in items_drawn:
        items_drawn["evidence"], cuts = evidence_texts(items_drawn["evidence"], secret)
        columns.append("evidence")
    texts, changes = _cleaned(items_drawn[columns])
    report = {
        "account": account or {},
        "draw": draw.to_dict("records"),
        "balance": balance(design, systems).to_dict("records"),
        "text_changes": changes,
        "evidence_cut": cuts,
        "texts_with_a_system_name": _texts_with_a_system_name(texts, systems),
        "words_of_one_system": _words_of_one_system(texts, systems),
        "identical_answers": _identical(texts, systems),
    }
    key = {
        "secret": secret,
        "systems": systems,
        "focus": focus,
        "seed": plan.seed,
        "draw": report["draw"],
    }
    layout = paired_layout(guess=bool(plan.guess), evidence="evidence" in texts)
    forms = _paired_rows(design, texts, secret)
    registered = _write(folder, plan, layout, forms, key, planned(plan, design), report)
    return report | {"preregistration": registered}


def evidence_texts(passages, secret):
    """Make the text of each item's evidence, in an order that tells no system, and what was cut."""
    texts = []
    cuts = []
    for item, of_item in passages.items():
        if not isinstance(of_item, list) or not all(isinstance(text, str) for text in of_item):
            raise InputError(f"evidence of item {item!r} is no list of texts")
        order = hidden_chance(secret, f"evidence of {item}").permutation(len(of_item))
        shortened = []
        room = LONGEST_EVIDENCE
        cut = 0
        for position in order:
            passage = of_item[position]
            excerpt = passage[: min(LONGEST_PASSAGE, room)]
            room -= len(excerpt)
            missing = len(passage) - len(excerpt)
            cut += missing
            note = f" [cut here: {missing:,} more characters]" if missing else ""
            shortened.append(excerpt + note)
        texts.append(BETWEEN_PASSAGES.join(shortened) or NO_EVIDENCE)
        if cut:
            cuts.append({"item": item, "characters": cut})
    return texts, cuts


def _paired_rows(design, texts, secret):
    """Give the rows of all forms, in the order of the design, with what will be sealed."""
    rows = design.rename(columns={"item_id": "item"}).drop(columns="place")
    ids = []
    left_texts = []
    right_texts = []
    for row in rows.itertuples():
        ids.append(opaque_id(secret, "row", row.item, *sorted((row.left, row.right)), row.rater))
        left_texts.append(texts.loc[row.item, row.left])
        right_texts.append(texts.loc[row.item, row.right])
    rows = rows.assign(
        prompt_id=ids,
        prompt_text=rows["item"].map(texts["prompt"]),
        system1_output=left_texts,
        system2_output=right_texts,
    )
    if "evidence" in texts:
        rows["evidence"] = rows["item"].map(texts["evidence"])
    return rows


def _texts_with_a_system_name(texts, systems):
    """List the texts by which a rater could recognise a system."""
    names = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in systems), re.I)
    return [
        {"item": item, "column": column}
        for item, row in texts.iterrows()
        for column, text in row.items()
        if names.search(text)
    ]


def _words_of_one_system(texts, systems):
    """List the words that nearly always stand in one of two systems' answers only."""
    rows = []
    for system, against in itertools.combinations(systems, 2):
        for word, count in one_sided_words(texts[system], texts[against]):
            rows.append({"systems": [system, against], "word": word, "items": count})
    return rows


def check_plan(plan, systems):
    """Refuse a plan that cannot be, and names that are not safe or that tell a system."""
    try:
        TypeAdapter(Plan).validate_python(vars(plan))
    except ValidationError as error:
        raise InputError(first_problem(error)) from None
    for name in (plan.study, *plan.raters):
        valid_name(name, "study or rater")
        for system in systems:
            if system.casefold() in name.casefold():
                raise InputError(
                    f"the name {name!r}, which raters read, contains that of the system "
                    f"{system!r}; choose another"
                )


def _cleaned(texts):
    """Make a frame of texts fit for cells, and say what that changed."""
    rows = []
    changes = []
    for index, row in zip(texts.index, texts.to_dict("records"), strict=True):
        levels = index if isinstance(index, tuple) else [index]
        position = dict(zip(texts.index.names, levels, strict=True))
        clean_row = {}
        for column, text in row.items():
            clean_row[column], changed = sheets.clean(text)
            if changed:
                changes.append(position | {"column": column, "changes": changed})
        rows.append(clean_row)
    return pd.DataFrame(rows, texts.index, dtype=object), changes


def one_sided_words(answers, answers_against):
    """Find the ten words that most often stand in exactly one of two answers.

    Gives each with the number of pairs of answers: nearly all, so that it tells systems apart,
    whatever their names.
    """
    counts = Counter()
    for text, text_against in zip(answers, answers_against, strict=True):
        counts.update(set(tokens(text)) ^ set(tokens(text_against)))
    fewest = max(FEWEST_PAIRS, TELLING * len(answers))
    frequent = [(-count, word) for word, count in counts.items() if count >= fewest]
    return [(word, -minus_count) for minus_count, word in sorted(frequent)[:10]]


def _identical(texts, systems):
    """List items to which two systems gave one answer; refuse two that always do."""
    rows = []
    for system, against in itertools.combinations(systems, 2):
        items = texts.index[texts[system] == texts[against]]
        if len(items) == len(texts):
            raise InputError(
                f"{system} and {against} give the same answer to all {len(texts)} items: "
                "there is nothing to compare; is one file named twice?"
            )
        rows += [{"item": item, "systems": [system, against]} for item in items]
    return rows


def planned(plan, design):
    """Say what will be tested, before any form is out."""
    pair = design[["left", "right"]].apply(sorted, axis=1).map(tuple)
    items = design["item_id"].nunique()
    raters = plan.per_item or len(plan.raters)
    powers = simulated_power(
        items=(items,),
        raters=(raters,),
        win_rates=(plan.win_rate,),
        alpha=plan.alpha,
        studies=STUDIES,
    )
    power = powers.set_index("test").loc[PRIMARY_TEST]
    assumed = ("win_rate", "tie_rate", "item_sd", "rater_sd")
    return {
        "design": {
            "items": items,
            "raters": dict(plan.raters),
            "raters_per_comparison": raters,
            "comparisons": len(set(zip(design["item_id"], pair, strict=True))),
            "systems": len({*design["left"], *design["right"]}),
            "seed_of_the_draw": plan.seed,
        },
        "primary": RUBRIC["registered"]["paired"]
        | {"alpha": plan.alpha, "no_difference": [0.5 - plan.margin, 0.5 + plan.margin]},
        "secondary": RUBRIC["registered"]["secondary"],
        "power": {
            "estimate": float(power["rejected"]),
            "ci": [float(power["low"]), float(power["high"])],
            "simulated_studies": STUDIES,
            "assumed": {name: float(power[name]) for name in assumed},
        },
    }


def make_likert_forms(explanations, folder, study, raters, *, secret=None, formats=("csv",)):
    """Write blind Likert forms for explanations, and the sealed key."""
    missing = [name for name in EXPLANATIONS if name not in explanations]
    if missing:
        raise InputError(f"explanations lack the column {', '.join(missing)}")
    if not len(explanations):
        raise InputError("there are no explanations")
    frame = explanations.assign(system=explanations.get("system", "")).astype(str)
    names = frame[["case_id", "chunk_id", "system"]].set_axis(["item", "chunk", "system"], axis=1)
    repeated = names[names.duplicated()]
    if len(repeated):
        raise InputError(
            f"{len(repeated)} explanations occur twice (first: {', '.join(repeated.iloc[0])})"
        )
    texts, changes = _cleaned(
        frame.set_index(["case_id", "chunk_id"])[list(EXPLANATIONS[2:])].rename_axis(
            ["case", "chunk"]
        )
    )
    secret = secret or new_secret()
    explained = pd.concat([names, texts.set_axis(names.index)], axis=1)
    forms = []
    for rater in raters:
        order = hidden_chance(secret, f"order of {rater}").permutation(len(explained))
        form = explained.iloc[order].assign(rater=rater, annotator_id=rater)
        form["case_id"] = [opaque_id(secret, "case", item, rater) for item in form["item"]]
        form["chunk_id"] = [
            opaque_id(secret, "row", *name, rater)
            for name in form[list(names)].itertuples(index=False)
        ]
        forms.append(form)
    report = {"text_changes": changes, "explanations": len(frame)}
    registered = {
        "design": {"explanations": len(frame), "raters": dict(raters)},
        "primary": RUBRIC["registered"]["likert"],
    }
    # One unnamed system has no name to hide.
    key = {"secret": secret, "systems": [name for name in names["system"].unique() if name]}
    plan = Plan(study, raters, formats=formats)
    check_plan(plan, key["systems"])
    registered = _write(folder, plan, LIKERT, pd.concat(forms), key, registered, report)
    return report | {"preregistration": registered}


def _write(folder, plan, layout, forms, key, registered, report):
    """Write the folder of a study, whole or not at all; give the pre-registration."""
    sealed = {}
    for rater, rows in forms.groupby("rater", sort=False):
        sealed[rater] = {
            "form": opaque_id(key["secret"], "form", rater),
            "kind": plan.raters[rater],
            "rows": _sealed_rows(rows, layout),
        }
    common = {"study": plan.study, "layout": layout.name}
    with new_folder(folder) as temporary:
        content = {"schema": KEY_SCHEMA, "forms": sealed, **common, **key}
        path = write_json(temporary / SEALED / KEY, content, private=True)
        key_sha256 = sha256_file(path)
        for rater, rows in forms.groupby("rater", sort=False):
            about = {"study": plan.study, "rater": rater, "form": sealed[rater]["form"]}
            about[KEY_DIGEST] = key_sha256
            _write_form(temporary / FORMS, plan, layout, rows.reindex(columns=layout.names), about)
        if "csv" in plan.formats:
            _write_rubrics(temporary / FORMS, plan, layout, key_sha256)
        write_json(temporary / SEALED / REPORT, report, private=True)
        hashes = {path.name: sha256_file(path) for path in sorted((temporary / FORMS).iterdir())}
        registered = {
            "schema": PLAN_SCHEMA,
            **common,
            "key_sha256": key_sha256,
            "forms_sha256": hashes,
            **registered,
        }
        # The key's hash holds the key, the seal all that was registered: neither is used alone.
        registered["seal"] = seal(key["secret"], registered)
        write_json(temporary / PREREGISTRATION, registered)
    return registered


def _sealed_rows(rows, layout):
    """Give what is sealed of a form: ids, what raters do not see, and hashes of texts."""
    hidden = [name for name in rows if name != "rater" and name not in layout.names]
    sealed = []
    for row in rows.to_dict("records"):
        hashes = {name: text_hash(row[name]) for name in layout.texts}
        sealed.append(
            {"id": row[layout.key], **{name: row[name] for name in hidden}, "texts": hashes}
        )
    return sealed


def _write_form(folder, plan, layout, rows, about):
    """Write one rater's form in the formats of the plan."""
    rater = about["rater"]
    name = f"{plan.study}_{rater}"
    if "xlsx" in plan.formats:
        rubric = layout.rubric_lines(plan.raters[rater], plan.guess)
        _write_workbook(folder / f"{name}.xlsx", layout, rows, rubric, about)
    if "csv" in plan.formats:
        text = sheets.table_for_csv(rows).to_csv(index=False, lineterminator="\r\n")
        # Without the mark at its beginning spreadsheets take it for Latin-1.
        write_text(folder / f"{name}.csv", "\ufeff" + text)


def _write_rubrics(folder, plan, layout, key_sha256):
    """Write the rubric beside forms in CSV, which has no second sheet, for each kind of rater."""
    for kind in sorted(set(plan.raters.values())):
        lines = layout.rubric_lines(kind, plan.guess)
        lines += [(), ("study", plan.study), (KEY_DIGEST, key_sha256)]
        text = "".join("  ".join(line) + "\n" for line in lines)
        write_text(folder / f"{plan.study}_rubric_{kind}.txt", text)


def _write_workbook(path, layout, rows, rubric, about):
    """Write one rater's form: texts locked, lists of choices, rubric and hash on more sheets."""
    book = Workbook()
    book.properties.creator = "casebook"
    for style in _cell_styles():
        book.add_named_style(style)
    sheet = book.active
    sheet.title = SHEET
    sheet.freeze_panes = "B2"
    sheet.print_title_rows = "1:1"
    for number, column in enumerate(layout.columns, start=1):
        _write_column(sheet, number, column, rows[column.name])
    for line in range(2, len(rows) + 2):
        sheet.row_dimensions[line].height = ROW_HEIGHT
    _write_lines(book.create_sheet(RUBRIC_SHEET), rubric, (26, 90))
    _write_lines(book.create_sheet(ABOUT_SHEET), about.items(), (26, 70))
    for sheet in book:
        sheet.protection.sheet = True
        # Print all columns on one page: a torn row cannot be judged on paper.
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.fitToWidth = 1
        sheet.page_setup.fitToHeight = 0
        sheet.sheet_properties.pageSetUpPr.fitToPage = True
    book[SHEET].protection.formatColumns = False
    book[SHEET].protection.formatRows = False
    with replacing(path) as temporary:
        book.save(temporary)


def _cell_styles():
    """Styles of cells: the header, texts that are locked, and what the rater fills."""
    grey = PatternFill("solid", start_color="FFE7E6E6")
    top = Alignment(wrap_text=True, vertical="top")
    unlocked = Protection(locked=False)
    return [
        NamedStyle("head", font=Font(bold=True), fill=grey, alignment=top),
        NamedStyle("given", fill=grey, alignment=top, number_format="@"),
        NamedStyle("rating", alignment=top, protection=unlocked),
        NamedStyle("note", alignment=top, number_format="@", protection=unlocked),
    ]


def _write_column(sheet, number, column, texts):
    """Write one column of a form; where the rater fills it, its cells stay empty and open."""
    letter = get_column_letter(number)
    sheet.column_dimensions[letter].width = column.width
    _write_text(sheet.cell(1, number), column.name, "head")
    for line, text in enumerate(texts, start=2):
        if column.kind in ("id", "text"):
            _write_text(sheet.cell(line, number), text, "given")
        else:
            sheet.cell(line, number).style = "rating" if column.kind == "rating" else "note"
    if column.choices:
        choices = [str(choice) for choice in column.choices]
        rule = DataValidation(
            "list", f'"{",".join(choices)}"', allow_blank=True, showErrorMessage=True
        )
        rule.errorTitle = column.name
        rule.error = f"Choose one of {', '.join(choices)}."
        rule.add(f"{letter}2:{letter}{len(texts) + 1}")
        sheet.add_data_validation(rule)


def _write_lines(sheet, lines, widths):
    for line, texts in enumerate(lines, start=1):
        for number, text in enumerate(texts, start=1):
            _write_text(sheet.cell(line, number), text, "given")
        if len(texts) == 1:
            sheet.merge_cells(start_row=line, end_row=line, start_column=1, end_column=2)
            sheet.row_dimensions[line].height = 32
    for number, width in enumerate(widths, start=1):
        sheet.column_dimensions[get_column_letter(number)].width = width


def _write_text(cell, text, style):
    cell.value = sheets.for_workbook(text)
    cell.data_type = "s"  # text that begins with "=" would become a formula
    cell.style = style
