"""The label auditor against the labels it was made for, and against sound ones."""

import json
import random

import pandas as pd
import pytest
from casebook.audits.study import audit_numbers

from casebook.audits.labels import audit_labels
from casebook.audits.sources import Labels, natural, read_labels
from casebook.datasets import load
from casebook.errors import InputError


def sound(n=200, documents=500, each=4, seed=0):
    """Random labels: no check may flag them."""
    rng = random.Random(seed)
    names = [f"d{i:03d}" for i in range(documents)]
    questions = {f"q{i}": rng.sample(names, each) for i in range(n)}
    return Labels("sound", {"all": questions}, names)


def verdicts(audit):
    return {finding.check: finding.verdict for finding in audit.findings}


# --- real labels -------------------------------------------------------------------


@pytest.mark.data
def test_dealt_out_citations_are_flagged(mirror):
    audit = audit_labels(mirror / "audit_countercase")
    found = verdicts(audit)
    assert audit.verdict == "flagged"
    for check in ("round robin", "neighbours", "anachronisms"):
        assert found[check] == "flagged"
    assert found["random order"] == "noted"  # chance itself is no defect
    robin = audit.finding("round robin")
    assert robin.evidence[0] == ("229 of 260 successive labels advance by +1 modulo 26")
    assert robin.value > 0.8 and robin.chance < 0.15 and robin.p == 0.001
    years = audit.finding("anachronisms")
    assert years.evidence[0] == "231 of 261 with years unchecked"
    assert years.n == 249 and years.p > 0.01  # no better than chance
    assert years.value == pytest.approx(226 / 249)


@pytest.mark.data
def test_split_leak_of_pdpabench_is_flagged(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    audit = audit_labels("pdpabench")
    test, dev = (audit.finding(f"split leak: {s} with train") for s in ("test", "dev"))
    assert (test.value, test.n) == (39 / 52, 52)
    assert (dev.value, dev.n) == (30 / 49, 49)
    assert test.verdict == dev.verdict == "flagged"
    assert test.p > 0.05 and dev.p > 0.05  # as leaky as a random split
    others = {k: v for k, v in verdicts(audit).items() if not k.startswith("split leak")}
    assert "flagged" not in others.values()
    folder = audit_labels(mirror / "pdpabench_beir")
    assert folder.finding("split leak: test with train").value == 39 / 52


@pytest.mark.data
def test_true_citations_pass(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    audit = audit_labels(mirror / "fire2017_irled" / "irled-qrel.txt")
    assert audit.verdict == "passed" and "flagged" not in verdicts(audit).values()


# --- planted defects ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_random_labels_pass(seed):
    audit = audit_labels(sound(seed=seed), seed=seed)
    assert audit.verdict == "passed" and "flagged" not in verdicts(audit).values()


@pytest.mark.parametrize("step", [1, 3, -1])
def test_any_constant_step_is_a_round_robin(step):
    names = [f"d{i}" for i in range(40)]
    questions = {f"q{i}": [names[step * i % 40]] for i in range(200)}
    audit = audit_labels(Labels("dealt", {"all": questions}, names))
    assert audit.finding("round robin").verdict == "flagged"
    assert f"advance by {step:+d} modulo 40" in audit.finding("round robin").evidence[0]


def test_a_collection_numbered_by_first_use_is_no_round_robin():
    names = [f"d{i}" for i in range(100)]
    questions = {f"q{i}": [names[i // 3]] for i in range(300)}
    audit = audit_labels(Labels("clauses", {"all": questions}, names))
    assert audit.finding("round robin").verdict == "passed"


def test_copied_lists_are_flagged_and_wordings_are_not():
    """One system's first results, given to five unrelated questions."""
    labels = sound(n=20)
    first = labels.splits["all"]["q0"]
    questions = {f"q{i}": first[: 4 - i % 3] for i in range(8)}
    copied = Labels("copied", {"all": questions}, labels.documents)
    found = audit_labels(copied).finding("reused lists")
    assert found.verdict == "flagged" and found.value == 1.0 and found.chance < 0.05
    wordings = Labels("copied", {"all": questions}, labels.documents, groups=dict.fromkeys(questions, "g"))
    assert audit_labels(wordings).finding("reused lists").value == 0.0


def test_twins_and_repeated_judgements_are_counted(tmp_path):
    labels = sound(n=10, documents=40)
    texts = {name: f"text of {name}" for name in labels.documents}
    for query, relevant in list(labels.splits["all"].items()):
        texts[f"twin of {query}"] = texts[relevant[0]].upper() + "\n"
        labels.splits["all"][query] = relevant[:1]
    twin = Labels("twins", labels.splits, labels.documents, document_texts=texts)
    found = audit_labels(twin).finding("duplicates")
    assert found.verdict == "flagged" and found.value > 0.5

    path = tmp_path / "twice.qrels"
    path.write_text("".join(f"q{i} 0 d{i} 1\nq{i} 0 d{i} 1\n" for i in range(30)))
    found = audit_labels(path).finding("duplicates")
    assert found.verdict == "flagged" and found.value == 0.5
    assert found.evidence[2] == "line 2: q0 d0"


def test_links_in_time_pass():
    rng = random.Random(0)
    target = [rng.randrange(50) for _ in range(200)]
    years = [1950 + t for t in target]
    links = pd.DataFrame({"year": [y + 1 for y in years], "target": target, "target_year": years})
    labels = Labels("links", {}, [str(i) for i in range(50)], links=links)
    found = audit_labels(labels).finding("anachronisms")
    assert found.verdict == "passed" and found.value == 0 and found.p == 0.001


def test_years_of_questions_and_documents_are_held_together():
    questions = {f"q{i}": [f"d{i}"] for i in range(60)}
    documents = [f"d{i}" for i in range(60)]
    labels = Labels(
        "years",
        {"all": questions},
        documents,
        query_years=dict.fromkeys(questions, 1980),
        document_years={d: 1970 + i for i, d in enumerate(documents)},
    )
    found = audit_labels(labels).finding("anachronisms")
    # Younger than 1981: documents 12 to 59.
    assert found.value == 48 / 60 and found.verdict == "flagged"


def test_one_answer_for_all_is_flagged():
    labels = sound(n=60, documents=200, each=1)
    for query in list(labels.splits["all"])[:50]:
        labels.splits["all"][query] = ["d007"]
    found = audit_labels(labels).finding("popularity")
    assert found.verdict == "flagged" and found.value > 0.8


def test_repeated_questions_and_disjoint_splits():
    train = {f"a{i}": [f"d{i}"] for i in range(30)}
    test = {f"b{i}": [f"d{i + 30}"] for i in range(30)}
    names = [f"d{i}" for i in range(60)]
    texts = {q: f"Question {q[1:]}?" for q in (*train, *test)}
    audit = audit_labels(Labels("parts", {"train": train, "test": test}, names, query_texts=texts))
    assert audit.finding("split leak: test with train").verdict == "passed"
    again = audit.finding("repeated questions: test with train")
    assert again.verdict == "flagged" and again.value == 1.0


def test_what_cannot_be_checked_says_why():
    audit = audit_labels(Labels("none", {}, []))
    assert audit.verdict == "not applicable"
    assert all(f.reason and f.value is None for f in audit.findings)


def test_same_input_same_findings():
    assert audit_labels(sound()) == audit_labels(sound())


# --- natural structure -------------------------------------------------------------


def with_texts(questions, documents, subject):
    """Give every document words of its subject, and questions those of their labels."""
    words = {d: f"{subject(d)} clause {d} of {subject(d)}" for d in documents}
    asked = {q: " ".join(words[d] for d in found) for q, found in questions.items()}
    return {"query_texts": asked, "document_texts": words}


def in_blocks():
    """Three neighbouring clauses of one policy answer each question, some twice."""
    documents = [f"p{i // 6}c{i % 6}" for i in range(120)]
    questions = {f"q{i}": documents[6 * (i % 20) : 6 * (i % 20) + 3 + i % 2] for i in range(60)}
    return questions, documents, with_texts(questions, documents, lambda d: d[:-2])


def test_blocks_and_shared_lists_that_the_texts_support_are_natural():
    questions, documents, texts = in_blocks()
    audit = audit_labels(Labels("policies", {"all": questions}, documents, **texts))
    assert audit.finding("neighbours").value > 0.9
    assert audit.finding("reused lists").value == 1.0
    assert audit.verdict == "passed" and "flagged" not in verdicts(audit).values()
    assert "share more words" in audit.finding("neighbours").evidence[-1]
    # The same labels without a word to support them.
    unread = audit_labels(Labels("policies", {"all": questions}, documents))
    assert verdicts(unread)["neighbours"] == verdicts(unread)["reused lists"] == "flagged"


@pytest.mark.parametrize("texts", [True, False])
def test_labels_dealt_in_permuted_order_are_found(texts):
    documents = [f"d{i}" for i in range(50)]
    deck = random.Random(1).sample(documents, 50)
    questions = {f"q{i}": [deck[i % 50]] for i in range(200)}
    known = {}
    if texts:
        known = with_texts(questions, documents, lambda d: d)
        asked = random.Random(2).sample(list(known["query_texts"].values()), 200)
        known["query_texts"] = dict(zip(questions, asked, strict=True))
    audit = audit_labels(Labels("dealt", {"all": questions}, documents, **known))
    found = verdicts(audit)
    assert found["round robin"] == "passed"  # no constant step
    assert found["recurring order"] == "flagged"
    assert audit.finding("recurring order").value == 1.0
    assert found["unrelated texts"] == ("flagged" if texts else "not applicable")


def test_dealt_labels_of_shuffled_questions_have_nothing_to_do_with_their_texts():
    documents = [f"d{i}" for i in range(50)]
    questions = {f"q{i}": [documents[i % 50]] for i in range(200)}
    texts = with_texts(questions, documents, lambda d: d)
    sound_ones = Labels("sound", {"all": questions}, documents, **texts)
    assert audit_labels(sound_ones).finding("unrelated texts").verdict == "passed"
    order = random.Random(3).sample(list(questions), 200)
    dealt = {q: [documents[i % 50]] for i, q in enumerate(order)}
    shuffled = {q: dealt[q] for q in questions}
    audit = audit_labels(Labels("shuffled", {"all": shuffled}, documents, **texts))
    assert verdicts(audit)["recurring order"] != "flagged"
    found = audit.finding("unrelated texts")
    assert found.verdict == "flagged" and 0.4 < found.value < 0.6


def test_a_collection_in_another_language_is_not_judged_by_its_words():
    questions = {f"q{i}": [f"d{i % 50}"] for i in range(200)}
    documents = [f"d{i}" for i in range(50)]
    labels = Labels(
        "translated",
        {"all": questions},
        documents,
        query_texts=dict.fromkeys(questions, "wie hoch ist die Miete"),
        document_texts={d: f"the rent of flat {d}" for d in documents},
    )
    assert audit_labels(labels).finding("unrelated texts").verdict == "not applicable"


def test_a_small_collection_is_no_defect():
    """With 18 documents the value of a random order is chance."""
    documents = [f"d{i}" for i in range(18)]
    rng = random.Random(0)
    questions = {f"q{i}": rng.sample(documents, 2) for i in range(30)}
    audit = audit_labels(Labels("small", {"all": questions}, documents))
    found = audit.finding("random order")
    assert found.verdict == "noted" and found.value == found.chance == 10 / 18
    assert audit.verdict == "passed"


def test_a_split_is_flagged_if_it_leaks_as_much_as_one_drawn_at_random():
    """Each document answers four questions, so that a random split shares most."""
    everything = {f"q{i:03d}": [f"d{i // 4}"] for i in range(200)}
    documents = [f"d{i}" for i in range(50)]
    order = random.Random(0).sample(list(everything), 200)

    def split(held):
        train = {q: d for q, d in everything.items() if q not in held}
        test = {q: d for q, d in everything.items() if q in held}
        audit = audit_labels(Labels("s", {"train": train, "test": test}, documents))
        return audit.finding("split leak: test with train")

    leaking = split(set(order[:60]))
    assert leaking.verdict == "flagged" and leaking.value > 0.9
    apart = split({f"q{i:03d}" for i in range(60)})
    assert apart.verdict == "passed" and apart.value == 0
    # Kept apart but for a few: a leak, and far below chance.
    two_of_four = {48 + i for i in range(24) if i % 4 < 2}
    mostly = split({f"q{i:03d}" for i in {*range(48), *two_of_four}})
    assert mostly.verdict == "passed" and 0 < mostly.value < mostly.chance / 2
    assert "fewer than in a split" in mostly.evidence[0]


def test_a_leak_that_no_split_avoids_is_stated_and_not_flagged():
    rng = random.Random(0)
    documents = [f"d{i}" for i in range(40)]
    tied = {f"q{i}": rng.sample(documents, 4) for i in range(100)}
    train, test = dict(list(tied.items())[:70]), dict(list(tied.items())[70:])
    audit = audit_labels(Labels("tied", {"train": train, "test": test}, documents))
    found = audit.finding("split leak: test with train")
    assert found.verdict == "passed" and found.value > 0.9
    assert "which no split avoids" in found.evidence[0]


def test_documents_of_one_text_are_named_and_counted():
    texts = {"a": "Rent is due.", "b": "rent  is due.", "c": "Other.", "d": "RENT is due."}
    labels = Labels("copies", {"all": {"q": ["c"]}}, list(texts), document_texts=texts)
    found = audit_labels(labels).finding("duplicates")
    assert found.evidence[1] == "documents that repeat the text of another: 2"
    assert found.evidence[2] == "a = b = d" and found.verdict == "passed"


def test_a_folder_with_exact_duplicates_is_read_and_audited(tmp_path, casebook):
    folder = tmp_path / "copied"
    (folder / "qrels").mkdir(parents=True)
    line = '{"_id": "d%s", "title": "", "text": "Clause %s."}\n'
    lines = [line % (i, i) for i in range(30)]
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join([*lines, lines[4], lines[7], line % ("30", "9")]))
    asked = [f'{{"_id": "q{i}", "text": "What says clause {i}?"}}\n' for i in range(30)]
    (folder / "queries.jsonl").write_text("".join(asked))
    judged = [f"q{i}\td{i}\t1\n" for i in range(30)]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))
    code, out, _ = casebook("audit", "labels", folder, "--json")
    found = {f["check"]: f for f in json.loads(out)["findings"]}["duplicates"]
    assert code == 0 and found["value"] == 1 / 30
    assert found["evidence"][1:5] == [
        "documents that repeat the text of another: 3",
        "d9 = d30",
        "line 31: d4, as in line 5",
        "line 32: d7, as in line 8",
    ]
    dataset = load(str(folder), "test")
    assert dataset.counts["documents"] == 31
    assert dataset.missing == "2 document(s) stand twice, and are read once"
    corpus.write_text("".join([*lines, line % ("4", "5")]))
    code, _, error = casebook("audit", "labels", folder)
    assert code == 1 and "corpus.jsonl:31: id 'd4' stood already in line 5" in error


def test_a_handful_of_checks_has_no_interval():
    audit = audit_labels(sound())
    curve = pd.DataFrame({"dealt": [0.0], "flagged": [0.0]})
    number = audit_numbers([audit], curve)["sound"]["labels"]["flagged"]
    assert number["value"] == 0 and number["ci"] == [None, None]
    assert number["reason"].startswith("0 of 6 checks")


# --- input and command -------------------------------------------------------------


def test_natural_order():
    assert sorted(["c10", "c9", "b2"], key=natural) == ["b2", "c9", "c10"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.qrels", "q1 0 d1\n", "x.qrels:1: judgements have four fields"),
        ("x.qrels", "q1 0 d1 yes\n", "x.qrels:1: judgements"),
        ("x.qrels", "", "no relevant document"),
        ("x.qrels", "q1 0 d1 0\n", "no relevant document"),
        ("x.csv", "a,b\n1,2\n", "nothing to audit"),
        ("x.csv", "query_position,relevant_positions\n0,1 x\n", "x.csv:2: relevant"),
        ("x.csv", "year,target,target_year\n1990,,2020\n", "x.csv:2: target must"),
        ("x.csv", 'year,target,target_year\n1990,"1,2020\n', "x.csv:1: is not CSV"),
        ("x.csv", "year,target,target_year\n1990,1\n", "x.csv:2: has not the 3"),
        ("x.csv", "", "x.csv: holds no records"),
        ("x.qrels", b"\xff\xfe", "not UTF-8"),
    ],
)
def test_bad_files_name_file_and_line(tmp_path, name, content, message, casebook):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        read_labels(path)
    code, _, err = casebook("audit", "labels", path)
    assert code == 1 and message in err


def test_the_command_exits_2_when_flagged(tmp_path, casebook):
    path = tmp_path / "dealt.csv"
    rows = [f"{i},{i % 20} {(i + 1) % 20} {(i + 2) % 20}" for i in range(20)]
    path.write_text("\n".join(["query_position,relevant_positions", *rows]))
    code, out, err = casebook("audit", "labels", path, "--json")
    assert code == 2 and "flagged: " in err
    found = json.loads(out)
    assert found["verdict"] == "flagged"
    assert {f["check"] for f in found["findings"]} >= {"round robin", "neighbours"}


def test_the_command_passes_sound_labels(tmp_path, casebook):
    path = tmp_path / "sound.qrels"
    lines = [f"{q} 0 {d} 1" for q, ds in sound().splits["all"].items() for d in ds]
    path.write_text("\n".join(lines))
    code, out, _ = casebook("audit", "labels", path)
    assert code == 0 and "passed         round robin" in out
    assert casebook("audit", "labels", "nowhere")[0] == 1
