"""Scores of any tool are compared unit by unit: in one layout as in the other, or refused."""

import json

import numpy as np
import pandas as pd
import pytest
from cases import failing
from scipy import stats

from casebook.frames import contrasts

SYSTEMS = ["new", "old", "twin"]


@pytest.fixture
def exam(tmp_path, monkeypatch):
    """Write scores of 40 pupils of 8 classes in two layouts; give them as they are."""
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    scores = pd.DataFrame({"old": draws.uniform(0, 0.6, 40).round(3)})
    scores.insert(0, "new", (scores["old"] + 0.3 + draws.normal(0, 0.05, 40)).round(3))
    scores["twin"] = scores["old"]
    wide = scores.assign(pupil=[f"{k:02d}" for k in range(40)], klass=[k // 5 for k in range(40)])
    wide.to_csv("wide.csv", index=False)
    long = wide.melt(["pupil", "klass"], SYSTEMS, "system", "points")
    long.sample(frac=1, random_state=1).to_json("long.jsonl", orient="records", lines=True)
    return scores.assign(klass=wide["klass"])


def compared(casebook, *words):
    code, out, err = casebook("compare", *words, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("against", [None, "old"])
def test_both_layouts_give_the_contrasts_of_the_scores(casebook, exam, against):
    options = [
        "--unit",
        "pupil",
        "--cluster",
        "klass",
        *(["--against", against] if against else []),
    ]
    long = compared(casebook, "long.jsonl", "--score", "points", *options)["points"]
    wide = ["wide.csv", "--systems", "new,old,twin", "-m", "points"]
    wide = compared(casebook, *wide, *options)["points"]
    pairs = [(row["system"], row["against"]) for row in wide["pairs"]]
    assert len(pairs) == (2 if against else 3)
    expected = contrasts(exam[SYSTEMS], pairs, exam["klass"])
    by_pair = {frozenset(row[:2]): row for row in expected.itertuples(index=False)}
    for rows in (long, wide):
        for row in rows["pairs"]:
            of_pair = by_pair[frozenset([row["system"], row["against"]])]
            assert abs(row["difference"]) == pytest.approx(abs(of_pair.difference))
            assert row["p_adjusted"] == pytest.approx(of_pair.p_adjusted)
            assert (row["n"], row["groups"], row["measure"], "mde" in row) == (
                40,
                8,
                "points",
                False,
            )
    verdicts = {(row["system"], row["against"]): row["verdict"] for row in wide["pairs"]}
    assert verdicts["new", "old"] == "better"
    assert verdicts.get(("old", "twin"), verdicts.get(("twin", "old"))) == "no difference"
    values = {row["system"]: row["value"] for row in long["systems"]}
    assert values == pytest.approx(exam[SYSTEMS].mean().to_dict())
    if not against:
        assert [row["tie_class"] for row in wide["systems"]] == ["1", "2", "2"]


TABLE = "id,system,score,group\n1,a,1,x\n1,b,0,x\n2,a,1,y\n2,b,0,y\n"
REFUSED = [
    (TABLE.replace(",a,", ",bm25,"), ["--against", "bm52"], "did you mean 'bm25'?"),
    (
        TABLE.replace("id,", "what,"),
        [],
        "type --columns unit=what; or, if each system has a column",
    ),
    (
        TABLE.replace("2,b,0,y\n", ""),
        [],
        "1 of 2 units lack a score of some system, such as '2'",
    ),
    (
        TABLE.replace("1,b,0", "1,b,"),
        [],
        "1 of 2 units lack a score of some system, such as '1'",
    ),
    (TABLE.replace("b", "a"), [], ":3: unit '1', system 'a' stands in an earlier row already"),
    (TABLE.replace("b,0", "A,0"), [], "system 'A' is a name above but for case"),
    (TABLE.replace("1,b,0,x", "1,b,0,y"), [], ":3: unit '1' is in another cluster"),
    (TABLE.replace("a,1", "a,C"), [], "score 'C' is no number: --values C= if it is missing"),
    ("id,a\n1,1\n", ["--systems", "a"], "has scores of a only: to compare takes two systems"),
    (TABLE, ["--systems", "score,grp"], "has no column 'grp': did you mean 'group'?"),
    (TABLE, ["--systems", "a,b", "--score", "score"], "--score has no effect with --systems"),
    (TABLE, ["--against", "c"], "there is no score of c; choose from a, b"),
    (TABLE, ["-m", "x", "-m", "y"], "is of one measure"),
    (TABLE, ["--columns", "units=id"], "unknown role of a column 'units'"),
]


def test_what_cannot_be_compared_is_one_line_with_the_remedy(casebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def check(text, options, message):
        (tmp_path / "scores.csv").write_text(text)
        code, out, err = casebook("compare", "scores.csv", *options)
        line = err.splitlines()[-1]
        assert (code, out) == (1, "") and message in line and len(line) < 320

    assert failing(check, REFUSED) == []
    code, _, err = casebook("compare", "qrels", "a", "b", "--unit", "id")
    assert code == 1 and "--unit has no effect on runs" in err


def test_judgements_and_runs_in_tables_score_as_those_of_trec(casebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "q.txt": "007 0 d1 1\n#8 0 d2 2\n",
        "r.txt": "007 Q0 d2 1 2.5 x\n007 Q0 d1 2 1e-200 x\n#8 Q0 d2 1 1 x\n",
        "q.tsv": "query-id\tcorpus-id\tscore\n007\td1\t1\n#8\td2\t2\n",
        "r.csv": "topic,docno,score\n007,d2,2.5\n007,d1,1e-200\n#8,d2,1\n",
        "r.json": '{"007": {"d2": 2.5, "d1": 1e-200}, "#8": {"d2": 1}}',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    expected = casebook("evaluate", "q.txt", "r.txt", "-m", "RR", "--json")
    assert json.loads(expected[1])["per_query"] == {"007": {"RR": 0.5}, "#8": {"RR": 1.0}}
    code, out, err = casebook(
        "evaluate", "q.txt", "r.csv", "-m", "RR", "--json", "--columns", "query=topic"
    )
    assert (code, out) == expected[:2] and "read: query = 'topic', document = 'docno'" in err
    assert casebook("evaluate", "q.tsv", "r.json", "-m", "RR", "--json")[:2] == expected[:2]
    code, _, err = casebook("evaluate", "q.tsv", "r.csv", "-m", "RR")
    assert code == 1 and "type --columns query=topic" in err
    assert casebook("evaluate", "q.txt", "r.txt", "--columns", "query=topic")[0] == 1


def test_a_gate_on_scores_of_another_tool_has_an_exit_code_for_each_verdict(casebook, tmp_path):
    """Passes, fails, is undecided and incomparable as the interval of the paired t test says."""
    draws = np.random.default_rng(7)
    old = draws.normal(0.5, 0.1, 40)
    noise = draws.normal(0, 0.02, 40)
    news = {"better": old + 0.1 + noise, "worse": old - 0.1 + noise, "near": old - 0.02 + noise}
    path = tmp_path / "scores.csv"

    def gated(name, *options, drop=()):
        table = pd.DataFrame({"pupil": range(40), "old": old, name: news[name]})
        table.loc[list(drop), name] = None
        table.to_csv(path, index=False)
        wide = ("--systems", f"old,{name}", "--against", "old", "--measure", "points")
        wide += ("--columns", "unit=pupil")
        return casebook("gate", "scores", path, *wide, *options, "--json")

    margin = ("--margin", 0.02)
    assert [gated(name, *margin)[0] for name in news] == [0, 2, 4]
    assert "did you mean 'old'?; choose from old, near" in gated("near", "--against", "older")[2]
    code, out, err = gated("better", "--margin", 0.5)
    (row,) = json.loads(out)["rows"]
    interval = stats.ttest_1samp(news["better"] - old, 0).confidence_interval()
    assert code == 0 and "40 units" in err
    assert [row[name] for name in ("low", "high", "margin")] == pytest.approx(
        [*interval, 0.5], abs=0.004
    )
    code, out, _ = gated("better", drop=[3, 5])
    assert code == 5 and "2 of 40 units lack a score" in json.loads(out)["notes"][0]
    code, out, _ = gated("better", "--force", drop=[3, 5])
    assert code == 0 and json.loads(out)["rows"][0]["n"] == 38
