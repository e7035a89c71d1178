"""The ablation's page cannot contradict itself, and names whoever is best."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from casebook.estimates import contrasts
from casebook.inference.multiplicity import holm
from casebook.paths import NOTEBOOKS
from casebook.plots import pair_matrix
from casebook.retrieval import report
from casebook.retrieval.ablation import TUNED, Ablation
from casebook.retrieval.settings import config_for

OTHERS = ["rrf", "dense", "bm25", "dense_chunked", "no_mmr", "no_reranker"]


def made(scores, groups=None):
    """Give a study of given scores, as if the systems had been run."""
    frame = pd.DataFrame(scores)
    frame.index = [f"q{n}" for n in range(len(frame))]
    frame = frame.assign(random=0.1)
    labels = groups and dict(zip(frame.index, groups, strict=True))
    dataset = SimpleNamespace(name="made", groups=labels, queries=frame)
    config = {n: config_for(n) for n in frame if n != TUNED}
    results = {n: SimpleNamespace(config=c) for n, c in config.items()}
    return Ablation(dataset, results, {"nDCG@10": frame})


def disagreeing():
    """Give scores on which Holm over all pairs and max-T disagree about a pair."""
    rng = np.random.default_rng(3)
    base = rng.uniform(0.2, 0.8, 40)
    scores = {"full": base}
    for k, name in enumerate(OTHERS):
        # One noise for all, so that the statistics hang together, as of real systems.
        noise = np.random.default_rng(9).normal(0, 0.06, 40)
        own = np.random.default_rng(50 + k).normal(0, 0.004, 40)
        scores[name] = base - 0.027 + noise + own
    return made(scores)


def test_interval_verdict_tie_class_star_sentence_and_count_agree():
    study = disagreeing()
    found = study.compare("nDCG@10", "full", n_boot=5000)
    pairs, table = found.pairs, found.systems.set_index("system")
    everything = contrasts(study.scores["nDCG@10"], pairs[["system_a", "system_b"]].to_numpy())
    of_full = pairs["system_a"] == "full"
    decided = pairs["verdict"].isin(["better", "worse"])
    # The case: max-T decides pairs of full that Holm over all pairs leaves undecided.
    assert ((np.array(holm(everything["p"])) > 0.05) & decided & of_full).any()
    assert (pairs["family"].eq("planned") == of_full).all()
    sign = np.sign(pairs["ci_low"]) == np.sign(pairs["ci_high"])
    assert (decided == sign).all() and (decided == (pairs["p_max_t"] <= 0.05)).all()
    for row, word in zip(pairs.itertuples(), decided, strict=True):
        a, b = (set(table.loc[n, "tie_class"].split(",")) for n in row[1:3])
        assert bool(a & b) != word
    stars = [t.get_text() for t in pair_matrix(pairs, list(table.index)).axes[0].texts]
    assert sum("*" in star for star in stars) == 2 * decided.sum()
    text = report.answer(study, found, study.numbers(n_boot=500)).replace("\\", "")
    for family, told in (("planned", "planned contrasts"), ("other", "other pairs")):
        part = decided[pairs["family"] == family]
        assert f"Of {len(part)} {told}" in text
        count = re.search(rf"Of {len(part)} {told}[^:]*: (\d+) decided", text)[1]
        assert int(count) == part.sum()
    for name, word in pairs.loc[of_full, ["system_b", "verdict"]].to_numpy():
        said = re.search(rf"Full minus {name}: .*corrected p [^,]*, (\w+)", text)
        assert said is None or said[1] == word
    tied = re.search(r"not told apart from it: (.*)\.", text)[1]
    tied = tied.replace("all others", ", ".join(table.index[1:]))
    best = table.index[0]
    apart = pairs[decided & pairs[["system_a", "system_b"]].eq(best).any(axis=1)]
    expected = set(table.index) - {best, *apart["system_a"], *apart["system_b"]}
    assert set(tied.replace("none", "").split(", ")) - {""} == expected


def test_the_best_system_is_named_whichever_it_is():
    rng = np.random.default_rng(0)
    base = rng.uniform(0, 1, 60)
    study = made({"full": base * 0.7, "bm25": base * 0.6, "dense": base * 0.5, "rrf": base * 0.9})
    text = report.answer(study, study.compare("nDCG@10", "full", 500), study.numbers(n_boot=500))
    assert "the best of 4 systems is **rrf**" in text
    assert re.search(r"Full minus rrf: -0\.\d+ .*, worse \(the strongest other", text)
    assert re.search(r"Full minus bm25: .*, better \(the strongest single list", text)


def test_tuning_says_when_a_part_is_better():
    base = np.random.default_rng(0).uniform(0.1, 0.9, 60)
    scores = {"full": base * 0.7, "rrf": base, TUNED: base * 0.8}
    study = made(scores)
    found = study.compare("nDCG@10", TUNED, 500)
    text = report.tuning_answer(study, found, {"rrf_k": 20})
    assert "is **rrf**" in text and "above the tuned one" in text
    assert re.search(r"Full\\_tuned minus full: \+0", text)
    study = made(scores | {"rrf": base * 0.75})
    found = study.compare("nDCG@10", TUNED, 500)
    text = report.tuning_answer(study, found, {"rrf_k": 20})
    assert "is **full\\_tuned**" in text and "above the untuned full system" in text


def test_headline_intervals_are_over_groups_and_five_groups_give_none():
    rng = np.random.default_rng(1)
    effects, groups = rng.normal(0, 0.2, 12), np.repeat(range(12), 10)
    full = 0.5 + effects[groups] + rng.normal(0, 0.02, 120)
    scores = {"full": full, "bm25": full - 0.05}
    many = made(scores, groups.tolist()).numbers(n_boot=500)["full"]["nDCG@10"]
    alone = made(scores).numbers(n_boot=500)["full"]["nDCG@10"]
    width, narrow = (np.ptp(n["ci"]) for n in (many, alone))
    assert width > 2 * narrow and many["n"] == 120
    five = made(scores, (groups % 5).tolist())
    number = five.numbers(n_boot=500)["full"]["nDCG@10"]
    assert number["ci"] == [None, None]
    assert number["reason"] == "fewer_than_six_clusters"
    found = five.compare("nDCG@10", "full", n_boot=500)
    assert set(found.pairs["verdict"]) == {"undecided"}
    text = report.answer(five, found, five.numbers(n_boot=500))
    assert "5 groups" in text
    assert re.search("full minus bm25: .* no interval, .*: fewer than six clusters", text, re.I)
    shown = five.by_questions("nDCG@10", n_boot=500).iloc[0]
    assert np.isnan(shown["over groups low"]) and shown["over queries low"] > 0


@pytest.fixture
def drawn(monkeypatch):
    """Record with how many draws, and with which seed, every interval is made."""
    from casebook import estimates
    from casebook.inference import bootstrap

    seen = set()

    def watched(module, name, key):
        original = getattr(module, name)

        def call(*args, **options):
            seen.add((options.get(key, "default"), options.get("seed", "default")))
            return original(*args, **options)

        monkeypatch.setattr(module, name, call)

    for module in (bootstrap, estimates):
        watched(module, "mean_intervals", "n_boot")
    watched(estimates, "sign_flips", "n_resamples")
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("resamples", [150, 160])
def test_one_number_of_resamples_reaches_every_draw_of_the_chapter(drawn, resamples, tmp_path, monkeypatch):
    import matplotlib

    from casebook import paths

    matplotlib.use("agg")
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    cells = json.loads((NOTEBOOKS / "01_retrieval_ablation.ipynb").read_text())["cells"]
    space = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)
        if "parameters" in cell["metadata"].get("tags", []):
            space |= {"modes": ["bm25"], "resamples": resamples, "seed": 7}
    assert drawn == {(resamples, 7)}
