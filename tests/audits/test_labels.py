"""The label auditor against the labels it was made for, planted defects, and sound labels."""

import random

import pandas as pd
import pytest

from casebook.audits import labels as auditor
from casebook.audits.labels import audit_labels, monte_carlo_p, thresholds
from casebook.audits.sources import Labels
from casebook.paths import DATA

NAMES = [f"d{i:03d}" for i in range(500)]


def sound(n=200, documents=500, each=4, seed=0):
    """Random labels: no check may flag them."""
    rng = random.Random(seed)
    questions = {f"q{i}": rng.sample(NAMES[:documents], each) for i in range(n)}
    return Labels("sound", {"all": questions}, NAMES[:documents])


def dealt(n, size, step=1, **known):
    """One document a question, each so many places after the last."""
    return Labels(
        "dealt",
        {"all": {f"q{i}": [NAMES[step * i % size]] for i in range(n)}},
        NAMES[:size],
        **known,
    )


def texts_of(questions, subject=lambda d: d):
    """Give every document words of its subject, and questions those of their labels."""
    words = {
        d: f"{subject(d)} clause {d} of {subject(d)}" for found in questions.values() for d in found
    }
    asked = {q: " ".join(words[d] for d in found) for q, found in questions.items()}
    return {"query_texts": asked, "document_texts": words}


def finding(labels, check, seed=0):
    return audit_labels(labels, seed).finding(check)


def flagged(audit):
    return {found.check for found in audit.findings if found.verdict == "flagged"}


# --- real labels -------------------------------------------------------------------


@pytest.mark.data
def test_dealt_out_citations_are_flagged(mirror):
    audit = audit_labels(mirror / "audit_countercase")
    assert audit.verdict == "flagged"
    assert {"round robin", "neighbours", "anachronisms"} <= flagged(audit)
    assert audit.finding("random order").verdict == "noted"  # chance itself is no defect
    robin, years = audit.finding("round robin"), audit.finding("anachronisms")
    assert robin.evidence[0] == "229 of 260 successive labels advance by +1 modulo 26"
    assert robin.value > 0.8 and robin.chance < 0.15 and robin.p == 0.001
    assert years.evidence[0] == "231 of 261 with years unchecked"
    assert years.n == 249 and years.value == pytest.approx(226 / 249)
    assert years.p_sound > 0.01  # no better than chance


@pytest.mark.data
def test_split_leak_of_pdpabench_is_flagged(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    audit = audit_labels("pdpabench")
    leaks = {f"split leak: {split} with train" for split in ("test", "dev")}
    assert flagged(audit) == leaks
    assert {(audit.finding(leak).value, audit.finding(leak).n) for leak in leaks} == {
        (39 / 52, 52),
        (30 / 49, 49),
    }
    assert all(audit.finding(leak).p_sound > 0.05 for leak in leaks)  # as leaky as a random split
    assert finding(mirror / "pdpabench_beir", "split leak: test with train").value == 39 / 52


@pytest.mark.data
def test_true_citations_pass(mirror):
    audit = audit_labels(mirror / "fire2017_irled" / "irled-qrel.txt")
    assert audit.verdict == "passed" and not flagged(audit)


# --- planted defects ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_random_labels_pass_and_findings_repeat(seed):
    audit = audit_labels(sound(seed=seed), seed=seed)
    assert audit.verdict == "passed" and not flagged(audit)
    assert audit == audit_labels(sound(seed=seed), seed=seed)


@pytest.mark.parametrize("step", [1, 3, -1])
def test_any_constant_step_is_a_round_robin(step):
    found = finding(dealt(200, 40, step), "round robin")
    assert found.verdict == "flagged" and f"advance by {step:+d} modulo 40" in found.evidence[0]


@pytest.mark.parametrize(("n", "verdict"), [(59, "not applicable"), (60, "flagged")])
def test_twenty_steps_to_used_documents_are_needed(n, verdict):
    found = finding(dealt(n, 40), "round robin")
    assert (found.verdict, found.n) == (verdict, n - 40)


def test_a_collection_numbered_by_first_use_is_no_round_robin():
    questions = {f"q{i}": [NAMES[i // 3]] for i in range(300)}
    assert (
        finding(Labels("clauses", {"all": questions}, NAMES[:100]), "round robin").verdict
        == "passed"
    )


def test_labels_dealt_in_permuted_order_are_found():
    deck = random.Random(1).sample(NAMES[:50], 50)
    audit = audit_labels(
        Labels("dealt", {"all": {f"q{i}": [deck[i % 50]] for i in range(200)}}, NAMES[:50])
    )
    assert flagged(audit) == {"recurring order"}
    assert audit.finding("recurring order").value == 1.0
    # Of longer lists the last document decides which is dealt next.
    drawn = random.Random(2).choices(range(20), k=201)
    lists = {f"q{i}": [NAMES[20 + drawn[i]], NAMES[drawn[i + 1]]] for i in range(200)}
    assert finding(Labels("dealt", {"all": lists}, NAMES[:50]), "recurring order").value == 1.0


def test_dealt_labels_of_shuffled_questions_have_nothing_to_do_with_their_texts():
    labels = dealt(200, 50)
    texts = texts_of(labels.splits["all"])
    assert finding(dealt(200, 50, **texts), "unrelated texts").verdict == "passed"
    order = random.Random(3).sample(list(labels.splits["all"]), 200)
    shuffled = {q: [NAMES[order.index(q) % 50]] for q in labels.splits["all"]}
    audit = audit_labels(Labels("shuffled", {"all": shuffled}, NAMES[:50], **texts))
    found = audit.finding("unrelated texts")
    assert found.verdict == "flagged" and 0.4 < found.value < 0.6
    assert "recurring order" not in flagged(audit)


def test_a_collection_in_another_language_is_not_judged_by_its_words():
    labels = dealt(200, 50)
    words = {"query_texts": dict.fromkeys(labels.splits["all"], "wie hoch ist die Miete")}
    words["document_texts"] = {d: f"the rent of flat {d}" for d in labels.documents}
    assert finding(dealt(200, 50, **words), "unrelated texts").verdict == "not applicable"


def test_copied_lists_are_flagged_and_wordings_are_not():
    """One system's first results, given to eight unrelated questions."""
    labels = sound(n=20)
    first = labels.splits["all"]["q0"]
    questions = {f"q{i}": first[: 4 - i % 3] for i in range(8)}
    found = finding(Labels("copied", {"all": questions}, labels.documents), "reused lists")
    assert found.verdict == "flagged" and found.value == 1.0 and found.chance < 0.05
    for several, judged in ((2, False), (3, True)):  # the fewest questions that can show a habit
        few = {name: questions[name] for name in list(questions)[:several]}
        verdict = finding(Labels("few", {"all": few}, labels.documents), "reused lists").verdict
        assert (verdict != "not applicable") == judged
    groups = dict.fromkeys(questions, "g")
    assert (
        finding(
            Labels("copied", {"all": questions}, labels.documents, groups=groups), "reused lists"
        ).value
        == 0.0
    )


def test_blocks_and_shared_lists_that_the_texts_support_are_natural():
    """Three neighbouring clauses of one policy answer each question, some twice."""
    documents = [f"p{i // 6}c{i % 6}" for i in range(120)]
    questions = {f"q{i}": documents[6 * (i % 20) : 6 * (i % 20) + 3 + i % 2] for i in range(60)}
    texts = texts_of(questions | {"": documents}, lambda d: d[:-2])
    audit = audit_labels(Labels("policies", {"all": questions}, documents, **texts))
    assert audit.finding("neighbours").value > 0.9 and audit.finding("reused lists").value == 1.0
    assert audit.verdict == "passed" and not flagged(audit)
    assert "share more words" in audit.finding("neighbours").evidence[-1]
    # The same labels without a word to support them.
    bare = audit_labels(Labels("policies", {"all": questions}, documents))
    assert flagged(bare) >= {"neighbours", "reused lists"}


def test_one_answer_for_all_is_flagged():
    labels = sound(n=60, documents=200, each=1)
    labels.splits["all"].update({q: ["d007"] for q in list(labels.splits["all"])[:50]})
    found = finding(labels, "popularity")
    assert found.verdict == "flagged" and found.value > 0.8 and found.chance == 10 / 200


def test_links_in_time_pass_and_late_ones_are_flagged():
    target = pd.Series([random.Random(i).randrange(50) for i in range(200)])
    links = pd.DataFrame({"year": 1951 + target, "target": target, "target_year": 1950 + target})
    found = finding(Labels("links", {}, NAMES[:50], links=links), "anachronisms")
    assert found.verdict == "passed" and found.value == 0 and found.p_sound == 0.001
    labels = dealt(
        60,
        60,
        query_years=dict.fromkeys([f"q{i}" for i in range(60)], 1980),
        document_years={d: 1970 + i for i, d in enumerate(NAMES[:60])},
    )
    found = finding(labels, "anachronisms")
    assert (
        found.value == 48 / 60 and found.verdict == "flagged"
    )  # younger than 1981: documents 12 to 59


# --- duplicates -------------------------------------------------------------------


def test_twins_and_repeated_judgements_are_counted(tmp_path):
    questions = {f"q{i}": [NAMES[i]] for i in range(10)}
    texts = {name: f"text of {name}" for name in NAMES[:40]}
    texts |= {f"twin of {d}": texts[d].upper() + "\n" for (d,) in questions.values()}
    found = finding(
        Labels("twins", {"all": questions}, list(texts), document_texts=texts), "duplicates"
    )
    assert found.verdict == "flagged" and found.value == 1.0
    path = tmp_path / "twice.qrels"
    path.write_text("".join(f"q{i} 0 d{i} 1\nq{i} 0 d{i} 1\n" for i in range(30)))
    found = finding(path, "duplicates")
    assert (found.verdict, found.value, found.evidence[2]) == ("flagged", 0.5, "line 2: q0 d0")


# --- splits -------------------------------------------------------------------


def halves(everything, held):
    """Audit a split that holds these questions out."""
    train = {q: d for q, d in everything.items() if q not in held}
    test = {q: d for q, d in everything.items() if q in held}
    return finding(
        Labels("s", {"train": train, "test": test}, NAMES), "split leak: test with train"
    )


def test_a_split_is_flagged_if_it_leaks_as_much_as_one_drawn_at_random():
    """Each document answers four questions, so that a random split shares most."""
    everything = {f"q{i:03d}": [NAMES[i // 4]] for i in range(200)}
    leaking = halves(everything, random.Random(0).sample(list(everything), 200)[:60])
    assert leaking.verdict == "flagged" and leaking.value > 0.9
    apart = halves(everything, [f"q{i:03d}" for i in range(60)])
    assert apart.verdict == "passed" and apart.value == 0
    # Kept apart but for a few: a leak, and far below chance.
    mostly = halves(
        everything, [f"q{i:03d}" for i in (*range(48), *(48 + i for i in range(24) if i % 4 < 2))]
    )
    assert mostly.verdict == "passed" and 0 < mostly.value < mostly.chance / 2
    assert "fewer than in a split" in mostly.decision


@pytest.mark.parametrize(("held", "verdict"), [(9, "noted"), (10, "flagged")])
def test_ten_held_out_questions_are_judged(held, verdict):
    everything = {f"q{i:03d}": [NAMES[i // 4]] for i in range(40)}
    assert halves(everything, [f"q{4 * i:03d}" for i in range(held)]).verdict == verdict


def test_a_leak_that_no_split_avoids_is_stated_and_not_flagged():
    rng = random.Random(0)
    tied = {f"q{i}": rng.sample(NAMES[:40], 4) for i in range(100)}
    found = halves(tied, list(tied)[70:])
    assert found.verdict == "passed" and found.value > 0.9
    assert "no split avoids it" in found.decision


def test_repeated_questions_are_flagged():
    train = {f"a{i}": [f"d{i}"] for i in range(30)}
    test = {f"b{i}": [f"d{i + 30}"] for i in range(30)}
    texts = {q: f"Question {q[1:]}?" for q in (*train, *test)}
    labels = Labels(
        "parts", {"train": train, "test": test}, [f"d{i}" for i in range(60)], query_texts=texts
    )
    again = finding(labels, "repeated questions: test with train")
    assert again.verdict == "flagged" and again.value == 1.0


# --- chance and edges -------------------------------------------------------------------


def test_a_small_collection_is_no_defect():
    labels = sound(n=30, documents=18, each=2)
    found = finding(labels, "random order")
    assert found.verdict == "noted" and found.value == found.chance == 10 / 18
    assert audit_labels(labels).verdict == "passed"


def test_what_cannot_be_checked_says_why():
    audit = audit_labels(Labels("none", {}, []))
    assert audit.verdict == "not applicable"
    assert all(found.reason and found.value is None for found in audit.findings)
    assert len(audit.frame()) == len(audit.findings)


# --- what decides ------------------------------------------------------------------


@pytest.fixture
def calibrated(tmp_path, monkeypatch):
    """Thresholds from two sound collections, of which one has much structure of its own."""
    path = tmp_path / "excess.csv"
    names = "round robin,recurring order,neighbours,reused lists,popularity"
    path.write_text(f"set,{names}\npolicies,0.1,0.1,0.8,0.6,0.1\nclauses,0.1,0.1,0.3,0.1,0.4\n")
    monkeypatch.setattr(auditor, "EXCESS", path)
    auditor.thresholds.cache_clear()
    yield
    auditor.thresholds.cache_clear()


def test_a_set_is_judged_by_thresholds_from_the_others(calibrated):
    """Each is a quarter more than the largest excess of the other sets, at least 0.3."""
    everything = {
        "round robin": 0.3,
        "recurring order": 0.3,
        "neighbours": 1.0,
        "reused lists": 0.75,
        "popularity": 0.5,
    }
    assert thresholds() == thresholds("a set of mine") == pytest.approx(everything)
    without = everything | {"neighbours": 0.375, "reused lists": 0.3}
    assert thresholds("policies") == pytest.approx(without)
    documents = [f"p{i}" for i in range(120)]
    blocks = {f"q{i}": documents[4 * i : 4 * i + 3] for i in range(30)}
    blocks |= {
        f"r{i}": [documents[4 * i], documents[(4 * i + 40) % 120], documents[4 * i + 2]]
        for i in range(30)
    }
    mine, policies = (
        finding(Labels(name, {"all": blocks}, documents), "neighbours")
        for name in ("mine", "policies")
    )
    assert mine.value == policies.value and 0.4 < mine.value < 0.9
    assert (mine.verdict, policies.verdict) == ("passed", "flagged")
    assert "flagged from 1.00" in mine.decision and "flagged from 0.38" in policies.decision


def test_shipped_thresholds_are_of_ten_collections_and_their_rule():
    excess = pd.read_csv(auditor.EXCESS, index_col="set")
    alarms = pd.read_csv(DATA / "audits" / "alarms.csv")
    assert len(excess) == 10 and set(alarms["set"]) == set(excess.index)
    for check, threshold in thresholds().items():
        assert threshold == pytest.approx(max(0.3, 1.25 * excess[check].max()))
    assert thresholds("insurance")["neighbours"] < thresholds()["neighbours"]
    share = alarms["flagged"].sum() / alarms["checks"].sum()
    assert (alarms["flagged"].sum(), alarms["checks"].sum()) == (33, 731) and share < 0.05
    assert (auditor.ALPHA, auditor.TOLERATED, auditor.UNRELATED, auditor.RECALL_CUT) == (
        0.01,
        0.05,
        0.53,
        10,
    )


@pytest.mark.parametrize("name", ["smoke", "insurance", "planted"])
def test_flag_and_p_agree_and_every_verdict_says_what_decided(name):
    """A small p speaks for a flag and a small p of soundness against one, and so do verdicts."""
    for found in audit_labels(name).findings:
        assert (found.p is None) or (found.p_sound is None)
        assert (found.decision == "") == (found.verdict == "not applicable")
        if found.verdict == "flagged":
            assert (found.p or 0) <= 0.01 and (found.p_sound is None or found.p_sound > 0.05)
        elif found.verdict == "passed" and found.p is not None and found.p <= 0.01:
            assert "flagged from" in found.decision


def test_a_pattern_that_chance_does_not_make_may_still_be_too_small_to_flag():
    """Reused lists of 8 % where chance gives none: p could not be smaller; the excess decides."""
    found = finding("planted", "reused lists")
    assert found.verdict == "passed" and found.p == 0.01 and found.chance < 0.001
    assert found.decision == "excess 0.08, flagged from 0.47"


def test_chance_decides_where_it_makes_the_pattern():
    labels = sound(n=60, documents=12, each=3)
    labels.splits["all"] = {q: sorted(d, key=NAMES.index) for q, d in labels.splits["all"].items()}
    found = finding(labels, "reused lists")
    assert found.p > 0.01 and found.verdict == "passed"
    assert found.decision.startswith(f"p {found.p:.2g}, flagged up to 0.01")


@pytest.mark.parametrize(
    ("places", "value"),
    [
        ((0, 1, 2), 1.0),
        ((9, 0, 1), 1.0),  # the first document follows the last
        ((2, 4, 6), 0.0),
        ((2, 3, 6), 0.5),
        ((0, 2, 4, 5), 1 / 3),
    ],
)
def test_neighbours_are_the_share_of_documents_followed_by_another(places, value):
    documents = NAMES[:10]
    questions = {f"q{i}": [documents[place] for place in places] for i in range(6)}
    assert finding(
        Labels("ten", {"all": questions}, documents), "neighbours"
    ).value == pytest.approx(value)


def test_a_monte_carlo_p_value_counts_ties_and_is_never_zero():
    assert monte_carlo_p([0, 1, 1], 1) == 3 / 4 and monte_carlo_p([0, 1, 1], 0, "below") == 2 / 4
    assert monte_carlo_p([0] * 99, 1) == 1 / 100
