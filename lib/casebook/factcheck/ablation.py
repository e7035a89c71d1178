"""What the components are worth: 2^4 cells and nine documented configurations, planted notes, the simulator."""

import itertools
import re
from dataclasses import dataclass, replace
from functools import cached_property
from math import factorial

import numpy as np
import pandas as pd
from scipy import stats

from casebook.errors import InputError
from casebook.factcheck.claims import WORDS, sentences, yaml_table
from casebook.factcheck.evidence import EvidenceBase
from casebook.factcheck.pipeline import FactChecker, PipelineConfig
from casebook.factcheck.score import compare_verdicts, cost_rows
from casebook.factcheck.verdict import BINARY_WEIGHTS, EQUAL_WEIGHTS
from casebook.frames import contrasts
from casebook.progress import track
from casebook.stats.samples import stream

FACTORS = ("decomposition", "diversity", "weighting", "three-stage")
CELLS = tuple(itertools.product((False, True), repeat=len(FACTORS)))
#: A cell is named by the factors that are on.
CELL_NAMES = tuple("+".join(itertools.compress(FACTORS, cell)) or "none" for cell in CELLS)
COMPONENTS = dict(zip(("no FOL", "k=1", "no credibility", "no 3-stage"), FACTORS, strict=True))
PARTS = {
    "decomposition": "no FOL",
    "query diversity": "k=1",
    "credibility weighting": "no credibility",
    "three stages": "no 3-stage",
    "credibility gate": "no gate",
}
MARGIN = 0.05  # one verdict in twenty: a smaller change of accuracy does not matter


@dataclass(frozen=True, eq=False)
class Ablation:
    """Every configuration on every claim: rows on clean documents, and claims x cells by the rate of planted notes."""

    rows: pd.DataFrame
    right: dict
    groups: list
    options: dict

    @cached_property
    def effects(self):
        """All effects with intervals and tests, by rate of planted notes."""
        found = {rate: effects(right, self.groups, **self.options) for rate, right in self.right.items()}
        return pd.concat(found, names=["rate"]).reset_index("rate").reset_index(drop=True)

    def parts(self):
        """The pipeline against itself without each part, on clean documents: the planned family of contrasts."""
        right = right_table(self.rows)[["full", *PARTS.values()]]
        right.columns = ["pipeline", *(f"without {part}" for part in PARTS)]
        pairs = [("pipeline", name) for name in right.columns[1:]]
        return contrasts(right, pairs, self.groups, margin=MARGIN, **self.options)

    def reported(self):
        """The impacts that the document states, in points, beside what was measured on clean documents."""
        names = {code: f"without {part}" for part, code in PARTS.items() if code in COMPONENTS}
        ours = self.parts().set_index("against").loc[list(names.values())]
        points = -100 * ours[["difference", "high", "low"]] + 0.0  # no negative zero
        table = pd.DataFrame({"configuration": list(names)})
        codes = table["configuration"]
        return table.assign(
            reported=codes.map(yaml_table("documented")["simulator"]["reported"]),
            origin="input of a simulator",
            **{
                "simulated accuracy": codes.map(simulated_accuracy),
                "simulated seconds": codes.map(simulated_seconds),
                "reversed at n=10": [chance_of_reversal(code, 10) for code in codes],
                "ours": points["difference"].to_numpy(),
                "ours low": points["high"].to_numpy(),
                "ours high": points["low"].to_numpy(),
            },
            p_adjusted=ours["p_adjusted"].to_numpy(),
            n=ours["n"].to_numpy(),
        )

    def comparisons(self):
        """The full system against the documented configurations that are no single effect."""
        names = [name for name in documented_configs() if name not in COMPONENTS]
        right = right_table(self.rows)[names].astype(bool)
        compared = compare_verdicts(right["full"], right[names[1:]], clusters=self.groups, **self.options)
        return compared.rename(columns={"rival": "configuration"})

    def costs(self, names):
        """Accuracy and crashes beside cost of some configurations."""
        found = self.rows[self.rows["config"].isin(names)].groupby("config", sort=False)
        return found.agg(
            accuracy=("right", "mean"),
            crashed=("verdict", lambda column: int(column.isna().sum())),
            n=("right", "size"),
            queries=("queries", "mean"),
            evidence=("evidence", "mean"),
            seconds=("seconds", "mean"),
        ).reset_index()

    def as_dict(self):
        """All tables as plain values."""
        tables = {
            "cells": self.costs(CELL_NAMES),
            "configurations": self.costs(documented_configs()),
            "comparisons": self.comparisons(),
            "parts": self.parts(),
            "effects": self.effects,
            "reported": self.reported(),
        }
        tables = {name: found.astype(object) for name, found in tables.items()}
        return {name: found.where(found.notna(), None).to_dict(orient="records") for name, found in tables.items()}

    def as_text(self):
        shown = self.effects[self.effects["kind"].isin(["main", "shapley"])]
        tables = {
            "The pipeline against itself without each part": self.parts().drop(columns="reason"),
            "Cells": self.costs(CELL_NAMES),
            "Effects by share of documents with a planted contradiction": shown.drop(columns="reason"),
            "The nine original configurations, run": self.costs(documented_configs()),
            "Impacts that the document states, and ours, in points of accuracy": self.reported(),
        }
        options = {"index": False, "float_format": "%.3f", "na_rep": "-"}
        return "\n\n".join(f"{title}\n{found.to_string(**options)}" for title, found in tables.items())


def ablate(checker, claims, *, rates=(), seeds=range(3), memo=None, seed=0, resamples=10_000):
    """Run all 16 cells and the nine configurations, then the cells with notes planted at each rate above 0."""
    base, others, config = checker.base, (checker.stance, claims, checker.decomposers), checker.config
    cells = factorial_configs(config)
    configs = cells | documented_configs(config) | {"no gate": replace(config, gate="none")}
    rows = run_configs(configs, base, *others, memo=memo)
    right = {0.0: right_table(rows)[list(cells)]}
    for rate in filter(None, rates):
        noisy = (EvidenceBase(plant_noise(base.documents, rate, draw), mode=base.mode) for draw in seeds)
        right[rate] = sum(right_table(run_configs(cells, other, *others)) for other in noisy) / len(seeds)
    groups = rows.drop_duplicates("id")["group"].tolist()
    return Ablation(rows, right, groups, {"n_resamples": resamples, "seed": seed})


def factorial_configs(config=None):
    """Settings of all 16 cells."""
    return {name: cell_config(cell, config) for name, cell in zip(CELL_NAMES, CELLS, strict=True)}


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
    without = {name: cell_config([factor != left for factor in FACTORS], config) for name, left in COMPONENTS.items()}
    return {
        "full": config,
        **without,
        "binary credibility": replace(config, rule=replace(config.rule, weights=BINARY_WEIGHTS)),
        "stricter threshold": replace(config, rule=replace(config.rule, upper=0.85)),
        "lenient threshold": replace(config, rule=replace(config.rule, upper=0.55)),
        "minimal": cell_config(CELLS[0], config),
    }


def run_configs(configs, base, stance, claims, decomposers=None, *, share=True, memo=None):
    """Run configurations on the same claims, one row a configuration and claim; what they share is done once."""
    ids = [claim.id for claim in claims]
    if not ids or len(set(ids)) < len(ids) or not all(claim.label for claim in claims):
        raise InputError("an ablation needs labelled claims with distinct ids")
    memo, tables = {} if memo is None else memo, []
    for name, config in track(configs.items(), "configurations"):
        checker = FactChecker(base, stance, config, decomposers, memo=memo if share else {})
        results = checker.check_all([(claim.id, claim.text) for claim in claims])
        found = cost_rows(results).assign(
            group=[claim.group or claim.id for claim in claims],
            label=[claim.label for claim in claims],
            verdict=pd.Series([result.verdict for result in results], dtype=object),
            support=pd.Series([result.support for result in results], dtype=float),
        )
        found.insert(0, "config", name)
        tables.append(found.assign(right=found["verdict"] == found["label"]))
    return pd.concat(tables, ignore_index=True)


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
    orders = np.array([factorial(n) * factorial(3 - n) / factorial(4) for n in range(4)])
    pairs = list(itertools.combinations(range(4), 2))
    columns = {f"main: {name}": signs[:, place] / 8 for place, name in enumerate(FACTORS)}
    columns |= {f"interaction: {FACTORS[a]} x {FACTORS[b]}": signs[:, a] * signs[:, b] / 8 for a, b in pairs}
    columns |= {f"shapley: {f}": signs[:, place] * orders[others[:, place]] for place, f in enumerate(FACTORS)}
    columns |= {f"without: {f}": signs[:, place] * (others[:, place] == 3) for place, f in enumerate(FACTORS)}
    return pd.DataFrame(columns, index=list(CELL_NAMES))


def effects(values, clusters=None, *, n_resamples=10_000, seed=0):
    """Every effect with interval and test; the effects of one kind are one family of contrasts."""
    if list(values.columns) != list(CELL_NAMES):
        raise InputError(f"the 16 cells are needed in order: {', '.join(CELL_NAMES)}")
    if values.empty:
        raise InputError("there are no claims to compare configurations on")
    weights = effect_weights()
    per_claim = pd.DataFrame(values.to_numpy(float) @ weights.to_numpy(), columns=list(weights)).assign(nothing=0.0)
    tables = []
    for kind in ("main", "interaction", "shapley", "without"):
        pairs = [(name, "nothing") for name in weights if name.startswith(kind)]
        found = contrasts(per_claim, pairs, clusters, n_resamples=n_resamples, seed=seed)
        found.insert(0, "kind", kind)
        found.insert(1, "effect", found["system"].str.removeprefix(f"{kind}: "))
        tables.append(found.drop(columns=["system", "against"]).rename(columns={"difference": "value"}))
    return pd.concat(tables, ignore_index=True)


def plant_noise(documents, rate, seed=0):
    """Add contradicting notes of low credibility on a share of the documents."""
    if not 0 <= rate <= 1:
        raise InputError(f"the rate of noise must be in [0, 1], got {rate}")
    rng = np.random.Generator(stream(seed, "planted notes"))
    chosen = np.sort(rng.permutation(np.arange(len(documents)))[: round(rate * len(documents))])
    notes = documents.iloc[chosen].copy()
    notes["text"] = [" ".join(contradict(text[a:b], rng) for a, b in sentences(text)) for text in notes["text"]]
    notes["doc_id"] = notes["doc_id"] + "~note"
    notes["kind"] = "forum"
    return pd.concat([documents, notes], ignore_index=True)


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_TURNS = [(re.compile(rf"\b{word}\b"), other, 0) for word, other in WORDS["contradictions"].items()]
_TURNS += [
    (re.compile(r"\b(?:not|never) ", re.IGNORECASE), "", 1),
    (re.compile(r"\bexcluded\b", re.IGNORECASE), "covered", 1),
    (re.compile(r"\b(?:no|neither) ", re.IGNORECASE), "a ", 1),
    (re.compile(r"\b(is|are|was|were|may|must|shall|will|can|does|do)\b(?! not)", re.IGNORECASE), r"\1 not", 1),
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


def simulated_accuracy(configuration):
    """Probability with which the documented simulator draws a right answer for one of its nine configurations."""
    told = yaml_table("documented")["simulator"]
    penalty = sum(told["penalties"].get(part, 0) for part in told["changed"][configuration])
    return max(told["least"], told["accuracy"] - penalty)


def simulated_seconds(configuration):
    """The constant that the documented simulator reports as time."""
    told = yaml_table("documented")["simulator"]
    changed = told["changed"][configuration]
    return told["seconds"] * (1 + sum(share for part, share in told["slower"].items() if part not in changed))


def chance_of_reversal(configuration, n):
    """Probability that an ablated system looks at least as good as the full one on n claims of the simulator."""
    counts = np.arange(n + 1)
    ablated = stats.binom.pmf(counts, n, simulated_accuracy(configuration))
    return float(ablated @ stats.binom.cdf(counts, n, simulated_accuracy("full")))
