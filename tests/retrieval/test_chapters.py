"""The chapters on retrieval and query length, run whole: they say what their tables hold."""

import pytest
from beir_folders import write_beir

from casebook.readers import read_json

TEXTS = [
    "The tenant may cancel the lease with notice.",
    "Water damage is covered by the policy.",
    "Fire is excluded from cover.",
    "The insurer pays within thirty days.",
    "Claims need a written form.",
    "Premiums are due each month.",
    "The lessee pays the rent in advance.",
]
FAST = {"n_resamples": 200, "encoder": "small_retrieval:HashingEncoder"}
BARE = {"reranker": None}


def written(tmp_path, kind):
    return read_json(tmp_path / "results" / "mine" / kind / "mine.json")


def test_runs_that_exist_are_systems_with_and_without_pipelines_of_ours(chapter, tmp_path):
    documents = [{"_id": f"d{k}", "title": "", "text": text} for k, text in enumerate(TEXTS)]
    asked = [f"what about {' '.join(text.split()[1:4])}" for text in TEXTS]
    queries = [{"_id": f"q{k}", "text": text} for k, text in enumerate(asked)]
    judged = {"test": [(f"q{k}", f"d{k}", 1) for k in range(7)]}
    data = str(write_beir(tmp_path / "mine", documents, queries, judged))
    for name, shift in (("right", 0), ("wrong", 1)):
        lines = [f"q{k} Q0 d{(k + shift) % 7} 1 {9 - k} {name}\n" for k in range(6)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    runs = [str(tmp_path / f"{name}.run") for name in ("right", "wrong")]
    for modes in ([], ["dense"]):
        options = FAST | {"runs": runs, "modes": modes, "pipeline": BARE}
        _, shown = chapter("01_retrieval_ablation", dataset=data, **options)
        page = "\n".join(shown.values())
        numbers = written(tmp_path, "numbers")["retrieval_ablation"]["mine"]
        ours = {"right", "wrong", *modes, *["full"][: len(modes)]}
        assert set(numbers) - {"bm25", "random"} == ours
        # Six of seven questions have their only document first; the seventh is missing.
        assert numbers["right"]["P@1"]["value"] == pytest.approx(6 / 7, abs=1e-6)
        assert numbers["wrong"]["nDCG@10"]["value"] == 0
        (first, second, *_) = written(tmp_path, "headlines")
        assert (first["system"], second["system"]) == ("right", "wrong")
        assert "Run right: questions matched: 6, questions missing (each counts as 0)" in page
        assert {"right", "wrong"} <= set(written(tmp_path, "items")["systems"])
