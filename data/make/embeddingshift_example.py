"""Run EmbeddingShift's commands on our insurance collection: the example of its concordance.

``python data/make/embeddingshift_example.py`` writes lib/casebook/book/concordances/embeddingshift_example.json.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from casebook.book.concordance import CONCORDANCES

EXAMPLE = CONCORDANCES / "embeddingshift_example.json"
DIGITS = 6
TRAIN = ("shift", "train", "insurance")
RUN = ("shift", "run", "insurance", "--latest")
EVALUATE = ("shift", "eval", "insurance", "--latest", "--gate-profile", "documented+cosine")
DELTAS = {
    "ndcg": "NdcgEvaluator.delta",
    "mrr": "MrrEvaluator.delta",
    "cosine": "CosineSimilarityEvaluator.delta",
}


def execute(root, *words):
    """Run a command below a folder of its own; a gate that does not pass is a result."""
    command = [sys.executable, "-m", "casebook", *words]
    finished = subprocess.run(
        command, env=os.environ | {"CASEBOOK_ROOT": str(root)}, capture_output=True, text=True
    )
    if finished.returncode not in (0, 2, 4):
        raise SystemExit(f"{' '.join(words)}: {finished.stderr}")


def newest(root, name):
    """Read the newest file of a name that a command wrote."""
    files = sorted(Path(root).glob(f"results/**/{name}"), key=lambda file: file.stat().st_mtime_ns)
    return json.loads(files[-1].read_text(encoding="utf-8"))


def numbers_of_example():
    """Train with two and with one hard negative; run and evaluate the former."""
    with tempfile.TemporaryDirectory() as root:
        execute(root, *TRAIN)
        single = newest(root, "shift-training-result.json")
        execute(root, *TRAIN, "--hardneg-topk", "2")
        training = newest(root, "shift-training-result.json")
        statistics = newest(root, "training_stats.json")
        execute(root, *RUN)
        run = newest(root, "metrics-posneg.json")
        execute(root, *EVALUATE)
        own = newest(root, "acceptance_gate.json")
        execute(root, *EVALUATE, "--shared-references")
        shared = newest(root, "acceptance_gate.json")
    numbers = {
        "single_norm": single["DeltaNorm"],
        "single_scale": single["Scale"],
        "norm": training["DeltaNorm"],
        "scale": training["Scale"],
        "cases": statistics["Cases"],
        "used": statistics["QueriesUsed"],
        "training": statistics["QueriesUsed"] + statistics["QueriesWithoutError"],
        "resultant": statistics["ResultantLength"],
        "questions": run["EffectiveQueryCount"],
        "map_baseline": run["MapBaseline"],
        "map_change": run["DeltaMap"],
        "map_low": run["DeltaMapCi"][0],
        "map_high": run["DeltaMapCi"][1],
        "ndcg3_baseline": run["Ndcg3Baseline"],
        "ndcg3_change": run["DeltaNdcg3"],
        "ndcg3_low": run["DeltaNdcg3Ci"][0],
        "ndcg3_high": run["DeltaNdcg3Ci"][1],
    }
    checks = {check["metric"]: check for check in own["Checks"]}
    for name, metric in DELTAS.items():
        numbers[f"{name}_change"] = checks[metric]["delta"]
        numbers[f"{name}_low"] = checks[metric]["low"]
        numbers[f"{name}_high"] = checks[metric]["high"]
    for name in ("CosineSimilarity", "Margin", "Ndcg", "Mrr"):
        for side in ("baseline", "shift"):
            numbers[f"{name}_{side}"] = own["Metrics"][f"{name}Evaluator.{side}"]
            numbers[f"shared_{name}_{side}"] = shared["Metrics"][f"{name}Evaluator.{side}"]
    return {name: round(value, DIGITS) for name, value in sorted(numbers.items())}


if __name__ == "__main__":
    EXAMPLE.write_text(json.dumps(numbers_of_example(), indent=1) + "\n", encoding="utf-8")
