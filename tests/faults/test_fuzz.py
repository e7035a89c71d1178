"""Damaged files for every reader: a clear line or a result, no traceback, no hang."""

import json
import random
import shutil
import signal
from pathlib import Path

import pandas as pd
import pytest

from casebook.batch.grid import DEFAULT_GRID, load_grid
from casebook.data.cards import load_card
from casebook.data.folders import load_folder
from casebook.data.sets import load_claims
from casebook.data.tables import read_table
from casebook.errors import CasebookError
from casebook.factcheck.score import read_verdict_labels
from casebook.paths import CARDS, DATA, run_dir
from casebook.raters.annotations import read_ratings
from casebook.raters.read import read_forms
from casebook.readers import read_yaml
from casebook.runs.promotions import LOG, read_promotions
from casebook.runs.record import read_per_query, read_record
from casebook.sensitivity.cases import read_cases
from casebook.shift.segments import read_segments
from casebook.trec import read_qrels, read_run

MUTANTS = 300  # of each reader
SECONDS = 10  # for one input; more is a hang
NASTY = [
    b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"NaN", b"nan", b"-1", b"1e999",
    b"9" * 400, b"9" * 5000, b"null", b"{}", b"[]", b"[" * 3000, b'"', b"'", b"\n",
    b"\r", b"\t", b",", b"../../etc/passwd", b"=1+1", b"<script>alert(1)</script>",
    "\u202e\u0000\U0001f600".encode(), b"true", b"0x10", b"1,2", b"&a", b"*a", b"!!x ",
]  # fmt: skip


def mutant(data, chance):
    """Damage bytes as disks, editors and people do."""
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice([0, 1, 4, 40, 400]))
        before, inside, after = data[:at], data[at:to], data[to:]
        lines = data.split(b"\n")
        chance.shuffle(lines)
        damages = [
            before,
            before + after,
            before + chance.choice(NASTY) + after,
            before + chance.randbytes(3) + after,
            before + inside * chance.choice([2, 51]) + after,
            b"\n".join(lines),
        ]
        data = chance.choice(damages)
    return data


def survives(read, path):
    """Read a damaged file: it may be refused in one line, and nothing else."""

    def late(*_):
        raise AssertionError(f"{read} hangs on {path}")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        read(path)
    except CasebookError as error:
        text = str(error)
        assert text and "Traceback" not in text and len(text) < 20_000
    finally:
        signal.alarm(0)


def text_seed(name, text):
    def make(folder):
        path = folder / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


def read_log(path):
    """Read a damaged promotion log where the registry expects it."""
    place = path.parent / LOG
    place.parent.mkdir(exist_ok=True)
    shutil.copy(path, place)
    return read_promotions(path.parent)


def copied(source):
    def make(folder):
        return Path(shutil.copy(source, folder))

    return make


DOCUMENTED = [
    "prompt_id", "prompt_text", "system1_output", "system2_output", "preferred",
    "factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2", "comment",
    "_rag_side_for_analysis",
]  # fmt: skip


def form(folder):
    answers = ["Is it?", "yes", "no", "S1", 4, 4, 3, 3, "", "S1"]
    frame = pd.DataFrame([[f"p{n}", *answers] for n in range(6)], columns=DOCUMENTED)
    frame.to_csv(folder / "rater1.csv", index=False)
    return folder / "rater1.csv"


def workbook(folder):
    place = folder / "rater1.xlsx"
    pd.read_csv(form(folder)).to_excel(place, index=False, sheet_name="ratings")
    return place


def collection(name):
    def make(folder):
        return Path(shutil.copytree(DATA / "smoke", folder / "toy"), name)

    return make


def load_collection(path):
    return load_folder(path.parent, "test")


CLAIMS = 3 * (json.dumps({"id": "1", "claim": "Rent is due.", "label": "SUPPORTED"}) + "\n")
TREC_RUN = "".join(f"q{n % 3} Q0 d{n} {n} {9 - n}.5 tag\n" for n in range(9))
RATED = "item,rater,rating\n" + "".join(f"i{n % 5},r{n // 5},{n % 3}\n" for n in range(10))
QRELS = "".join(f"q{n % 3} 0 d{n} {n % 2}\n" for n in range(9))
BEIR = "query-id\tcorpus-id\tscore\n" + "".join(f"q{n}\td{n}\t1\n" for n in range(9))
SEGMENTS = {"segments": [{"name": "a", "queries": ["q1", "q2"]}]}

READERS = {
    "TREC run": (text_seed("a.run", TREC_RUN), read_run),
    "TREC qrels": (text_seed("a.qrels", QRELS), read_qrels),
    "BEIR qrels": (text_seed("a.tsv", BEIR), read_qrels),
    "grid": (copied(DEFAULT_GRID), load_grid),
    "card": (copied(CARDS / "privacy_qa.yml"), load_card),
    "YAML": (copied(CARDS / "insurance.yml"), read_yaml),
    "run record": (copied(min(run_dir("smoke").glob("runs/*/run.json"))), read_record),
    "promotion log": (text_seed("log.jsonl", '{"seq": 1}\n' * 4), read_log),
    "per-query rows": (
        text_seed(
            "eval.csv",
            "QueryId,RelevantDocId,Rank,Ap1,Ndcg3,TopDocId,TopScore\n"
            + "".join(f"q{n},d,1,1.0,1.0,d,0.5\n" for n in range(9)),
        ),
        read_per_query,
    ),
    "segments": (text_seed("segments.json", json.dumps(SEGMENTS)), read_segments),
    "fact sheet": (
        text_seed(
            "sheet.json",
            json.dumps(
                {
                    "case_id": "c",
                    "parties": {"petitioner_type": "Minor", "respondent_type": "State"},
                    "evidence_items": [{"evidence_type": "FIR", "description": "d"}],
                    "sections_cited": ["IPC-302"],
                    "numerical_facts": {"ages": [{"value": 17, "descriptor": "boy"}]},
                }
            ),
        ),
        read_cases,
    ),
    "claims": (text_seed("claims.jsonl", CLAIMS), load_claims),
    "labels": (text_seed("gold.jsonl", CLAIMS), read_verdict_labels),
    "records": (text_seed("r.csv", "id,label\n1,a\n2,b\n"), read_table),
    "ratings": (text_seed("ratings.csv", RATED), read_ratings),
    "form, CSV": (form, read_forms),
    "form, workbook bytes": (workbook, read_forms),
    "BEIR documents": (collection("corpus.jsonl"), load_collection),
    "BEIR questions": (collection("queries.jsonl"), load_collection),
}


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_one_clear_line(name, tmp_path, count):
    make, read = READERS[name]
    seed = make(tmp_path)
    data, chance = seed.read_bytes(), random.Random(name)
    for _ in range(MUTANTS):
        seed.write_bytes(mutant(data, chance))
        survives(read, seed)
        count(f"damaged file: {name}")
