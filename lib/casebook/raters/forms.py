"""Blind forms for pairwise preference: from systems' answers to one form per rater."""

import itertools
import re
from dataclasses import dataclass

from casebook.errors import InputError
from casebook.formats.celltext import clean
from casebook.inference.preference_power import simulated_power
from casebook.inference.preference_study import RECOMMENDED
from casebook.raters.design import make_design
from casebook.raters.item_draw import draw_items
from casebook.raters.layouts import PAIRED, PAIRED_WITH_GUESS
from casebook.raters.packing import Form, Packing, pack
from casebook.raters.sealing import new_secret, opaque_id
from casebook.stats.samples import check_share

STUDIES = 400
TEST = "paired randomisation of item net votes, two-sided"


@dataclass(frozen=True)
class Plan:
    """What a study of preferences is to be."""

    study: str
    raters: dict
    focus: str | None = None
    items: int | None = None
    per_item: int | None = None
    pairs_per_item: int | None = None
    seed: int = 0
    margin: float = 0.05
    alpha: float = 0.05
    win_rate: float = 0.65
    guess: str | None = None
    formats: tuple = ("xlsx",)


def make_forms(answers, folder, plan, *, secret=None, account=None):
    """Write blind forms, the sealed key and the pre-registration of a study.

    Parameters
    ----------
    answers : pandas.DataFrame
        Columns item_id, prompt, stratum, and one per system, from
        `casebook.raters.answers.read_answers`.
    folder : path-like
        New folder.
    plan : Plan
        The study.
    secret : str, optional
        Secret; drawn anew by default. The same secret and plan give the same bytes.
    account : dict, optional
        Account of the join, kept in the report.

    Returns
    -------
    dict
        The report: the draw, balance of sides, texts that had to be changed, answers
        that name a system, and the pre-registration.

    Raises
    ------
    InputError
        If the plan does not fit the answers; nothing is written then.
    """
    systems = [name for name in answers if name not in {"item_id", "prompt", "stratum"}]
    focus = plan.focus or systems[0]
    _check(plan, focus, systems)
    secret = secret or new_secret()
    draw = draw_items(answers["item_id"], plan.items, answers["stratum"], plan.seed)
    design = make_design(
        draw.loc[draw["drawn"], "item_id"],
        systems,
        plan.raters,
        secret,
        per_item=plan.per_item,
        pairs_per_item=plan.pairs_per_item,
    )
    texts, changes = _clean_texts(answers.set_index("item_id"), design.items, systems)
    alike = _identical(texts, design.items, systems)
    layout = PAIRED_WITH_GUESS if plan.guess else PAIRED
    packing = Packing(plan.study, layout, secret, tuple(systems), plan.formats, plan.guess)
    forms = _forms(design, texts, plan, secret)
    report = _report(draw, design, changes, texts, systems, account)
    report["identical_answers"] = alike
    key = {"focus": focus, "seed": plan.seed, "draw": report["draw"]}
    registered = pack(folder, packing, forms, key, planned(plan, design), report)
    return report | {"preregistration": registered}


def _check(plan, focus, systems):
    if focus not in systems:
        raise InputError(f"focus {focus!r} is no system: {', '.join(systems)}")
    for name in ("margin", "alpha", "win_rate"):
        check_share(name, getattr(plan, name))
    if plan.margin >= 0.5:
        raise InputError(f"margin must be below 0.5, not {plan.margin}")
    if plan.guess and len(systems) > 2:
        raise InputError("the guess column needs exactly two systems")


def _clean_texts(answers, items, systems):
    """Clean what raters will read; list what had to be changed."""
    texts, changes = {}, []
    for item in items:
        for column in ("prompt", *systems):
            text, changed = clean(answers.at[item, column])
            texts[item, column] = text
            if changed:
                changes.append({"item": item, "column": column, "changes": changed})
    return texts, changes


def _identical(texts, items, systems):
    """List items to which two systems gave one answer; refuse two that always do."""
    found = []
    for one, two in itertools.combinations(systems, 2):
        same = [item for item in items if texts[item, one] == texts[item, two]]
        if len(same) == len(items):
            raise InputError(
                f"{one} and {two} give the same answer to all {len(items)} items: "
                "there is nothing to compare; is one file named twice?"
            )
        found += [{"item": item, "systems": [one, two]} for item in same]
    return found


def _forms(design, texts, plan, secret):
    forms = []
    for rater, part in design.frame().groupby("rater", sort=False):
        rows, sealed = [], []
        for item, left, right in part[["item_id", "left", "right"]].itertuples(index=False, name=None):
            pair = sorted((left, right))
            rows.append(
                {
                    "prompt_id": opaque_id(secret, "row", item, *pair, rater),
                    "prompt_text": texts[item, "prompt"],
                    "system1_output": texts[item, left],
                    "system2_output": texts[item, right],
                }
            )
            sealed.append({"item": item, "left": left, "right": right})
        forms.append(Form(rater, plan.raters[rater], rows, sealed))
    return forms


def _report(draw, design, changes, texts, systems, account):
    names = re.compile("|".join(rf"\b{re.escape(n)}\b" for n in systems), re.I)
    mentions = [{"item": item, "column": column} for (item, column), text in texts.items() if names.search(text)]
    return {
        "account": account or {},
        "draw": draw.to_dict("records"),
        "balance": design.balance().to_dict("records"),
        "text_changes": changes,
        "texts_with_a_system_name": mentions,
    }


def planned(plan, design):
    """Say what will be tested, before any form is out."""
    per_item = plan.per_item or len(design.raters)
    return {
        "design": {
            "items": len(design.items),
            "raters": dict(plan.raters),
            "raters_per_comparison": per_item,
            "comparisons": len(design.comparisons),
            "systems": len(design.systems),
            "seed_of_the_draw": plan.seed,
        },
        "primary": {
            "scope": "these raters, new items",
            "unit": "item",
            "statistic": "mean over items of (votes for - votes against) / votes",
            "test": TEST,
            "alpha": plan.alpha,
            "no_difference": [0.5 - plan.margin, 0.5 + plan.margin],
        },
        "secondary": ["new raters and items: t of a two-way layout", "per-rater exact sign tests, corrected by Holm"],
        "power": _power(plan, design, per_item),
    }


def _power(plan, design, per_item):
    """Simulate the primary test for the planned sizes, with the spreads assumed."""
    found = simulated_power(
        items=(len(design.items),), raters=(per_item,), win_rates=(plan.win_rate,), alpha=plan.alpha, studies=STUDIES
    )
    row = found.set_index("test").loc[RECOMMENDED]
    assumed = ("win_rate", "tie_rate", "item_sd", "rater_sd")
    return {
        "estimate": float(row["rejected"]),
        "ci": [float(row["ci_low"]), float(row["ci_high"])],
        "simulated_studies": STUDIES,
        "assumed": {name: float(row[name]) for name in assumed},
    }
