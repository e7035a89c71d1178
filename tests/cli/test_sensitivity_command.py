"""``casebook sensitivity`` on good and bad input; every error is one line."""

import functools
import itertools
import json
import re
import shutil

import pytest

from casebook.sensitivity.cases import plant_cases
from casebook.sensitivity.edits import NO_INERT_WORDS, Inert
from casebook.tables import escape_markdown

CASE = {
    "case_id": "t1",
    "parties": {"petitioner_type": "Individual", "respondent_type": "State"},
    "sections_cited": ["IPC-302"],
    "evidence_items": [{"evidence_type": "Witness"}],
    "numerical_facts": {"ages": [{"value": 17, "descriptor": "accused"}]},
}
JUDGMENT = (
    "FACTS\nThe appellant, an individual aged 17 years, was convicted under section "
    "302 IPC on his confession and a medical report, and fined Rs. 5,000 by the State."
)
DOCKET = "Minor <b>v.</b> State_[1]"


@pytest.fixture
def run(casebook):
    return functools.partial(casebook, "sensitivity")


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "case.json"
    path.write_text(json.dumps(CASE), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A small planted collection, whose documents hold months and counsel."""
    folder = tmp_path_factory.mktemp("planted")
    documents = plant_cases(1, 3, 4).documents
    rows = documents[["doc_id", "text"]].rename(columns={"doc_id": "_id"})
    rows.to_json(folder / "corpus.jsonl", orient="records", lines=True)
    query = json.dumps({"_id": "q", "text": documents["text"][0]})
    (folder / "queries.jsonl").write_text(query, encoding="utf-8")
    (folder / "qrels").mkdir()
    line = f"query-id\tcorpus-id\tscore\nq\t{documents['doc_id'][0]}\t1\n"
    (folder / "qrels" / "test.tsv").write_text(line, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def reports():
    """What was grown once for all tests of this file."""
    return {}


@pytest.fixture
def tree(run, case, folder, tmp_path, reports):
    path = tmp_path / "tree.json"
    if not reports:
        assert run("run", case, folder, "--mode", "bm25", "-o", path)[0] == 0
        reports["tree"] = path.read_text(encoding="utf-8")
    path.write_text(reports["tree"], encoding="utf-8")
    return path


def test_tree_of_a_fact_sheet_has_the_documented_fields(tree):
    report = json.loads(tree.read_text(encoding="utf-8"))
    root, child = report["nodes"][:2]
    assert root["diff_vs_parent"] is None
    assert set(root["sensitivity_scores"]) == {"Section", "Numerical", "PartyType", "Evidence"}
    assert set(child["diff_vs_parent"]) >= {
        "dropped_cases",
        "newly_appeared_cases",
        "stable_cases",
        "rank_displacements",
        "mean_displacement",
    }
    assert child["fact_sheet_state"]["case_id"] == "t1"
    results = child["retrieval_results"]
    assert [r["rank"] for r in results] == list(range(1, len(results) + 1))
    assert child["counterfactual_summary"]
    moved = child["diff_vs_parent"]["rank_displacements"].values()
    mean = child["diff_vs_parent"]["mean_displacement"]
    assert mean == pytest.approx(sum(moved) / len(moved))


def test_every_edited_state_names_its_parent_and_the_edit_between_them(tree):
    root, *edited = json.loads(tree.read_text(encoding="utf-8"))["nodes"]
    assert root["node_id"] == "r" and root["parent_id"] is root["edge"] is None
    depths = {"r": 0}
    for node in edited:
        parent, _, _ = node["node_id"].rpartition(".")
        assert node["parent_id"] == parent in depths
        assert node["depth"] == depths[parent] + 1
        assert node["edge"]["fact_type"] in root["sensitivity_scores"]
        assert node["edge"]["words_removed"] + node["edge"]["words_added"] > 0
        depths[node["node_id"]] = node["depth"]
    assert max(depths.values()) > 1


def test_every_result_and_edge_is_explained_by_words_of_the_documents(run, tree, folder):
    rows = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["_id"]: row["text"] for row in map(json.loads, rows)}
    report = json.loads(tree.read_text(encoding="utf-8"))
    code, markdown, _ = run("report", tree)
    assert code == 0
    names = re.findall(r"^### (r[\d.]*):", markdown, re.MULTILINE)
    assert names == sorted(names, key=lambda name: name.split(".")) and len(names) == len(
        report["nodes"]
    )
    quoted = 0
    for node in report["nodes"]:
        told = [result["explanation"] for result in node["retrieval_results"]]
        told += [node["edge"]["explanation"]] if node["edge"] else []
        assert len(told) > 5
        assert f"### {node['node_id']}: " in markdown
        for sentence in [one for each in told for one in each["sentences"]]:
            assert escape_markdown(sentence["text"]) in markdown
            for place in sentence["support"]:
                words = texts[place["document_id"]][place["start"] : place["end"]]
                assert words == place["quote"]
                quoted += 1
    assert quoted


@pytest.fixture(params=["corpus.jsonl", "texts"])
def documents(folder, tmp_path, request):
    """The planted documents without questions and judgements, as JSON lines or as text files."""
    place = tmp_path / "documents"
    place.mkdir()
    if request.param == "texts":
        for row in plant_cases(1, 3, 4).documents.itertuples():
            (place / f"{row.doc_id}.txt").write_text(row.text, encoding="utf-8")
    else:
        shutil.copy(folder / "corpus.jsonl", place)
    return place


def test_documents_need_no_questions_and_no_slash(run, case, documents, monkeypatch):
    monkeypatch.chdir(documents.parent)
    options = ("--mode", "bm25", "--depth", 1, "--json")
    reports = []
    for name in (documents, "./documents", "documents"):
        code, out, _ = run("run", case, name, *options)
        assert code == 0
        reports.append(json.loads(out))
    assert reports[0] == reports[1] == reports[2]
    assert reports[0]["dataset"] == "documents"
    assert run("run", case, documents, *options[:-1], "-o", next(documents.iterdir()))[0] == 1


@pytest.mark.parametrize("annotated", [False, True])
def test_run_and_evaluate_take_the_same_file(run, case, folder, annotated):
    if annotated:
        sheet = dict(CASE)
        record = {
            "case_id": sheet.pop("case_id"),
            "fact_sheet": sheet,
            "dispositive_facts": ["Section"],
        }
        case.write_text(json.dumps(record), encoding="utf-8")
    code, out, _ = run("run", case, folder, "--mode", "bm25", "--depth", 1, "--json")
    assert code == 0 and json.loads(out)["case_id"] == "t1"
    code, out, _ = run("evaluate", case, "--corpus", folder, "--mode", "bm25", "--json")
    counts = json.loads(out)["counts"]
    assert code == 0 and (counts["read"], counts["annotated"]) == (1, int(annotated))


def test_the_threshold_of_run_decides_what_is_dispositive_and_edited_again(run, case, folder):
    scores, nodes = {}, {}
    for threshold in (None, 0, 11):
        given = () if threshold is None else ("--threshold", threshold)
        code, out, _ = run("run", case, folder, "--mode", "bm25", "--json", *given)
        report = json.loads(out)
        assert code == 0 and report["threshold"] == (1.5 if threshold is None else threshold)
        scores[threshold], nodes[threshold] = (
            report["nodes"][0]["sensitivity_scores"],
            len(report["nodes"]),
        )
        for score in scores[threshold].values():
            moved = score["mean_displacement"]["value"]
            assert score["dispositive"] == (None if moved is None else moved > report["threshold"])
    assert nodes[11] < nodes[None] <= nodes[0]
    assert not any(score["dispositive"] for score in scores[11].values())


def test_the_threshold_of_a_report_changes_what_it_calls_dispositive(run, tree):
    moved = {
        name: score["mean_displacement"]["value"]
        for name, score in json.loads(run("report", tree, "--json")[1]).items()
        if score["edges"]
    }
    for threshold in (0, 1.5, max(moved.values()), 11):
        code, out, _ = run("report", tree, "--threshold", threshold, "--json")
        scores = json.loads(out)
        assert code == 0
        assert {n for n in moved if scores[n]["dispositive"]} == {
            n for n, value in moved.items() if value > threshold
        }
    assert "exceeds 1.5." in run("report", tree)[1]
    assert "exceeds 2.5." in run("report", tree, "--threshold", 2.5)[1]


def test_a_report_of_an_earlier_version_is_read(run, tree):
    report = json.loads(tree.read_text(encoding="utf-8"))
    del report["threshold"]
    for score in report["nodes"][0]["sensitivity_scores"].values():
        del score["dispositive"]
    tree.write_text(json.dumps(report), encoding="utf-8")
    code, out, _ = run("report", tree)
    assert code == 0 and "exceeds 1.5." in out


@pytest.mark.parametrize("command", ["run", "evaluate"])
def test_numbers_of_edits_have_their_least(run, case, folder, command):
    arguments = {"run": (case, folder), "evaluate": (case, "--corpus", folder)}[command]
    for option, least in {"children": 1, "depth": 1, "placebos": 0, "k": 1}.items():
        code, out, err = run(command, *arguments, f"--{option}", least - 1)
        assert (code, out) == (1, "") and f"--{option}" in err
    smallest = ("--children", 1, "--depth", 1, "--placebos", 0, "--k", 1)
    assert run(command, *arguments, *smallest, "--mode", "bm25", "--json")[0] == 0


def test_what_is_no_report_of_a_tree_is_refused(run, tmp_path):
    path = tmp_path / "other.json"
    for content in ([], {}, {"format": "casebook sensitivity tree 0"}):
        path.write_text(json.dumps(content), encoding="utf-8")
        code, out, err = run("report", path)
        assert (code, out) == (1, "") and err.count("\n") == 1
        assert f"{path}: is no report of a tree: make one with 'casebook sensitivity run" in err


def test_a_threshold_is_a_number(run, tree, case, folder):
    commands = {"run": (case, folder), "report": (tree,), "evaluate": (case, "--corpus", folder)}
    taken = []
    for (command, arguments), value in itertools.product(
        commands.items(), ["nan", "-1", "inf", "high"]
    ):
        code, out, err = run(command, *arguments, "--threshold", value)
        if code == 0 or out or "threshold" not in err:
            taken.append((command, value, err))
    assert taken == []


def test_report_as_markdown_and_json(run, tree, tmp_path):
    code, text, _ = run("report", tree)
    assert code == 0
    assert text.startswith("# Sensitivity of the results for t1")
    assert "| Section |" in text
    ranks = range(10)
    shuffled = sum(abs(a - b) for a in ranks for b in ranks) / 100
    assert f"in random order have mean displacement {shuffled}." in text
    code, out, _ = run("report", tree, "--json")
    assert code == 0 and "PartyType" in json.loads(out)
    assert run("report", tree, "-o", tmp_path / "tree.md")[0] == 0
    assert (tmp_path / "tree.md").read_text(encoding="utf-8") == text
    assert run("report", tree, "-o", tree)[0] == 1


def test_names_of_others_are_no_markup(run, tmp_path):
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(CASE | {"case_id": DOCKET}), encoding="utf-8")
    out = tmp_path / "odd-tree.json"
    options = ("--mode", "bm25", "--depth", 1)
    assert run("run", path, "smoke", *options, "-o", out)[0] == 0
    code, text, _ = run("report", out)
    title = text.splitlines()[0]
    assert code == 0
    assert "<b>" not in title
    assert r"State\_[1]" in title  # a bracket that no address follows is no link


def test_a_judgment_and_the_documented_mode(run, folder, tmp_path):
    path = tmp_path / "judgment.txt"
    path.write_text(JUDGMENT, encoding="utf-8")
    options = ("--mode", "bm25", "--json", "--original")
    code, out, _ = run("run", path, folder, *options)
    assert code == 0
    report = json.loads(out)
    scores = report["nodes"][0]["sensitivity_scores"]
    assert scores["Section"]["reason"] == "not assessed: no edge"
    assert scores["Section"]["mean_displacement"]["value"] is None
    assert scores["Numerical"]["edges"] > 0


def test_a_model_that_is_down_accepts_nothing(run, case, monkeypatch):
    monkeypatch.setenv("CASEBOOK_LLM_URL", "http://127.0.0.1:9/v1")
    options = ("--mode", "bm25", "--validator", "endpoint:none")
    code, out, _ = run("run", case, "smoke", *options)
    assert code == 0
    assert "answers missing: unreachable" in out
    assert "0 accept" in out
    assert "not assessed" in out


def test_a_validator_is_paid_for_once(run, case, endpoint, monkeypatch):
    pytest.importorskip("openai")
    url, asked = endpoint('{"plausible": true, "changes_operative_fact": true}')
    monkeypatch.setenv("CASEBOOK_LLM_URL", url)
    options = ("--mode", "bm25", "--validator", "endpoint:m", "--json")
    code, out, _ = run("run", case, "smoke", *options)
    n_asked = len(asked)
    assert code == 0 and n_asked
    first = json.loads(out)
    (cost,) = [note for note in first["notes"] if note.startswith("the validator: ")]
    assert cost.startswith(f"the validator: {n_asked} questions, 0 from the cache, {n_asked} req")
    again = json.loads(run("run", case, "smoke", *options)[1])
    assert len(asked) == n_asked
    assert f"the validator: {n_asked} questions, {n_asked} from the cache" in again["notes"]
    assert again["counts"] == first["counts"]


def test_bad_input_is_one_clear_line(run, case):
    good = case.read_bytes()
    bad = [
        (b"", (), "is not JSON"),
        (b'{"case_id": "e"}', (), "has no fact"),
        (json.dumps(CASE | {"colour": 1}).encode(), (), "colour"),
        (good, ("--k", "5000"), "fewer than the 5000"),
        (good, ("--budget", "all"), "unknown budget"),
        (good, ("--validator", "oracle"), "no language model 'oracle'"),
    ]
    wrong = []
    for content, options, message in bad:
        case.write_bytes(content)
        code, out, err = run("run", case, "smoke", *options)
        if (code, out) != (1, "") or message not in err or err.count("\n") != 1:
            wrong.append((options, message, code, err))
    assert wrong == []


def test_a_collection_without_inert_words_leaves_the_excess_undefined(run, tmp_path, case, folder):
    corpus = (folder / "corpus.jsonl").read_text(encoding="utf-8")
    bare = tmp_path / "bare"
    shutil.copytree(folder, bare)
    corpus = re.sub(r"Filed in[^\"]*?(?=\")", "", corpus)
    corpus = re.sub(rf"\b(?:{'|'.join(sum(Inert(), ()))})\b", "x", corpus)
    (bare / "corpus.jsonl").write_text(corpus, encoding="utf-8")
    path = tmp_path / "bare.json"
    code, out, _ = run("run", case, bare, "--mode", "bm25", "-o", path)
    assert code == 0
    assert f"note: excess is undefined: {NO_INERT_WORDS}" in out
    scores = json.loads(path.read_text("utf-8"))["nodes"][0]["sensitivity_scores"]
    assessed = [score for score in scores.values() if score["edges"]]
    assert assessed
    for score in assessed:
        assert score["normalised_footrule"]["value"] is not None
        assert score["placebo"] is None and score["excess"]["value"] is None
        assert score["reason"] == NO_INERT_WORDS
    code, text, _ = run("report", path)
    assert code == 0 and text.count(NO_INERT_WORDS) == len(assessed) + 1


def test_a_case_that_is_no_query_is_flagged_and_not_scored(run, tmp_path, folder):
    path, out_path = tmp_path / "poor.json", tmp_path / "tree.json"
    sheet = {"case_id": "poor", "parties": {"petitioner_type": "Individual"}}
    path.write_text(json.dumps(sheet), encoding="utf-8")
    code, out, _ = run("run", path, folder, "--mode", "bm25", "-o", out_path)
    assert code == 0
    assert "note: the query has 1 informative term(s)" in out
    report = json.loads(out_path.read_text(encoding="utf-8"))
    assert report["informative_terms"] == ["individual"]
    for score in report["nodes"][0]["sensitivity_scores"].values():
        assert score["mean_displacement"]["value"] is None
        assert score["normalised_footrule"]["value"] is None
    assert "too poor to be scored" in run("report", out_path)[1]


def test_placebos_that_move_more_than_the_edits_are_named(run, tree):
    report = json.loads(tree.read_text(encoding="utf-8"))
    scores = report["nodes"][0]["sensitivity_scores"]
    strong = {
        name
        for name, score in scores.items()
        if score["placebo"] and score["placebo"] > score["normalised_footrule"]["value"]
    }
    told = {w.split(":")[0] for w in report["warnings"] if "change no fact" in w}
    assert told == strong and strong
