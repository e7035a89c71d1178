"""Blind forms: from answers of systems, or explanations, to one form per rater and a sealed key."""

import secrets
from dataclasses import dataclass
from typing import Annotated, Literal

import pandas as pd
from openpyxl import Workbook
from openpyxl.styles import Alignment, PatternFill, Protection
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
    draw_items,
    hidden_chance,
    make_design,
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
    PAIRED,
    PLAN_SCHEMA,
    PREREGISTRATION,
    REPORT,
    RUBRIC,
    RUBRIC_SHEET,
    SEALED,
    SHEET,
    WITH_EVIDENCE,
)
from casebook.raters.power import PRIMARY_TEST, simulated_power
from casebook.raters.preference import MARGIN

STUDIES = 400  # simulated, for the power that is registered
GREY = PatternFill("solid", start_color="FFE7E6E6")
TOP = Alignment(wrap_text=True, vertical="top")

Share = Annotated[float, Field(gt=0, lt=1)]


@dataclass(frozen=True)
class Plan:
    """What a study is to be."""

    study: str  # its name, which raters read
    raters: dict[str, Literal["lay", "expert"]]
    focus: str | None = None  # system whose wins are counted; the first one by default
    items: int | None = None  # to draw; all by default
    per_item: int | None = None  # raters of each comparison; all by default
    seed: int = 0  # of the draw of items, public
    # Win rates of 1/2 plus or minus the margin count as no difference.
    margin: Annotated[float, Field(gt=0, lt=0.5)] = MARGIN
    alpha: Share = 0.05  # level of the primary test
    formats: Annotated[tuple[Literal["xlsx", "csv"], ...], Field(min_length=1)] = (
        "xlsx",
    )


def make_forms(answers, folder, plan, *, secret=None, account=None):
    """Write blind forms, the sealed key and the pre-registration of a comparison of systems.

    Parameters
    ----------
    answers : pandas.DataFrame
        One row per item: ``item_id``, ``prompt``, ``stratum``, a column of answers per system, as
        `answers_of_log` gives them, and perhaps ``evidence``: the passages that the systems were
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
        The report: the draw, texts that had to be changed, and the pre-registration with the power
        of the primary test.

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
    >>> report["preregistration"]["design"]["comparisons"]
    8
    """
    systems = systems_of(answers)
    focus = plan.focus or systems[0]
    if focus not in systems:
        raise InputError(f"focus {focus!r} is no system: {', '.join(systems)}")
    check_plan(plan)
    secret = secret or secrets.token_hex(32)
    draw = draw_items(answers["item_id"], plan.items, answers["stratum"], plan.seed)
    items = draw.loc[draw["drawn"], "item_id"]
    design = make_design(items, systems, plan.raters, secret, plan.per_item)
    texts = answers.set_index("item_id").loc[items].drop(columns="stratum")
    if "evidence" in texts:
        for item, passages in texts["evidence"].items():
            # In an order that tells no system.
            chance = hidden_chance(secret, f"evidence of {item}")
            shown = "\n\n* * *\n\n".join(chance.permutation(passages))
            texts.loc[item, "evidence"] = shown or "(no passages)"
    texts, changes = _cleaned(texts)
    about = texts.drop(columns=systems).rename(columns={"prompt": "prompt_text"})
    rows = design.rename(columns={"item_id": "item"}).join(about, on="item")
    written = texts[systems].stack()  # noqa: PD013
    for side, column in {"left": "system1_output", "right": "system2_output"}.items():
        sides = pd.MultiIndex.from_frame(rows[["item", side]])
        rows[column] = written.loc[sides].to_numpy()
    rows["prompt_id"] = [
        opaque_id(secret, "row", item, *sorted(pair), rater)
        for item, rater, *pair in rows[["item", "rater", "left", "right"]].to_numpy()
    ]
    key = {"secret": secret, "systems": systems, "focus": focus, "seed": plan.seed}
    report = {
        "account": account or {},
        "draw": draw.to_dict("records"),
        "text_changes": changes,
    }
    layout = WITH_EVIDENCE if "evidence" in texts else PAIRED
    return _write(folder, plan, layout, rows, key, planned(plan, design), report)


def check_plan(plan):
    """Refuse a plan that cannot be, and names that are not safe."""
    try:
        TypeAdapter(Plan).validate_python(vars(plan))
    except ValidationError as error:
        raise InputError(first_problem(error)) from None
    for name in (plan.study, *plan.raters):
        valid_name(name, "study or rater")


def _cleaned(texts):
    """Texts fit for cells, and what that changed."""
    texts = texts.astype(object)
    changes = []
    for column in texts:
        for item, text in texts[column].items():
            texts.loc[item, column], kinds = sheets.clean(text)
            if kinds:
                changes.append({"item": item, "column": column, "changes": kinds})
    return texts, changes


def planned(plan, design):
    """What will be tested, as it is registered before any form is out."""
    raters = plan.per_item or len(plan.raters)
    items = design["item_id"].nunique()
    powers = simulated_power(
        items=(items,),
        raters=(raters,),
        win_rates=(0.65,),  # for which the power is stated
        alpha=plan.alpha,
        studies=STUDIES,
    )
    found = powers.set_index("test").loc[PRIMARY_TEST]
    assumed = found[["win_rate", "tie_rate", "item_sd", "rater_sd"]]
    words = RUBRIC["registered"]
    return {
        "design": {
            "items": items,
            "raters": dict(plan.raters),
            "raters_per_comparison": raters,
            "comparisons": len(design) // raters,
            "systems": len({*design["left"], *design["right"]}),
            "seed_of_the_draw": plan.seed,
        },
        "primary": words["paired"]
        | {
            "alpha": plan.alpha,
            "no_difference": [0.5 - plan.margin, 0.5 + plan.margin],
        },
        "secondary": words["secondary"],
        "power": {
            "estimate": float(found["rejected"]),
            "ci": found[["low", "high"]].tolist(),
            "simulated_studies": STUDIES,
            "assumed": assumed.astype(float).to_dict(),
        },
    }


def make_likert_forms(
    explanations, folder, study, raters, *, secret=None, formats=("csv",)
):
    """Write blind Likert forms for explanations, and the sealed key."""
    plan = Plan(study, raters, formats=formats)
    check_plan(plan)
    missing = {"case_id", "chunk_id", *LIKERT.texts} - {*explanations}
    if missing:
        raise InputError(f"explanations lack the column {', '.join(sorted(missing))}")
    frame = explanations.assign(system=explanations.get("system", "")).astype(str)
    explained = frame.rename(columns={"case_id": "item", "chunk_id": "chunk"})
    named = ["item", "chunk", "system"]
    for names in explained.loc[explained.duplicated(named), named].to_numpy():
        raise InputError(f"an explanation occurs twice: {', '.join(names)}")
    secret = secret or secrets.token_hex(32)
    texts, changes = _cleaned(frame[LIKERT.texts])
    explained = explained[named].join(texts)
    forms = []
    for rater in raters:
        order = hidden_chance(secret, f"order of {rater}").permutation(len(explained))
        forms.append(explained.iloc[order].assign(rater=rater, annotator_id=rater))
    rows = pd.concat(forms, ignore_index=True)
    cases = rows[["item", "rater"]].to_numpy()
    parts = rows[[*named, "rater"]].to_numpy()
    rows["case_id"] = [opaque_id(secret, "case", *case) for case in cases]
    rows["chunk_id"] = [opaque_id(secret, "row", *part) for part in parts]
    # One unnamed system has no name to hide.
    key = {"secret": secret, "systems": list(filter(None, frame["system"].unique()))}
    report = {"text_changes": changes, "explanations": len(frame)}
    registered = {
        "design": {"explanations": len(frame), "raters": dict(raters)},
        "primary": RUBRIC["registered"]["likert"],
    }
    return _write(folder, plan, LIKERT, rows, key, registered, report)


# --- files


def _write(folder, plan, layout, rows, key, registered, report):
    """Report of a study, whose folder is written whole or not at all."""
    common = {"study": plan.study, "layout": layout.name}
    # The key holds all that a form does not show, and hashes of its texts.
    hidden = rows[rows.columns.difference(["rater", *layout.names], sort=False)]
    sealed = hidden.assign(id=rows[layout.key])
    sealed["texts"] = rows[layout.texts].map(text_hash).to_dict("records")
    forms = dict(iter(rows.groupby("rater", sort=False)))
    keys = {
        rater: {"rows": sealed.loc[form.index].to_dict("records")}
        for rater, form in forms.items()
    }
    content = {"schema": KEY_SCHEMA, "forms": keys, **common, **key}
    with new_folder(folder) as temporary:
        path = write_json(temporary / SEALED / KEY, content, private=True)
        write_json(temporary / SEALED / REPORT, report, private=True)
        digest = sha256_file(path)
        for rater, form in forms.items():
            _write_form(temporary / FORMS, plan, layout, rater, form, digest)
        files = sorted((temporary / FORMS).iterdir())
        hashes = {file.name: sha256_file(file) for file in files}
        registered = {
            "schema": PLAN_SCHEMA,
            "key_sha256": digest,
            "forms_sha256": hashes,
            **common,
            **registered,
        }
        # The key's hash holds the key, the seal all that was registered: neither is used alone.
        registered["seal"] = seal(key["secret"], registered)
        write_json(temporary / PREREGISTRATION, registered)
    return report | {"preregistration": registered}


def _write_form(folder, plan, layout, rater, form, digest):
    """Write one rater's form; beside CSV, which has no second sheet, the rubric."""
    kind = plan.raters[rater]
    cells = form.reindex(columns=layout.names)
    rubric = layout.rubric_lines(kind)
    about = [("study", plan.study), (KEY_DIGEST, digest)]
    if "xlsx" in plan.formats:
        further = {RUBRIC_SHEET: rubric, ABOUT_SHEET: [*about, ("rater", rater)]}
        with replacing(folder / f"{plan.study}_{rater}.xlsx") as temporary:
            _workbook(layout, cells, further).save(temporary)
    if "csv" in plan.formats:
        text = sheets.table_for_csv(cells).to_csv(index=False, lineterminator="\r\n")
        # Without the mark at its beginning spreadsheets take it for Latin-1.
        write_text(folder / f"{plan.study}_{rater}.csv", "\ufeff" + text)
        lines = map("  ".join, [*rubric, (), *about])
        write_text(folder / f"{plan.study}_rubric_{kind}.txt", "\n".join(lines) + "\n")


def _workbook(layout, cells, further):
    """One rater's form: texts locked, lists of choices, further sheets."""
    book = Workbook()
    book.properties.creator = "casebook"
    sheet = book.active
    sheet.title = SHEET
    sheet.freeze_panes = "B2"
    shown = cells.astype(object).mask(cells.isna(), None)
    _write_cells(sheet, [layout.names, *shown.to_numpy().tolist()])
    for number, column in enumerate(layout.columns, start=1):
        letter = get_column_letter(number)
        sheet.column_dimensions[letter].width = column.width
        if column.choices:
            choices = ",".join(map(str, column.choices))
            rule = DataValidation(
                "list", f'"{choices}"', allow_blank=True, showErrorMessage=True
            )
            rule.add(f"{letter}2:{letter}{len(cells) + 1}")
            sheet.add_data_validation(rule)
    for name, lines in further.items():
        sheet = book.create_sheet(name)
        for letter in "AB":
            sheet.column_dimensions[letter].width = 90
        _write_cells(sheet, lines)
    for sheet in book:
        sheet.protection.sheet = True
    return book


def _write_cells(sheet, lines):
    """Write texts, grey and locked; a cell without one is the rater's."""
    for line, texts in enumerate(lines, start=1):
        for number, text in enumerate(texts, start=1):
            cell = sheet.cell(line, number)
            cell.alignment = TOP
            if text is None:
                cell.protection = Protection(locked=False)
                continue
            cell.value = text
            cell.data_type = "s"  # text that begins with "=" would become a formula
            cell.number_format = "@"
            cell.fill = GREY
