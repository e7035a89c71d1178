"""What the components are worth: 2^4 cells, nine documented configurations, planted notes."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import comb

from casebook.errors import InputError
from casebook.factcheck.pipeline import CheckerConfig, EvidenceBase, FactChecker
from casebook.factcheck.score import cost_rows, field_of_results
from casebook.factcheck.transfer import title_of
from casebook.factcheck.verdict import BINARY_WEIGHTS, EQUAL_WEIGHTS
from casebook.factcheck.words import yaml_table
from casebook.frames import contrasts
from casebook.progress import track
from casebook.scores import Scores
from casebook.stats.samples import generator
from casebook.text import sentence_texts, tokens
from casebook.verdicts import OPPOSITE, margin_of

_PARTS = pd.DataFrame(yaml_table("parts"))
#: Parts of the pipeline, and the configuration without each.
PARTS = dict(zip(_PARTS["part"], _PARTS["configuration"], strict=True))
#: Documented configurations that leave out one factor.
COMPONENTS = _PARTS.dropna(subset="factor").set_index("configuration")["factor"].to_dict()
FACTORS = tuple(COMPONENTS.values())
FACTORIAL_CELLS = tuple(itertools.product((False, True), repeat=len(FACTORS)))
#: A cell is named by the factors that are on.
NAME_OF_CELL = {
    cell: "+".join(itertools.compress(FACTORS, cell)) or "none" for cell in FACTORIAL_CELLS
}
CELL_NAMES = tuple(NAME_OF_CELL.values())
PIPELINE = "pipeline"
WITHOUT = "without {}"
#: The documented simulator's inputs; ``changed``: what each configuration leaves out or changes.
SIMULATOR = yaml_table("documented")["simulator"]
CONTRADICTIONS = yaml_table("contradictions")


def ablate(
    checker,
    claims,
    *,
    name="claims",
    noise_rates=(),
    noise_seeds=range(3),
    memo=None,
    seed=0,
    n_resamples=10_000,
):
    """All 16 cells and the nine configurations, then the cells with planted notes, as frames.

    ``cells`` and ``configurations`` have accuracy and cost; ``parts`` is the planned family,
    ``effects`` those of the cells by rate of noise, ``reported`` the documented impacts. What gave
    no claim another input is not measured.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    base = checker.base
    cells = factorial_configs(checker.config)
    nine = documented_configs(checker.config)
    configs = cells | nine | {"no gate": replace(checker.config, gate="none")}
    rows = run_configs(configs, base, checker.stance, claims, memo=memo)
    right = right_table(rows)
    groups = rows.drop_duplicates("id")["group"].tolist()
    without_part = {part: [("full", code)] for part, code in PARTS.items()}
    parts = part_contrasts(right, groups, unused([rows], without_part), name, **options)
    effects = []
    for rate in {0.0: None, **dict.fromkeys(noise_rates)}:
        tables = [rows]
        if rate:
            tables = []
            for noise_seed in noise_seeds:
                documents = plant_noise(base.documents, rate, noise_seed)
                noisy = EvidenceBase(documents, mode=base.mode)
                tables.append(run_configs(cells, noisy, checker.stance, claims))
        values = sum(map(right_table, tables)) / len(tables)
        table = factorial_effects(values, groups, unused=unused(tables, PAIRS), **options)
        effects.append(table.assign(rate=rate))
    costs = configuration_costs(rows)
    return {
        "cells": costs.loc[list(cells)].reset_index(),
        "configurations": costs.loc[list(nine)].reset_index(),
        "parts": parts,
        "effects": pd.concat(effects, ignore_index=True),
        "reported": reported_impacts(parts),
        "crashed": rows.loc[rows["error"].notna(), ["config", "id", "error"]],
    }


def verdict_input(result):
    """What the verdict on a claim was made from: its parts, queries, passages, and their score.

    Two configurations with the same input of every claim differ in nothing that could have been
    measured. Parts are compared by their words, weights by the score that they give.
    """
    parts = [(tokens(part.text), part.verifiability) for part in result.subclaims + result.dropped]
    passages = [
        (item.subclaim_id, item.doc_id, item.start, item.stance) for item in result.evidence
    ]
    return parts, result.queries, passages, [part.score for part in result.subverdicts]


def unused(tables, pairs):
    """What changed the input of no claim in any table of `run_configs`, with the reason.

    ``pairs`` are configurations with and without it, by the name of a part or of a factor.
    """
    reasons = _PARTS.set_index("part")["unused"].to_dict()
    reasons |= _PARTS.dropna(subset="factor").set_index("factor")["unused"].to_dict()
    reasons = {name: reasons[name] for name in pairs}
    for rows in tables:
        if rows["verdict"].isna().all():
            reasons = dict.fromkeys(reasons, "no claim could be checked")
        inputs = rows.groupby("config")["input"].agg(list)
        for name, compared in pairs.items():
            if any(inputs[config] != inputs[without] for config, without in compared):
                reasons.pop(name, None)
    return reasons


def pairs_of(position):
    """Cells with a factor on, each with the cell that lacks nothing else."""
    cells = [cell for cell in FACTORIAL_CELLS if cell[position]]
    without = [(*cell[:position], False, *cell[position + 1 :]) for cell in cells]
    return list(zip(map(NAME_OF_CELL.get, cells), map(NAME_OF_CELL.get, without), strict=True))


PAIRS = {factor: pairs_of(position) for position, factor in enumerate(FACTORS)}


def configuration_costs(rows):
    """Accuracy and crashes beside cost of every configuration."""
    rows = rows.assign(crashed=rows["verdict"].isna(), n=1, accuracy=rows["right"])
    columns = {"accuracy": "mean", "crashed": "sum", "n": "sum"}
    columns |= dict.fromkeys(["queries", "evidence", "seconds"], "mean")
    return rows.groupby("config", sort=False).agg(columns)


def part_contrasts(right, groups, unused=None, name="claims", **options):
    """The pipeline against itself without each part, on clean documents: the planned family.

    A part that is ``unused`` (part to reason) is not measured.
    """
    reasons = {(PIPELINE, WITHOUT.format(part)): why for part, why in (unused or {}).items()}
    names = {"full": PIPELINE} | {code: WITHOUT.format(part) for part, code in PARTS.items()}
    right = right[list(names)].rename(columns=names)
    scores = Scores(
        right,
        "accuracy",
        name,
        title_of(name),
        unit="claims",
        clusters=None if groups is None else pd.Series(groups, right.index),
        cluster="groups",
        phrases={PIPELINE: "the pipeline"}
        | {name: f"the pipeline {name}" for name in right.columns[1:]},
        same_input=lambda pairs: {pair: reasons[pair] for pair in pairs if pair in reasons},
        **options,
    )
    return scores.contrasts([(PIPELINE, name) for name in right.columns[1:]])


def reported_impacts(parts):
    """The impacts that the document states, in points, beside what was measured.

    An impact is that of leaving a part out, so signs and verdicts of ``parts`` turn together.
    """
    codes = list(SIMULATOR["reported"])
    part_of = {code: WITHOUT.format(part) for part, code in PARTS.items()}
    measured = parts.set_index("against").loc[map(part_of.get, codes)].reset_index()
    table = pd.DataFrame(
        {
            "configuration": codes,
            "reported": SIMULATOR["reported"].values(),
            "simulated accuracy": map(simulated_accuracy, codes),
            "simulated seconds": map(simulated_seconds, codes),
            "reversed at n=10": [chance_of_reversal(code, 10) for code in codes],
        }
    )
    points = -100 * measured[["difference", "high", "low"]] + 0.0  # no negative zero
    table[["ours", "ours low", "ours high"]] = points.to_numpy()
    tests = measured[["p_adjusted", "n", "verdict", "reason"]]
    return table.join(tests.replace({"verdict": OPPOSITE}))


def factorial_configs(config=None):
    """Settings of all 16 cells."""
    return {name: cell_config(cell, config) for cell, name in NAME_OF_CELL.items()}


def cell_config(cell, config=None):
    """Settings of one cell: which of the four factors are on."""
    config = config or CheckerConfig()
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
    config = config or CheckerConfig()
    configs = {"full": config}
    for name, left_out in COMPONENTS.items():
        configs[name] = cell_config([factor != left_out for factor in FACTORS], config)
    for name, changed in {
        "binary credibility": {"weights": BINARY_WEIGHTS},
        "stricter threshold": {"upper": 0.85},
        "lenient threshold": {"upper": 0.55},
    }.items():
        configs[name] = replace(config, rule=replace(config.rule, **changed))
    return configs | {"minimal": cell_config(FACTORIAL_CELLS[0], config)}


def run_configs(configs, base, stance, claims, *, memo=None):
    """Configurations run on the same claims, one row a configuration and claim.

    What they share is computed once.
    """
    memo = {} if memo is None else memo
    tables = []
    for name, config in track(configs.items(), "configurations"):
        results = FactChecker(base, stance, config, memo).check_all(claims)
        table = cost_rows(results).assign(
            config=name,
            group=[claim.group for claim in claims],
            label=[claim.label for claim in claims],
            verdict=field_of_results(results, "verdict"),
            input=[verdict_input(result) for result in results],
            error=field_of_results(results, "error"),
        )
        tables.append(table)
    rows = pd.concat(tables, ignore_index=True)
    return rows.assign(right=rows["verdict"] == rows["label"])


def right_table(rows):
    """Claims x configurations in their order, 1 where right, else 0."""
    wide = rows.pivot_table("right", "id", "config", aggfunc="first").astype(float)
    return wide.loc[rows["id"].drop_duplicates(), rows["config"].drop_duplicates()]


def effect_weights():
    """Weights that turn the 16 cells into effects, shape [16, effects].

    ``main: A``: mean with A on minus mean with A off. ``interaction: A x B``: half the effect of A
    with B on minus half that with B off. ``shapley: A``: A's mean contribution over all orders of
    adding factors; the four sum to full minus none.
    """
    on = np.array(FACTORIAL_CELLS)
    signs = pd.DataFrame(np.where(on, 1.0, -1.0), list(CELL_NAMES), list(FACTORS))
    n_others = on.sum(axis=1, keepdims=True) - on
    of_orders = signs / (4 * comb(3, n_others))
    weights = (signs / 8).add_prefix("main: ")
    for first, second in itertools.combinations(FACTORS, 2):
        weights[f"interaction: {first} x {second}"] = signs[first] * signs[second] / 8
    return weights.join(of_orders.add_prefix("shapley: "))


def factorial_effects(values, clusters=None, *, unused=None, n_resamples=10_000, seed=0):
    """Every effect with interval and test, from claims x ``CELL_NAMES``; a kind is one family.

    An effect of a factor that is ``unused`` (factor to reason) is not measured.
    """
    weights = effect_weights()
    per_claim = (values[list(CELL_NAMES)].astype(float) @ weights).assign(nothing=0.0)
    reasons = {}
    for name, (factor, reason) in itertools.product(weights, (unused or {}).items()):
        if factor in name:
            reasons.setdefault((name, "nothing"), reason)
    tables = []
    for kind in ("main", "interaction", "shapley"):
        table = contrasts(
            per_claim,
            [(name, "nothing") for name in weights if name.startswith(kind)],
            clusters,
            margin=margin_of("accuracy"),
            n_resamples=n_resamples,
            seed=seed,
            not_measured=reasons,
        )
        effects = table["system"].str.removeprefix(f"{kind}: ")
        tables.append(table.assign(kind=kind, effect=effects))
    table = pd.concat(tables, ignore_index=True).rename(columns={"difference": "value"})
    return table[["kind", "effect", *table.columns[2:-2]]]


def plant_noise(documents, rate, seed=0):
    """Documents with contradicting notes of low credibility on a share of them."""
    if not 0 <= rate <= 1:
        raise InputError(f"the rate of noise must be in [0, 1], got {rate}")
    rng = generator(seed, "planted notes")
    chosen = np.sort(rng.permutation(np.arange(len(documents)))[: round(rate * len(documents))])
    notes = documents.iloc[chosen]
    texts = []
    for text in notes["text"]:
        texts.append(" ".join(contradict(sentence, rng) for sentence in sentence_texts(text)))
    notes = notes.assign(text=texts, doc_id=notes["doc_id"] + "~note", kind="forum")
    return pd.concat([documents, notes], ignore_index=True)


def contradict(sentence, rng):
    """Contradict a sentence: other numbers, else the first change of words that applies."""
    factor = float(rng.choice([0.5, 2.0, 3.0]))

    def other(match):
        return _other_number(match[0], factor)

    changed = re.sub(r"\d[\d,]*(?:\.\d+)?", other, sentence)
    for row in CONTRADICTIONS:
        if changed != sentence:
            break
        changed = re.sub(row["pattern"], row["by"], sentence, count=int("once" in row))
    return changed


def _other_number(number, factor):
    """Another number of the same form, never the same."""
    value = float(number.replace(",", ""))
    changed = value * factor if value else 7.0
    if "." in number or not value.is_integer():
        return f"{changed:.2f}"
    changed = round(changed)
    changed += changed == value
    return f"{changed:,}" if "," in number else str(changed)


def simulated_accuracy(configuration):
    """Probability of a right answer of the documented simulator for one of its configurations."""
    changed = SIMULATOR["changed"][configuration]
    penalties = [SIMULATOR["penalties"].get(part, 0) for part in changed]
    return max(SIMULATOR["least"], SIMULATOR["accuracy"] - sum(penalties))


def simulated_seconds(configuration):
    """The constant that the documented simulator reports as time."""
    changed = SIMULATOR["changed"][configuration]
    slower = [n for part, n in SIMULATOR["slower"].items() if part not in changed]
    return SIMULATOR["seconds"] * (1 + sum(slower))


def chance_of_reversal(configuration, n):
    """Probability that an ablated system looks no worse than the full one on n simulated claims."""
    counts = np.arange(n + 1)
    ablated = stats.binom.pmf(counts, n, simulated_accuracy(configuration))
    return float(ablated @ stats.binom.cdf(counts, n, simulated_accuracy("full")))
