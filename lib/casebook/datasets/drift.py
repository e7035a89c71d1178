"""A generated collection in stages: a base, then more policies, then other questions.

Policies come in families that agree in what questions ask for (line, peril, condition
and limit; no two families agree in all four) and differ in the rest. A question that
names no region has every member of one family as an answer; one that names a region
has the member of that region at grade 2 and the others at grade 1. From stage 1 on
there are confusers: policies that say what another says, except that they exclude its
peril. They answer nothing, so that the judgements hold at every stage. From stage 2 on
the questions are said in other words.

Each purpose draws from a random stream of its own. So the policies do not depend on the
number of questions, the first n questions do not depend on how many follow, and stage k
does not depend on the number of stages. Time and memory are linear in both sizes.
"""

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.datasets.corpus import RetrievalDataset
from casebook.datasets.drift_facts import digits, draw_policies
from casebook.datasets.drift_text import VARIANTS, render_policy, render_query, rewrite_query
from casebook.datasets.drift_words import INSURERS
from casebook.datasets.insurance import write_mini_insurance
from casebook.errors import InputError
from casebook.files import new_folder, sha256_file, write_json

#: Policies and questions of the sizes that are reported.
SIZES = ((40, 80), (60, 120), (80, 160), (500, 1000), (2000, 5000))
MAX_QUERIES_PER_POLICY = 16
_WORDING, _QUERIES, _CONFUSERS, _REWRITING = range(3, 7)  # 1 and 2: the facts
_CHOICES = 7
_STEP = 7  # has no divisor in common with the number of ways to ask


def drift_stages(n_policies=40, n_queries=80, seed=1337, stages=3):
    """Generate all stages."""
    _check(n_policies, n_queries, seed, stages)
    base = draw_policies(n_policies, seed)
    queries, qrels = _ask(base, n_queries, seed)
    documents = [_documents(_render(base, seed))]
    if stages > 1:
        documents.append(_documents(_render(base, seed) | _confuse(base, seed)))
    groups = dict(zip(queries["query_id"], queries["group"], strict=True))
    return [
        RetrievalDataset(
            f"stage-{stage:02d}",
            "test",
            documents[min(stage, 1)],
            queries if stage < 2 else _rewrite(queries, seed, stage),
            qrels,
            groups=groups,
        )
        for stage in range(stages)
    ]


def write_drift(folder, n_policies=40, n_queries=80, seed=1337, stages=3):
    """Write all stages in the Mini-Insurance layout, with manifests."""
    datasets = drift_stages(n_policies, n_queries, seed, stages)
    with new_folder(folder) as whole:
        names = [_write_stage(whole, *numbered) for numbered in enumerate(datasets)]
        confusers = len(datasets[-1].documents) - n_policies
        manifest = {
            "DatasetName": Path(folder).name,
            "Seed": seed,
            "Stages": stages,
            "BasePolicies": n_policies,
            "BaseQueries": n_queries,
            "ConfusersStage1": confusers,
            "Notes": "Generated; policies and questions are invented.",
            "Files": {name: sha256_file(whole / name) for name in names},
        }
        write_json(whole / "dataset.manifest.json", manifest)
    return manifest


def _write_stage(whole, number, dataset):
    """Write one stage and its manifest; give the manifest's name."""
    folder = write_mini_insurance(dataset, whole / dataset.key)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = {
        "StageIndex": number,
        "StageName": ("base", "corpus drift", "query drift")[min(number, 2)],
        "Policies": len(dataset.documents),
        "Queries": len(dataset.queries),
        "CorpusDriftD1": number >= 1,
        "QueryDriftD2": number >= 2,
        "Files": {p.relative_to(folder).as_posix(): sha256_file(p) for p in files},
    }
    write_json(folder / "stage.manifest.json", manifest)
    return f"{dataset.key}/stage.manifest.json"


def _check(n_policies, n_queries, seed, stages):
    if n_policies < 1 or n_queries < 1 or stages < 1 or seed < 0:
        raise InputError("drift: sizes and stages must be at least 1, the seed at least 0")
    if n_queries > MAX_QUERIES_PER_POLICY * n_policies:
        raise InputError(
            f"drift: {n_queries} questions for {n_policies} policies would repeat "
            f"themselves: at most {MAX_QUERIES_PER_POLICY} for each"
        )


def _render(base, seed):
    """Give {doc_id: text} of the base policies."""
    rng = np.random.default_rng([seed, _WORDING])
    choices = rng.integers(1000, size=(len(base), _CHOICES)).tolist()
    return {name: render_policy(facts, row) for (name, facts), row in zip(base.items(), choices, strict=True)}


def _confuse(base, seed):
    """Give {doc_id: text} of the confusers: a quarter of the policies, spread out."""
    names, n = list(base), len(base)
    stride = next(step for step in (7, 11, 13, 17, 19, 23, n + 1) if n % step)
    rng = np.random.default_rng([seed, _CONFUSERS])
    texts, numbers = {}, Counter()
    for at in range(max(1, n // 4)):
        source = base[names[stride * at % n]]
        numbers[source.topic] += 1
        number = f"{numbers[source.topic]:0{digits(n, 3)}d}"
        other = replace(source, insurer=(source.insurer + 1) % len(INSURERS))
        choices = rng.integers(1000, size=_CHOICES).tolist()
        name = f"policy-{source.topic}-confuser-{number}"
        texts[name] = render_policy(other, choices, excluded=True)
    return texts


def _documents(texts):
    names = sorted(texts)
    rows = {"doc_id": names, "title": "", "text": [texts[name] for name in names]}
    return pd.DataFrame(rows)


def _ask(base, n, seed):
    """Give the frame of n questions and their judgements."""
    family = defaultdict(list)
    for name, facts in base.items():
        family[facts.family].append(name)
    ways = 2 * VARIANTS
    rng = np.random.default_rng([seed, _QUERIES])
    way = rng.integers(ways, size=len(family)).tolist()
    rows, qrels = [], {}
    for number, name in enumerate(_asked_for(list(base), n, seed), 1):
        facts = base[name]
        variant, place = divmod(way[facts.family], 2)
        way[facts.family] = (way[facts.family] + _STEP) % ways
        text, wording = render_query(facts, variant, bool(place))
        query = f"q{number:0{digits(MAX_QUERIES_PER_POLICY * len(base), 4)}d}"
        rows.append((query, text, f"family-{facts.family}", facts.topic, wording))
        other = 1 if place else 2
        qrels[query] = dict.fromkeys(family[facts.family], other) | {name: 2}
    columns = ["query_id", "text", "group", "line", "wording"]
    return pd.DataFrame(rows, columns=columns), qrels


def _asked_for(names, n, seed):
    """Yield n policies: all in their order, then all again in orders drawn."""
    for start in range(0, n, len(names)):
        order = np.arange(len(names))
        if start:
            rng = np.random.default_rng([seed, _QUERIES, start // len(names)])
            order = rng.permutation(order)
        yield from (names[at] for at in order[: n - start])


def _rewrite(queries, seed, stage):
    rng = np.random.default_rng([seed, _REWRITING, stage])
    texts = [rewrite_query(text, rng) for text in queries["text"]]
    return queries.assign(text=texts)
