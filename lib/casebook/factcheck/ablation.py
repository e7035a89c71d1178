"""What the parts are worth: the pipeline without each, nine documented configurations, notes."""

import re
from collections import ChainMap
from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.factcheck.evidence import EvidenceBase
from casebook.factcheck.pipeline import CheckerConfig, FactChecker
from casebook.factcheck.score import results_frame
from casebook.factcheck.transfer import scores_of
from casebook.factcheck.verdict import BINARY_WEIGHTS, EQUAL_WEIGHTS
from casebook.factcheck.words import yaml_table
from casebook.progress import track
from casebook.stats.samples import generator
from casebook.text import sentence_texts, tokens
from casebook.verdicts import OPPOSITE

#: Parts of the pipeline: the configuration without each, and why it may not be measured.
PARTS = pd.DataFrame(yaml_table("parts")).set_index("configuration")
PIPELINE = "pipeline"
#: Readers' names of the configurations that are compared.
COMPARED = {"full": PIPELINE} | ("without " + PARTS["part"]).to_dict()


def ablate(
    checker,
    claims,
    *,
    name="claims",
    noise_rates=(),
    noise_seeds=range(3),
    seed=0,
    n_resamples=10_000,
):
    """The pipeline, its nine documented configurations, and those with planted notes, as frames.

    ``parts`` is the planned family, the pipeline against itself without each part; ``noise`` is the
    same by the share of documents with a planted note. ``configurations`` have accuracy and cost,
    ``reported`` the documented impacts. What gave no claim another input is not measured.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    base = checker.base
    configs = documented_configs(checker.config)
    compared = {config: configs[config] for config in COMPARED}
    rows = run_configs(configs, base, checker.stance, claims)
    parts = part_contrasts(rows, name, **options)
    noise = [parts.assign(rate=0.0)]
    for rate in filter(None, noise_rates):
        tables = []
        for noise_seed in noise_seeds:
            noisy = EvidenceBase(
                plant_noise(base.documents, rate, noise_seed), mode=base.mode
            )
            tables.append(run_configs(compared, noisy, checker.stance, claims))
        noise.append(
            part_contrasts(pd.concat(tables), name, **options).assign(rate=rate)
        )
    return {
        "parts": parts,
        "noise": pd.concat(noise, ignore_index=True),
        "configurations": configuration_costs(rows),
        "reported": reported_impacts(parts),
        "crashed": rows.loc[rows["error"].notna(), ["config", "id", "error"]],
    }


def documented_configs(config=None):
    """The nine documented configurations as settings that are really run; and that without gate."""
    config = config or CheckerConfig()
    rule = config.rule
    without = {
        "no FOL": {"decomposition": "none"},
        "k=1": {"k": 1},
        "no credibility": {"rule": rule._replace(weights=EQUAL_WEIGHTS)},
        "no 3-stage": {"three_stage": False},
    }
    changes = {
        "full": {},
        **without,
        "binary credibility": {"rule": rule._replace(weights=BINARY_WEIGHTS)},
        "stricter threshold": {"rule": rule._replace(upper=0.85)},
        "lenient threshold": {"rule": rule._replace(upper=0.55)},
        "minimal": dict(ChainMap(*without.values())),
        "no gate": {"gate": "none"},
    }
    return {name: config._replace(**changed) for name, changed in changes.items()}


def run_configs(configs, base, stance, claims):
    known = pd.DataFrame(claims)
    tables = []
    for name, config in track(configs.items(), "configurations"):
        results = FactChecker(base, stance, config).check_all(claims)
        table = results_frame(results)
        inputs = list(map(verdict_input, results))
        about = {"config": name, "group": known["group"], "input": inputs}
        tables.append(table.assign(right=table["verdict"] == known["label"], **about))
    return pd.concat(tables, ignore_index=True)


def verdict_input(result):
    """What the verdict on a claim was made from: its parts, queries, passages, and their score.

    Two configurations with the same input of every claim differ in nothing that could have been
    measured. Parts are compared by their words, weights by the score that they give.
    """
    known = result.subclaims + result.dropped
    parts = [(tokens(part.text), part.verifiability) for part in known]
    found = result.evidence
    passages = [
        (item.subclaim_id, item.doc_id, item.start, item.stance) for item in found
    ]
    scores = [part.score for part in result.subverdicts]
    return parts, result.queries, passages, scores


def unused(rows):
    """Configurations that changed the input of no claim, with the reason."""
    inputs = rows.groupby("config")["input"].agg(list)
    idle = [config for config in PARTS.index if inputs[config] == inputs["full"]]
    return PARTS.loc[idle, "unused"].to_dict()


def part_contrasts(rows, name="claims", **options):
    """The pipeline against itself without each part, over the mean of its runs: one family."""
    right = rows.astype({"right": float}).pivot_table(
        "right", "id", "config", sort=False
    )
    right = right[list(COMPARED)].rename(columns=COMPARED)
    groups = rows.drop_duplicates("id").set_index("id")["group"]
    reasons = {
        (PIPELINE, COMPARED[config]): why for config, why in unused(rows).items()
    }
    names = {PIPELINE: PIPELINE}
    for part in right.columns[1:]:
        names[part] = f"pipeline {part}"
    options["same_input"] = lambda _: reasons
    scores = scores_of(right, "accuracy", name, groups, names, **options)
    return replace(scores, names={}).contrasts(
        [(PIPELINE, part) for part in right.columns[1:]]
    )


def configuration_costs(rows):
    rows = rows[rows["config"] != "no gate"].assign(crashed=rows["verdict"].isna())
    columns = {
        "accuracy": ("right", "mean"),
        "crashed": ("crashed", "sum"),
        "n": ("right", "size"),
        "queries": ("queries", "mean"),
        "evidence": ("evidence", "mean"),
        "seconds": ("seconds", "mean"),
    }
    return rows.groupby("config", sort=False).agg(**columns).reset_index()


def reported_impacts(parts):
    """The impacts that the document states, in points, beside what was measured.

    An impact is that of leaving a part out, so signs and verdicts of ``parts`` turn together.
    """
    stated = yaml_table("documented")["simulator"]["reported"]
    table = (
        pd.Series(stated, name="reported").rename_axis("configuration").reset_index()
    )
    measured = parts.set_index("against").loc[table["configuration"].map(COMPARED)]
    points = -100 * measured[["difference", "high", "low"]] + 0.0  # no negative zero
    table[["ours", "ours low", "ours high"]] = points.to_numpy()
    tests = measured[["p_adjusted", "n", "verdict", "reason"]].replace(
        {"verdict": OPPOSITE}
    )
    return table.join(tests.reset_index(drop=True))


def plant_noise(documents, rate, seed=0):
    """Documents with contradicting notes of low credibility on a share of them."""
    order = generator(seed, "planted notes").permutation(len(documents))
    notes = documents.iloc[np.sort(order[: round(rate * len(documents))])]
    texts = []
    for text in notes["text"]:
        texts.append(" ".join(map(contradicted, sentence_texts(text))))
    notes = notes.assign(text=texts, doc_id=notes["doc_id"] + "~note", kind="forum")
    return pd.concat([documents, notes], ignore_index=True)


def contradicted(sentence):
    """A sentence changed by the first pattern that is in it."""
    for row in yaml_table("contradictions"):
        changed = re.sub(row["pattern"], row["by"], sentence, count=row.get("most", 0))
        if changed != sentence:
            return changed
    return sentence
