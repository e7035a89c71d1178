"""What the components are worth: 2^4 cells and nine documented configurations, planted notes, the simulator."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import comb

from casebook.errors import InputError
from casebook.factcheck.claims import WORDS, sentences, words, yaml_table
from casebook.factcheck.pipeline import EvidenceBase, FactChecker, PipelineConfig
from casebook.factcheck.score import compare_verdicts, cost_rows, of_results
from casebook.factcheck.verdict import BINARY_WEIGHTS, EQUAL_WEIGHTS
from casebook.frames import contrasts
from casebook.progress import track
from casebook.stats.samples import stream

FACTORS = ("decomposition", "diversity", "weighting", "three-stage")
CELLS = tuple(itertools.product((False, True), repeat=len(FACTORS)))
#: A cell is named by the factors that are on.
NAME_OF_CELL = {cell: "+".join(itertools.compress(FACTORS, cell)) or "none" for cell in CELLS}
CELL_NAMES = tuple(NAME_OF_CELL.values())
COMPONENTS = dict(zip(("no FOL", "k=1", "no credibility", "no 3-stage"), FACTORS, strict=True))
PARTS = {
    "decomposition": "no FOL",
    "query diversity": "k=1",
    "credibility weighting": "no credibility",
    "three stages": "no 3-stage",
    "credibility gate": "no gate",
}
MARGIN = 0.05  # one verdict in twenty: a smaller change of accuracy does not matter
#: What it means that a part was left out and no claim got another input.
UNUSED = {
    "decomposition": "no claim has two parts",
    "query diversity": "no part of a claim has a second query",
    "credibility weighting": "no part of a claim has evidence of two levels of credibility, so nothing was weighed",
    "three stages": "no passage differs from its whole document",
    "credibility gate": "no document that was found fails the gate",
}
UNUSED_FACTORS = {factor: UNUSED[part] for factor, part in zip(FACTORS, PARTS, strict=False)}
NO_OTHER_INPUT = "this configuration gave no claim another input"
NOTHING_CHECKED = "no claim could be checked"


def ablate(checker, claims, *, rates=(), seeds=range(3), memo=None, seed=0, n_resamples=10_000):
    """Run all 16 cells and the nine configurations, then the cells with notes planted at each rate above 0.

    Gives frames: ``cells`` and ``configurations`` with accuracy and cost, ``comparisons`` of the full system with the
    configurations that are no single effect, ``parts`` (the planned family), ``effects`` by rate, ``reported``. What
    gave no claim another input is not measured.
    """
    base, stance, config = checker.base, checker.stance, checker.config
    cells = factorial_configs(config)
    nine = documented_configs(config)
    rows = run_configs(
        cells | nine | {"no gate": replace(config, gate="none")}, base, stance, claims, memo=memo
    )
    groups = rows.drop_duplicates("id")["group"].tolist()
    options = {"n_resamples": n_resamples, "seed": seed}
    by_rate = {0.0: effects(right_table(rows), groups, unused=unused_factors([rows]), **options)}
    for rate in filter(None, rates):
        draws = []
        for draw in seeds:
            noisy = EvidenceBase(plant_noise(base.documents, rate, draw), mode=base.mode)
            draws.append(run_configs(cells, noisy, stance, claims))
        mean = sum(map(right_table, draws)) / len(draws)
        by_rate[rate] = effects(mean, groups, unused=unused_factors(draws), **options)
    right = right_table(rows)
    left_out = parts(right, groups, unused_parts(rows), **options)
    rivals = [name for name in nine if name not in ("full", *COMPONENTS)]
    idle = {name: NO_OTHER_INPUT for name in rivals if not inputs_differ(rows, "full", name)}
    compared = compare_verdicts(
        right["full"].astype(bool),
        right[rivals].astype(bool),
        clusters=groups,
        not_measured=idle,
        **options,
    )
    cost = costs(rows)
    return {
        "cells": cost.loc[list(cells)].reset_index(),
        "configurations": cost.loc[list(nine)].reset_index(),
        "comparisons": compared.rename(columns={"rival": "configuration"}),
        "parts": left_out,
        "effects": pd.concat(by_rate, names=["rate"]).reset_index("rate").reset_index(drop=True),
        "reported": reported(left_out),
        "crashed": rows.loc[rows["error"].notna(), ["config", "id", "error"]].reset_index(
            drop=True
        ),
    }


def verdict_input(result, rule):
    """What the verdict on a claim was made from: its parts, queries, passages, and what each weighs.

    Two configurations with the same input of every claim differ in nothing that could have been measured. Parts are
    compared by their words, and weights relative to the heaviest passage of a part that takes a side.
    """
    parts = tuple(
        (tuple(words(part.text)), part.verifiability)
        for part in (*result.subclaims, *result.dropped)
    )
    passages = []
    for name in result.parts:
        evidence = result.evidence_of(name)
        counted = rule.counted(evidence)
        heaviest = 1.0 if rule.per_item else max(map(rule.weight, counted), default=1.0)
        for item in evidence:
            weight = rule.weight(item) / heaviest if item in counted else 0.0
            passages.append(
                (name, item.doc_id, item.start, item.end, item.stance, round(weight, 12))
            )
    settings = (rule.upper, rule.lower, rule.per_item, rule.neutral_against, rule.documented)
    return parts, result.queries, tuple(passages), settings


def inputs_differ(rows, first, second):
    """Whether any claim gave the verdicts of two configurations different inputs."""
    inputs = rows.groupby("config")["input"].agg(list)
    return inputs[first] != inputs[second]


def unused_parts(rows):
    """Parts without which every claim had the same input, with the reason."""
    unused = {
        part: UNUSED[part] for part, code in PARTS.items() if not inputs_differ(rows, "full", code)
    }
    return dict.fromkeys(unused, NOTHING_CHECKED) if rows["verdict"].isna().all() else unused


def unused_factors(tables):
    """Factors that changed the input of no claim in any cell of any table of `run_configs`, with the reason."""
    unused = {}
    for place, factor in enumerate(FACTORS):
        without = {
            cell: (*cell[:place], False, *cell[place + 1 :]) for cell in CELLS if cell[place]
        }
        pairs = [(NAME_OF_CELL[cell], NAME_OF_CELL[rest]) for cell, rest in without.items()]
        if not any(inputs_differ(rows, *pair) for rows in tables for pair in pairs):
            unused[factor] = UNUSED_FACTORS[factor]
    return unused


def costs(rows):
    """Accuracy and crashes beside cost of every configuration."""
    return rows.groupby("config", sort=False).agg(
        accuracy=("right", "mean"),
        crashed=("verdict", lambda column: int(column.isna().sum())),
        n=("right", "size"),
        queries=("queries", "mean"),
        evidence=("evidence", "mean"),
        seconds=("seconds", "mean"),
    )


def parts(right, groups, unused=None, **options):
    """The pipeline against itself without each part, on clean documents: the planned family of contrasts.

    A part that is ``unused`` (part to reason) is not measured.
    """
    names = {"full": "pipeline"} | {code: f"without {part}" for part, code in PARTS.items()}
    right = right[list(names)].rename(columns=names)
    pairs = [("pipeline", name) for name in right.columns[1:]]
    reasons = {("pipeline", f"without {part}"): reason for part, reason in (unused or {}).items()}
    return contrasts(right, pairs, groups, margin=MARGIN, not_measured=reasons, **options)


def reported(left_out):
    """The impacts that the document states, in points, beside what was measured on clean documents."""
    ours = left_out.set_index("against").loc[
        [f"without {part}" for part in PARTS if PARTS[part] in COMPONENTS]
    ]
    points = (-100 * ours[["difference", "high", "low"]] + 0.0).set_axis(
        ["ours", "ours low", "ours high"], axis=1
    )
    stated = [
        {
            "configuration": code,
            "reported": SIMULATOR["reported"][code],
            "origin": "input of a simulator",
            "simulated accuracy": simulated_accuracy(code),
            "simulated seconds": simulated_seconds(code),
            "reversed at n=10": chance_of_reversal(code, 10),
        }
        for code in COMPONENTS
    ]
    measured = pd.concat(
        [points, ours[["p_adjusted", "n", "verdict", "reason"]]], axis=1
    )  # + 0.0: no negative zero
    return pd.DataFrame(stated).join(measured.reset_index(drop=True))


def factorial_configs(config=None):
    """Settings of all 16 cells."""
    return {name: cell_config(cell, config) for cell, name in NAME_OF_CELL.items()}


def cell_config(cell, config=None):
    """Settings of one cell: which of the four factors are on."""
    config = config or PipelineConfig()
    decomposition, diversity, weighting, three_stage = cell
    return replace(
        config,
        decomposition=config.decomposition if decomposition else "none",
        k=config.k if diversity else 1,
        rule=config.rule if weighting else replace(config.rule, weights=EQUAL_WEIGHTS),
        three_stage=config.three_stage and three_stage,
    )


def documented_configs(config=None):
    """The nine documented configurations, as settings that are really run."""
    config = config or PipelineConfig()
    changed = {"binary credibility": {"weights": BINARY_WEIGHTS}}
    changed |= {"stricter threshold": {"upper": 0.85}, "lenient threshold": {"upper": 0.55}}
    return {
        "full": config,
        **{
            name: cell_config([factor != left for factor in FACTORS], config)
            for name, left in COMPONENTS.items()
        },
        **{
            name: replace(config, rule=replace(config.rule, **change))
            for name, change in changed.items()
        },
        "minimal": cell_config(CELLS[0], config),
    }


def run_configs(configs, base, stance, claims, *, share=True, memo=None):
    """Run configurations on the same claims, one row a configuration and claim; what they share is done once."""
    memo, tables = {} if memo is None else memo, []
    for name, config in track(configs.items(), "configurations"):
        checker = FactChecker(base, stance, config, memo if share else {})
        results = checker.check_all(claims)
        found = cost_rows(results).assign(
            config=name,
            group=[claim.group for claim in claims],
            label=[claim.label for claim in claims],
            verdict=of_results(results, "verdict"),
            support=of_results(results, "support", float),
            input=[verdict_input(result, config.rule) for result in results],
            error=of_results(results, "error"),
        )
        tables.append(found)
    rows = pd.concat(tables, ignore_index=True)
    return rows.assign(right=rows["verdict"] == rows["label"])


def right_table(rows):
    """Claims x configurations in their order, 1 where right, else 0."""
    wide = rows.pivot_table("right", "id", "config", aggfunc="first").astype(float)
    return wide.loc[rows["id"].drop_duplicates(), rows["config"].drop_duplicates()]


def effect_weights():
    """Weights that turn the 16 cells into effects, shape [16, effects].

    ``main: A``: mean with A on minus mean with A off. ``interaction: A x B``: half the effect of A with B on minus
    half that with B off. ``shapley: A``: A's mean contribution over all orders of adding factors; the four sum to
    full minus none. ``without: A``: full minus full without A.
    """
    on = np.array(CELLS)
    signs, others = np.where(on, 1.0, -1.0), on.sum(axis=1, keepdims=True) - on
    orders = 1 / (4 * comb(3, np.arange(4)))
    pairs = list(itertools.combinations(range(4), 2))
    columns = {f"main: {name}": signs[:, place] / 8 for place, name in enumerate(FACTORS)}
    columns |= {
        f"interaction: {FACTORS[a]} x {FACTORS[b]}": signs[:, a] * signs[:, b] / 8 for a, b in pairs
    }
    columns |= {
        f"shapley: {f}": signs[:, place] * orders[others[:, place]]
        for place, f in enumerate(FACTORS)
    }
    columns |= {
        f"without: {f}": signs[:, place] * (others[:, place] == 3)
        for place, f in enumerate(FACTORS)
    }
    return pd.DataFrame(columns, index=list(CELL_NAMES))


def effects(values, clusters=None, *, unused=None, n_resamples=10_000, seed=0):
    """Every effect with interval and test, from claims x ``CELL_NAMES``; the effects of one kind are one family.

    An effect of a factor that is ``unused`` (factor to reason) is not measured.
    """
    weights = effect_weights()
    per_claim = (values[list(CELL_NAMES)].astype(float) @ weights).assign(nothing=0.0)
    reasons = {}
    for name, (factor, reason) in itertools.product(weights, (unused or {}).items()):
        if factor in name:
            reasons.setdefault((name, "nothing"), reason)
    options = {"n_resamples": n_resamples, "seed": seed, "not_measured": reasons}
    tables = []
    for kind in ("main", "interaction", "shapley", "without"):
        pairs = [(name, "nothing") for name in weights if name.startswith(kind)]
        table = contrasts(per_claim, pairs, clusters, **options).drop(columns="against")
        table.insert(0, "kind", kind)
        tables.append(table.assign(system=table["system"].str.removeprefix(f"{kind}: ")))
    return pd.concat(tables, ignore_index=True).rename(
        columns={"system": "effect", "difference": "value"}
    )


def plant_noise(documents, rate, seed=0):
    """Add contradicting notes of low credibility on a share of the documents."""
    if not 0 <= rate <= 1:
        raise InputError(f"the rate of noise must be in [0, 1], got {rate}")
    rng = np.random.Generator(stream(seed, "planted notes"))
    chosen = np.sort(rng.permutation(np.arange(len(documents)))[: round(rate * len(documents))])
    notes = documents.iloc[chosen].copy()
    notes["text"] = [
        " ".join(contradict(text[a:b], rng) for a, b in sentences(text)) for text in notes["text"]
    ]
    notes["doc_id"] = notes["doc_id"] + "~note"
    notes["kind"] = "forum"
    return pd.concat([documents, notes], ignore_index=True)


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_TURNS = [(re.compile(rf"\b{word}\b"), other, 0) for word, other in WORDS["contradictions"].items()]
_TURNS += [
    (re.compile(r"\b(?:not|never) ", re.IGNORECASE), "", 1),
    (re.compile(r"\bexcluded\b", re.IGNORECASE), "covered", 1),
    (re.compile(r"\b(?:no|neither) ", re.IGNORECASE), "a ", 1),
    (
        re.compile(r"\b(is|are|was|were|may|must|shall|will|can|does|do)\b(?! not)", re.IGNORECASE),
        r"\1 not",
        1,
    ),
]


def contradict(sentence, rng):
    """A sentence that contradicts another: other numbers, else a turn of its words, the first that changes it."""
    factor = float(rng.choice([0.5, 2.0, 3.0]))
    changed = _NUMBER.sub(lambda found: _other_number(found.group(), factor), sentence)
    for pattern, put, count in _TURNS:
        if changed != sentence:
            break
        changed = pattern.sub(put, sentence, count=count)
    return changed


def _other_number(number, factor):
    """Another number of the same form, never the same."""
    value = float(number.replace(",", ""))
    other = value * factor if value else 7.0
    if not value.is_integer() or "." in number:
        return f"{other:.2f}"
    other = round(other) if round(other) != value else value + 1
    return f"{other:,.0f}" if "," in number else f"{other:.0f}"


#: The documented simulator's inputs; ``changed`` is what each configuration leaves out or changes.
SIMULATOR = yaml_table("documented")["simulator"]


def simulated_accuracy(configuration):
    """Probability with which the documented simulator draws a right answer for one of its nine configurations."""
    penalties = [
        SIMULATOR["penalties"].get(part, 0) for part in SIMULATOR["changed"][configuration]
    ]
    return max(SIMULATOR["least"], SIMULATOR["accuracy"] - sum(penalties))


def simulated_seconds(configuration):
    """The constant that the documented simulator reports as time."""
    changed = SIMULATOR["changed"][configuration]
    return SIMULATOR["seconds"] * (
        1 + sum(n for part, n in SIMULATOR["slower"].items() if part not in changed)
    )


def chance_of_reversal(configuration, n):
    """Probability that an ablated system looks at least as good as the full one on n claims of the simulator."""
    counts = np.arange(n + 1)
    ablated = stats.binom.pmf(counts, n, simulated_accuracy(configuration))
    return float(ablated @ stats.binom.cdf(counts, n, simulated_accuracy("full")))
