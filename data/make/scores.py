"""Write the example of scores: what four systems scored on each question of the smoke run.

python data/make/scores.py   # after casebook run retrieval_ablation-smoke --run smoke
"""

import pandas as pd

from casebook.paths import DATA, run_dir

SYSTEMS = ["full", "bm25", "dense", "random"]

if __name__ == "__main__":
    rows = pd.read_csv(run_dir("smoke") / "rows" / "retrieval_ablation-smoke.csv.gz")
    rows = rows[rows["system"].isin(SYSTEMS)][["query_id", "group", "system", "nDCG@10"]]
    questions = pd.read_json(DATA / "smoke" / "queries.jsonl", lines=True).set_index("_id")["text"]
    rows.insert(1, "question", rows["query_id"].map(questions))
    path = DATA / "scores" / "smoke.csv"
    path.parent.mkdir(exist_ok=True)
    rows.to_csv(path, index=False, lineterminator="\n")
