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
from casebook.factcheck.score import compare_verdicts, cost_rows, field_of_results
from casebook.factcheck.verdict import BINARY_WEIGHTS, EQUAL_WEIGHTS
from casebook.factcheck.words import CLAIM_WORDS, yaml_table
from casebook.frames import contrasts
from casebook.progress import track
from casebook.stats.samples import generator
from casebook.text import sentence_texts, tokens
from casebook.verdicts import OPPOSITE, margin_of

_PARTS = pd.DataFrame(yaml_table("parts"))
#: Parts of the pipeline, and the configuration without each.
PARTS = dict(zip(_PARTS["part"], _PARTS["configuration"], strict=True))
#: What it means that a part was left out and no claim got another input.
UNUSED = dict(zip(_PARTS["part"], _PARTS["unused"], strict=True))
_VARIED = _PARTS.dropna(subset="factor")
PART_OF_FACTOR = dict(zip(_VARIED["factor"], _VARIED["part"], strict=True))
#: Documented configurations that leave out one factor.
COMPONENTS = dict(zip(_VARIED["configuration"], _VARIED["factor"], strict=True))
FACTORS = tuple(PART_OF_FACTOR)
FACTORIAL_CELLS = tuple(itertools.product((False, True), repeat=len(FACTORS)))
#: A cell is named by the factors that are on.
NAME_OF_CELL = {
    cell: "+".join(itertools.compress(FACTORS, cell)) or "none" for cell in FACTORIAL_CELLS
}
CELL_NAMES = tuple(NAME_OF_CELL.values())
NO_OTHER_INPUT = "this configuration gave no claim another input"
NOTHING_CHECKED = "no claim could be checked"


def ablate(
    checker,
    claims,
    *,
    noise_rates=(),
    noise_seeds=range(3),
    memo=None,
    seed=0,
    n_resamples=10_000,
):
    """Run all 16 cells and the nine configurations, then the cells with planted notes.

    Gives frames: ``cells`` and ``configurations`` with accuracy and cost, ``comparisons`` of the
    full system with the configurations that are no single effect, ``parts`` (the planned family),
    ``effects`` by rate of noise, ``reported``, and ``claims``, see `claims_by_part`. What gave no
    claim another input is not measured.
    """
    base = checker.base
    stance = checker.stance
    cells = factorial_configs(checker.config)
    nine = documented_configs(checker.config)
    configs = cells | nine | {"no gate": replace(checker.config, gate="none")}
    rows = run_configs(configs, base, stance, claims, memo=memo)
    right = right_table(rows)
    groups = rows.drop_duplicates("id")["group"].tolist()
    right_by_rate = {0.0: right}
    effects = {
        0.0: factorial_effects(
            right, groups, unused=unused_factors([rows]), n_resamples=n_resamples, seed=seed
        )
    }
    for rate in filter(None, noise_rates):
        noisy_rows = []
        for noise_seed in noise_seeds:
            documents = plant_noise(base.documents, rate, noise_seed)
            noisy_base = EvidenceBase(documents, mode=base.mode)
            noisy_rows.append(run_configs(cells, noisy_base, stance, claims))
        right_by_rate[rate] = sum(map(right_table, noisy_rows)) / len(noisy_rows)
        effects[rate] = factorial_effects(
            right_by_rate[rate],
            groups,
            unused=unused_factors(noisy_rows),
            n_resamples=n_resamples,
            seed=seed,
        )
    effects = pd.concat(effects, names=["rate"]).reset_index("rate").reset_index(drop=True)
    parts = part_contrasts(right, groups, unused_parts(rows), n_resamples=n_resamples, seed=seed)
    costs = configuration_costs(rows)
    crashed = rows.loc[rows["error"].notna(), ["config", "id", "error"]]
    return {
        "cells": costs.loc[list(cells)].reset_index(),
        "configurations": costs.loc[list(nine)].reset_index(),
        "comparisons": _compare_with_full(rows, right, groups, nine, n_resamples, seed),
        "parts": parts,
        "effects": effects,
        "reported": reported_impacts(parts),
        "crashed": crashed.reset_index(drop=True),
        "claims": claims_by_part(rows, right_by_rate),
    }


def claims_by_part(rows, right_by_rate):
    """What each part does to single claims: the verdicts without it, and whether it decides.

    A part decides a claim if leaving it out changes whether the verdict is right: out of the whole
    pipeline, and by rate of noise, out of some combination of parts.
    """
    right = right_by_rate[0.0]
    verdicts = rows.pivot_table("verdict", "id", "config", aggfunc="first")
    verdicts = verdicts.reindex(index=right.index, columns=right.columns)
    verdicts = verdicts.astype(object).where(verdicts.notna(), None)
    claims = pd.DataFrame({"verdict": verdicts["full"]})
    for part, code in PARTS.items():
        claims[f"without {part}"] = verdicts[code]
        claims[decided_by(part)] = right["full"] != right[code]
    for rate, values in right_by_rate.items():
        for position, factor in enumerate(FACTORS):
            changes = [values[name] != values[without] for name, without in pairs_of(position)]
            claims[decided_by(PART_OF_FACTOR[factor], rate)] = np.any(changes, axis=0)
    return claims.rename_axis(None, axis=1).reset_index()


def decided_by(part, rate=None):
    """Name the claims that a part decides: in the pipeline, or at a rate in some combination."""
    where = "" if rate is None else f" in a combination, {rate:.0%} contradicted"
    return f"decided by {part}{where}"


def _compare_with_full(rows, right, groups, configs, n_resamples, seed):
    """The full system against the documented configurations that are no single effect."""
    rivals = [name for name in configs if name not in ("full", *COMPONENTS)]
    comparisons = compare_verdicts(
        right["full"].astype(bool),
        right[rivals].astype(bool),
        clusters=groups,
        not_measured={
            name: NO_OTHER_INPUT for name in rivals if not inputs_differ(rows, "full", name)
        },
        margin=margin_of("accuracy"),
        n_resamples=n_resamples,
        seed=seed,
    )
    return comparisons.rename(columns={"rival": "configuration"})


def verdict_input(result, rule):
    """What the verdict on a claim was made from: its parts, queries, passages, and their weights.

    Two configurations with the same input of every claim differ in nothing that could have been
    measured. Parts are compared by their words, and weights relative to the heaviest passage of a
    part that takes a side.
    """
    parts = tuple(
        (tokens(part.text), part.verifiability) for part in (*result.subclaims, *result.dropped)
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


def inputs_differ(rows, config, baseline):
    """Whether any claim gave the verdicts of two configurations different inputs."""
    inputs = rows.groupby("config")["input"].agg(list)
    return inputs[config] != inputs[baseline]


def unused_parts(rows):
    """Parts without which every claim had the same input, with the reason."""
    unused = [part for part, code in PARTS.items() if not inputs_differ(rows, "full", code)]
    if rows["verdict"].isna().all():
        return dict.fromkeys(unused, NOTHING_CHECKED)
    return {part: UNUSED[part] for part in unused}


def unused_factors(tables):
    """Factors that changed the input of no claim in any table of `run_configs`, with the reason."""
    unused = {}
    for position, factor in enumerate(FACTORS):
        pairs = pairs_of(position)
        if not any(inputs_differ(rows, *pair) for rows in tables for pair in pairs):
            unused[factor] = UNUSED[PART_OF_FACTOR[factor]]
    return unused


def pairs_of(position):
    """Cells with a factor on, each with the cell that lacks nothing else."""
    pairs = []
    for cell in FACTORIAL_CELLS:
        if cell[position]:
            without = (*cell[:position], False, *cell[position + 1 :])
            pairs.append((NAME_OF_CELL[cell], NAME_OF_CELL[without]))
    return pairs


def configuration_costs(rows):
    """Accuracy and crashes beside cost of every configuration."""
    rows = rows.assign(crashed=rows["verdict"].isna())
    return rows.groupby("config", sort=False).agg(
        accuracy=("right", "mean"),
        crashed=("crashed", "sum"),
        n=("right", "size"),
        queries=("queries", "mean"),
        evidence=("evidence", "mean"),
        seconds=("seconds", "mean"),
    )


def part_contrasts(right, groups, unused=None, *, n_resamples=10_000, seed=0):
    """The pipeline against itself without each part, on clean documents: the planned family.

    A part that is ``unused`` (part to reason) is not measured.
    """
    names = {"full": "pipeline"} | {code: f"without {part}" for part, code in PARTS.items()}
    right = right[list(names)].rename(columns=names)
    reasons = {("pipeline", f"without {part}"): reason for part, reason in (unused or {}).items()}
    return contrasts(
        right,
        [("pipeline", name) for name in right.columns[1:]],
        groups,
        margin=margin_of("accuracy"),
        n_resamples=n_resamples,
        seed=seed,
        not_measured=reasons,
    )


def reported_impacts(parts):
    """The impacts that the document states, in points, beside what was measured."""
    stated = pd.DataFrame(
        [
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
    )
    without = [f"without {part}" for part, code in PARTS.items() if code in COMPONENTS]
    measured = parts.set_index("against").loc[without].reset_index(drop=True)
    points = -100 * measured[["difference", "high", "low"]] + 0.0  # no negative zero
    points.columns = ["ours", "ours low", "ours high"]
    tests = measured[["p_adjusted", "n", "verdict", "reason"]]
    # An impact is that of leaving a part out.
    tests = tests.assign(verdict=tests["verdict"].replace(OPPOSITE))
    return pd.concat([stated, points, tests], axis=1)


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
    rules = {
        "binary credibility": replace(config.rule, weights=BINARY_WEIGHTS),
        "stricter threshold": replace(config.rule, upper=0.85),
        "lenient threshold": replace(config.rule, upper=0.55),
    }
    for name, rule in rules.items():
        configs[name] = replace(config, rule=rule)
    configs["minimal"] = cell_config(FACTORIAL_CELLS[0], config)
    return configs


def run_configs(configs, base, stance, claims, *, memo=None):
    """Run configurations on the same claims, one row a configuration and claim.

    What they share is computed once.
    """
    memo = {} if memo is None else memo
    tables = []
    for name, config in track(configs.items(), "configurations"):
        checker = FactChecker(base, stance, config, memo)
        results = checker.check_all(claims)
        table = cost_rows(results).assign(
            config=name,
            group=[claim.group for claim in claims],
            label=[claim.label for claim in claims],
            verdict=field_of_results(results, "verdict"),
            support=field_of_results(results, "support", float),
            input=[verdict_input(result, config.rule) for result in results],
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
    adding factors; the four sum to full minus none. ``without: A``: full minus full without A.
    """
    on = np.array(FACTORIAL_CELLS)
    signs = np.where(on, 1.0, -1.0)
    n_others = on.sum(axis=1, keepdims=True) - on
    weight_of_orders = 1 / (4 * comb(3, np.arange(4)))
    columns = {}
    for j, factor in enumerate(FACTORS):
        columns[f"main: {factor}"] = signs[:, j] / 8
    for i, j in itertools.combinations(range(4), 2):
        columns[f"interaction: {FACTORS[i]} x {FACTORS[j]}"] = signs[:, i] * signs[:, j] / 8
    for j, factor in enumerate(FACTORS):
        columns[f"shapley: {factor}"] = signs[:, j] * weight_of_orders[n_others[:, j]]
    for j, factor in enumerate(FACTORS):
        columns[f"without: {factor}"] = signs[:, j] * (n_others[:, j] == 3)
    return pd.DataFrame(columns, index=list(CELL_NAMES))


def factorial_effects(values, clusters=None, *, unused=None, n_resamples=10_000, seed=0):
    """Every effect with interval and test, from claims x ``CELL_NAMES``; a kind is one family.

    An effect of a factor that is ``unused`` (factor to reason) is not measured.
    """
    weights = effect_weights()
    per_claim = (values[list(CELL_NAMES)].astype(float) @ weights).assign(nothing=0.0)
    reasons = {}
    for name in weights:
        for factor, reason in (unused or {}).items():
            if factor in name:
                reasons.setdefault((name, "nothing"), reason)
    tables = []
    for kind in ("main", "interaction", "shapley", "without"):
        table = contrasts(
            per_claim,
            [(name, "nothing") for name in weights if name.startswith(kind)],
            clusters,
            margin=margin_of("accuracy"),
            n_resamples=n_resamples,
            seed=seed,
            not_measured=reasons,
        )
        table = table.drop(columns="against")
        table["system"] = table["system"].str.removeprefix(f"{kind}: ")
        table.insert(0, "kind", kind)
        tables.append(table)
    columns = {"system": "effect", "difference": "value"}
    return pd.concat(tables, ignore_index=True).rename(columns=columns)


def plant_noise(documents, rate, seed=0):
    """Add contradicting notes of low credibility on a share of the documents."""
    if not 0 <= rate <= 1:
        raise InputError(f"the rate of noise must be in [0, 1], got {rate}")
    rng = generator(seed, "planted notes")
    chosen = np.sort(rng.permutation(np.arange(len(documents)))[: round(rate * len(documents))])
    notes = documents.iloc[chosen].copy()
    texts = []
    for text in notes["text"]:
        texts.append(" ".join(contradict(sentence, rng) for sentence in sentence_texts(text)))
    notes["text"] = texts
    notes["doc_id"] = notes["doc_id"] + "~note"
    notes["kind"] = "forum"
    return pd.concat([documents, notes], ignore_index=True)


_WRITTEN_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_VERB = r"\b(is|are|was|were|may|must|shall|will|can|does|do)\b(?! not)"
#: Pattern, replacement, and how often it is replaced (0: everywhere).
_CONTRADICTIONS = [
    (re.compile(rf"\b{word}\b"), opposite, 0)
    for word, opposite in CLAIM_WORDS["contradictions"].items()
]
_CONTRADICTIONS += [
    (re.compile(r"\b(?:not|never) ", re.IGNORECASE), "", 1),
    (re.compile(r"\bexcluded\b", re.IGNORECASE), "covered", 1),
    (re.compile(r"\b(?:no|neither) ", re.IGNORECASE), "a ", 1),
    (re.compile(_VERB, re.IGNORECASE), r"\1 not", 1),
]


def contradict(sentence, rng):
    """Contradict a sentence: other numbers, else the first change of words that applies."""
    factor = float(rng.choice([0.5, 2.0, 3.0]))
    changed = _WRITTEN_NUMBER.sub(lambda match: _other_number(match.group(), factor), sentence)
    for pattern, replacement, count in _CONTRADICTIONS:
        if changed != sentence:
            break
        changed = pattern.sub(replacement, sentence, count=count)
    return changed


def _other_number(number, factor):
    """Another number of the same form, never the same."""
    value = float(number.replace(",", ""))
    changed = value * factor if value else 7.0
    if not value.is_integer() or "." in number:
        return f"{changed:.2f}"
    changed = round(changed)
    if changed == value:
        changed = value + 1
    return f"{changed:,.0f}" if "," in number else f"{changed:.0f}"


#: The documented simulator's inputs; ``changed``: what each configuration leaves out or changes.
SIMULATOR = yaml_table("documented")["simulator"]


def simulated_accuracy(configuration):
    """Probability of a right answer of the documented simulator for one of its configurations."""
    penalties = [
        SIMULATOR["penalties"].get(part, 0) for part in SIMULATOR["changed"][configuration]
    ]
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
