"""Small files, and the commands on them that the base of the package runs."""

from casebook.paths import DATA

LOG = DATA / "assistant" / "answers.jsonl"
CLAIMS = DATA / "factcheck" / "claims.jsonl"
VOTES = DATA / "raters" / "reconstructed_votes.csv"
RECORD = '{"RunId": "r", "Workflow": "w", "StartedAtUtc": "2026-01-02T03:04:05Z"}'
FILES = {
    "results/mine/runs/r/run.json": RECORD,
    "qrels.txt": "q1 0 d1 1\nq2 0 d2 1\n",
    "a.txt": "q1 Q0 d1 1 2.0 a\nq1 Q0 d2 2 1.0 a\nq2 Q0 d1 1 2.0 a\n",
    "scores.csv": "id,a,b\n1,1,0\n2,1,1\n",
    "b.txt": "q1 Q0 d2 1 2.0 b\nq2 Q0 d2 1 2.0 b\n",
}


def base_commands(folder):
    """Write the files into a folder; give commands to run there, in this order."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    few = ["--resamples", "200"]
    raters = ["--rater", "r1:lay", "--rater", "r2:lay", "--rater", "r3:expert"]
    commands = [
        ["evaluate", "qrels.txt", "a.txt", "--json"],
        ["compare", "qrels.txt", "a.txt", "b.txt", "--markdown"],
        ["compare", "scores.csv", "--systems", "a,b"],
        ["agreement", VOTES, "--columns", "rating=preference", *few],
        ["gate", "log", LOG, "--against", LOG],
        ["raters", "forms", "pilot", "--log", LOG, *raters],
        ["raters", "simulate", "pilot", "returned"],
        ["raters", "audit", "returned", "--key", "pilot", "--permutations", "20"],
        ["raters", "analyse", "returned", "--key", "pilot", "--out", "analysed", *few],
        ["factcheck", "score", CLAIMS, CLAIMS],
        ["runs", "list"],
        ["data", "list"],
    ]
    return [[str(word) for word in command] for command in commands]
