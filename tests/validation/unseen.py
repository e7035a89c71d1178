"""What the default judge makes of planted contradictions, by kind.

``python tests/validation/unseen.py`` writes the table that the chapter and the methods page show. All pairs
are written by hand or from frames (`unseen.yml`). The evidence is the true sentence between two others.
"""

import itertools
import re
from collections import defaultdict
from pathlib import Path

import pandas as pd

from casebook.factcheck.evidence import EvidencePassage
from casebook.factcheck.stance import PublicJudge
from casebook.factcheck.verdict import NEUTRAL, REFUTES, SUPPORTS
from casebook.paths import ROOT
from casebook.readers import read_yaml
from casebook.stats.intervals import wilson

TABLE = ROOT / "book" / "methods" / "unseen.csv"
MATERIAL = read_yaml(Path(__file__).with_name("unseen.yml"))
BESIDE = ("It stood in the guide of 1936.", "Nothing else is known of it.")


def pairs_by_kind():
    pairs = defaultdict(list)
    for kind, material in MATERIAL.items():
        for evidence, claim in material.get("pairs", ()):
            pairs[kind].append((evidence, claim))
        for words, frame in itertools.product(
            material.get("words", ()), material.get("frames", ())
        ):
            left, right = words.split(":") if ":" in words else words.split()
            pairs[kind].append(tuple(_filled(text, left, right) for text in frame))
    return pairs


def _filled(text, left, right):
    names = {"A": left, "B": right}
    sentence = re.sub(r"\b[AB]\b", lambda match: names[match.group()], text)
    return sentence[0].upper() + sentence[1:]


def stance_on(evidence, claim, judge):
    texts = (BESIDE[0], evidence, BESIDE[1])
    passages = [EvidencePassage(0, 0, len(text), text, "") for text in texts]
    return judge.judge(claim, passages)[0][0]


def measured(judge):
    rows = []
    for kind, pairs in pairs_by_kind().items():
        stances = [stance_on(*pair, judge) for pair in pairs]
        refuted = wilson(stances.count(REFUTES), len(pairs))
        rows.append(
            {
                "contradiction": kind,
                "pairs": len(pairs),
                "refuted": round(refuted.estimate, 3),
                "low": round(refuted.low, 3),
                "high": round(refuted.high, 3),
                "called supported": round(stances.count(SUPPORTS) / len(pairs), 3),
                "left open": round(stances.count(NEUTRAL) / len(pairs), 3),
            }
        )
    return pd.DataFrame(rows)


if __name__ == "__main__":
    table = measured(PublicJudge())
    table.to_csv(TABLE, index=False, lineterminator="\n")
    print(table.to_string(index=False))
