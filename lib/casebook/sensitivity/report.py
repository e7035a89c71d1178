"""One case from a file, run against a collection: its tree as JSON and Markdown; and the evaluation of a system."""

from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.explain.templates import Explainer, node_markdown, plain
from casebook.measures.rankshift import jaccard, normalised_footrule, rank_changes, rbo
from casebook.models.language import load_language_model
from casebook.readers import read_json, read_lines
from casebook.retrieval.index import CorpusIndex
from casebook.sensitivity import evaluation
from casebook.sensitivity.cases import read_cases
from casebook.sensitivity.citations import neighbours_or_next
from casebook.sensitivity.edits import NO_INERT_WORDS
from casebook.sensitivity.extract import extract_sheet, extract_with_model
from casebook.sensitivity.facts import present_types, to_dict
from casebook.sensitivity.plausibility import DECISIONS, ModelValidator, accept_rates, rules
from casebook.sensitivity.study import case_search
from casebook.sensitivity.tree import DISPLACEMENT, FOOTRULE, edge_frame, grow_tree, placebo_frame
from casebook.stats.intervals import estimate_text
from casebook.stats.samples import number_or_none

MAX_JUDGMENT_BYTES = 20_000_000  # bytes of a judgment
TREE_FORMAT = "casebook sensitivity tree 1"
RANDOM_DISPLACEMENT = 3.3  # mean displacement of the same ten cases in random order
_NAMED = 5  # cases named in a sentence
_ANSWERS = {True: "yes", False: "no", None: "–"}


# ---- from a file to a tree


def read_case(path, extractor=None, name=None):
    """Read a case and the notes on it: a case in JSON, by name if there are several, or a judgment in text."""
    path = Path(path)
    if path.suffix.lower() in (".json", ".jsonl"):
        if extractor:
            raise InputError(f"{path}: is a fact sheet already: leave --extractor out")
        return _chosen_sheet(path, name), ()
    if name:
        raise InputError(f"{path}: is the text of one judgment: leave --case out")
    if path.is_file() and path.stat().st_size > MAX_JUDGMENT_BYTES:
        raise InputError(f"{path}: is larger than {MAX_JUDGMENT_BYTES:,} bytes: no judgment")
    text = "\n".join(line for _, line in read_lines(path))
    model = extractor and load_language_model(extractor)
    found = extract_with_model(text, model, path.stem) if model else extract_sheet(text, path.stem)
    if not present_types(found.sheet):
        raise InputError(f"{path}: no fact was found in the text: write a fact sheet in JSON")
    return found.sheet, found.notes


def _chosen_sheet(path, name):
    """Give the sheet of the only case of a file, or of the named one."""
    sheets = {case.sheet.case_id: case.sheet for case in read_cases(path)}
    if name is None and len(sheets) == 1:
        name = next(iter(sheets))
    if name not in sheets:
        listed = ", ".join(list(sheets)[:_NAMED])
        problem = f"holds {len(sheets)} cases" if name is None else f"holds no case {name!r}"
        raise InputError(f"{path}: {problem}: choose one by --case; the first are {listed}")
    return sheets[name]


def missing_answers(validator):
    """Say how many answers of a language model are missing, and why."""
    return [
        f"{count} answers missing: {why}"
        for why, count in getattr(validator, "failures", {}).items()
    ]


def validator_for(name=None, documented=False):
    """Choose who judges whether an edit is plausible: the rules, or a language model by name."""
    return rules if name is None else ModelValidator(load_language_model(name), documented)


def run_case(sheet, documents, *, mode="full", encoder=None, k=10, **options):
    """Grow the tree of one case over a collection; `options` go to `casebook.sensitivity.tree.grow_trees`."""
    search = case_search(mode, CorpusIndex(documents, encoder), k)
    tree = grow_tree(sheet, search, neighbours=neighbours_or_next, **options)
    if tree.root.ranking.error:
        raise InputError(f"{sheet.case_id}: {tree.root.ranking.error}")
    return tree


# ---- annotated cases: the original and the standard evaluation


def evaluation_report(study, system, threshold=evaluation.THRESHOLD):
    """Evaluate one system of a study against its annotations: original and standard measures, as plain data."""
    rate = accept_rates(study.decisions(system)).iloc[-1]
    value, low, high = (number_or_none(rate[name]) for name in ("rate", "rate low", "rate high"))
    standard = {
        "accept rate": {
            "value": value,
            "ci": [low, high],
            "n": int(rate["accepted"] + rate["rejected"]),
        },
        **study.placebos_above(system, threshold),
    }
    report = {
        "cases": study.name,
        "mode": system,
        "threshold": threshold,
        "original": None,
        "standard": standard,
        "poor queries": sum(tree.poor is not None for tree in study.trees[system]),
    }
    if len(study.annotations):
        report["original"], report["original in its code"] = study.documented(system, threshold)
        report["against"] = study.against_simple(system).to_dict("records")
        measured = study.evaluated(system)
        standard |= {"auroc": measured["auroc"], "spearman": measured["spearman"]}
        if measured["auroc"]["value"] is None and not measured["auroc"]["n"]:
            standard["auroc"] = measured["auroc"] | {"reason": study.why_no_excess(system)}
    return report | {"fact types": study.sensitivity(system).to_dict("records")}


def evaluation_parts(report):
    """Write an evaluation for people: lines and tables."""
    counts = ", ".join(
        f"{count} {name.replace('_', ' ')}" for name, count in report["counts"].items()
    )
    yield [
        f"{report['cases']}, {report['mode']}: {counts}",
        *(f"note: {note}" for note in report["notes"]),
    ]
    if report["poor queries"]:
        yield [
            f"note: {report['poor queries']} cases have too few words that tell documents apart, and are not scored"
        ]
    if report["original"] is None:
        yield ["no case is annotated: accuracies, AUROC and Spearman are not defined"]
    else:
        yield [f"COUNTERCASE's evaluation at a mean displacement of {report['threshold']:g}:"]
        original = pd.DataFrame(report["original"].items(), columns=["measure", "as documented"])
        yield original.assign(**{"in its code": report["original in its code"].values()})
    yield ["standard measures, 95 % intervals over cases:"]
    labels = {"auroc": "AUROC of the excess", "spearman": "mean Spearman"}
    rows = [
        {"measure": labels.get(name, name), **number} for name, number in report["standard"].items()
    ]
    standard = pd.DataFrame(rows)
    standard[["low", "high"]] = standard["ci"].tolist()
    yield standard.reindex(columns=["measure", "value", "low", "high", "n", "p", "reason"])
    if "against" in report:
        yield pd.DataFrame(report["against"])[
            ["against", "baseline", "difference", "low", "high", "n", "groups"]
        ]
    yield ["excess over placebo edits, normalised footrule:"]
    columns = ["fact type", "edges", "cases", "excess", "excess low", "excess high", "reason"]
    yield pd.DataFrame(report["fact types"])[columns]


# ---- a tree as plain data


def explained_report(tree, documents, documented=False, threshold=evaluation.THRESHOLD):
    """Give a tree as plain data, node by node, with the explanation of each result and each edge."""
    explain = Explainer(dict(zip(documents["doc_id"], documents["text"], strict=True)), documented)
    edges = edge_frame([tree])
    placebos = placebo_frame([tree])
    nodes = [_node(tree, node, explain) for node in tree.nodes]
    scores = nodes[0]["sensitivity_scores"] = _scores(edges, tree.settings.seed)
    outcomes = [outcome for _, _, outcome, _ in tree.decisions]
    counts = dict(sorted(tree.counts.items())) | {
        outcome: outcomes.count(outcome) for outcome in DECISIONS
    }
    noops = [
        {"node_id": n.name, "fact_type": e.fact_type, "edit": e.description} for n, e in tree.noops
    ]
    report = {
        "format": TREE_FORMAT,
        "case_id": tree.case_id,
        "k": tree.k,
        "counts": counts | {"nodes": len(nodes), "noops": len(noops)},
        "informative_terms": list(tree.terms),
        "warnings": _warnings(tree, scores),
        "placebo_mean_footrule": evaluation.placebo_threshold(placebos, "footrule", 0.5),
        "nodes": nodes,
        "noops": noops,
        "coverage": evaluation.coverage(edges, 1).to_dict("records"),
    }
    return with_threshold(report, threshold)


def with_threshold(report, threshold=None):
    """Call the fact types dispositive whose mean displacement exceeds a threshold, by default the report's own."""
    if threshold is None:
        threshold = report.get("threshold", evaluation.THRESHOLD)
    root, *others = report["nodes"]
    scores = {}
    for name, score in root["sensitivity_scores"].items():
        moved = score["mean_displacement"]["value"]
        scores[name] = score | {"dispositive": None if moved is None else moved > threshold}
    return report | {
        "threshold": threshold,
        "nodes": [root | {"sensitivity_scores": scores}, *others],
    }


def _node(tree, node, explain):
    edit = node.edit
    found = node.ranking
    told = explain(node)
    names = ("case_id", "document_id", "score")
    listed = zip(found.cases, found.documents, found.scores, strict=True)
    results = [
        {"rank": rank, **dict(zip(names, one, strict=True))} for rank, one in enumerate(listed, 1)
    ]
    results = [row | {"explanation": told["results"][row["case_id"]]} for row in results]
    edge = None
    if edit:
        edge = {
            n: getattr(edit, n)
            for n in ("fact_type", "item", "operation", "old", "new", "description")
        }
        edge |= {
            "words_removed": edit.removed,
            "words_added": edit.added,
            "explanation": told["edge"],
        }
    row = {
        "node_id": node.name,
        "parent_id": node.parent.name if node.parent else None,
        "depth": node.depth,
        "edge": edge,
        "fact_sheet_state": to_dict(node.sheet),
        "query": node.query,
        "retrieval_results": results,
        "retrieval_error": found.error,
        "diff_vs_parent": _diff(node, tree.k) if node.parent else None,
    }
    return row | {"counterfactual_summary": _summary(row)}


def _diff(node, k):
    """Compare with the parent; None where a retrieval failed."""
    if node.ranking.error or node.parent.ranking.error:
        return None
    before = node.parent.ranking.cases
    after = node.ranking.cases
    changes = rank_changes(before, after, k)
    return {
        "dropped_cases": list(changes.dropped),
        "newly_appeared_cases": list(changes.new),
        "stable_cases": list(changes.stable),
        "rank_displacements": changes.displacement,
        "mean_displacement": node.displacement(k),
        "normalised_footrule": normalised_footrule(before, after, k),
        "rbo": rbo(before, after),
        "jaccard": jaccard(before, after, k),
        "n_parent": changes.n_before,
        "n_child": changes.n_after,
    }


def _summary(row):
    """Say in a sentence or two what became of the results."""
    diff = row["diff_vs_parent"]
    if row["retrieval_error"]:
        return f"Retrieval failed: {row['retrieval_error']}."
    if diff is None:  # the case as it is, or a state after one that has no results
        return f"{len(row['retrieval_results'])} cases retrieved."
    if diff["mean_displacement"] is None:
        return "Nothing retrieved before or after."
    moved = f"mean displacement {diff['mean_displacement']:.2f}"
    moved += f", normalised footrule {diff['normalised_footrule']:.2f}"
    dropped = diff["dropped_cases"]
    new = diff["newly_appeared_cases"]
    if dropped or new:
        return f"{_listed('dropped', dropped)}; {_listed('new', new)} ({moved})."
    order = "another" if any(diff["rank_displacements"].values()) else "the same"
    return f"Same cases in {order} order ({moved})."


def _listed(what, cases):
    if not cases:
        return f"none {what}"
    more = ", ..." if len(cases) > _NAMED else ""
    return f"{len(cases)} {what}: {', '.join(cases[:_NAMED])}{more}"


def _scores(edges, seed):
    """Aggregate one case, whose facts are resampled: it is a single cluster."""
    parts = []
    for measure in (FOOTRULE, DISPLACEMENT):
        frame = evaluation.sensitivity(edges, measure, clusters="item", seed=seed).astype(object)
        parts.append(frame.where(frame.notna(), None).to_dict("records"))

    def number(row, name):
        return {"value": row[name], "ci": [row[f"{name} low"], row[f"{name} high"]]}

    return {
        row["fact type"]: {
            "edges": row["edges"],
            "noops": row["noop"],
            "invalid": row["invalid"],
            "normalised_footrule": number(row, "sensitivity"),
            "placebo": row["placebo"],
            "excess": number(row, "excess"),
            "p": row["p"],
            "mean_displacement": number(parity, "sensitivity"),
            "reason": row["reason"],
        }
        for row, parity in zip(*parts, strict=True)
    }


def _warnings(tree, scores):
    """Say what the scores are worth: poor queries, no placebos, strong placebos."""
    found = [tree.poor] if tree.poor else []
    if tree.settings.placebo_draws and not tree.write.context:
        found.append(f"excess is undefined: {NO_INERT_WORDS}")
    for name, score in scores.items():
        moved = score["normalised_footrule"]["value"]
        placebo = score["placebo"]
        if None not in (moved, placebo) and placebo > moved:
            found.append(
                f"{name}: placebos, which change no fact, move the results more "
                f"({placebo:.3f}) than the edits ({moved:.3f})"
            )
    return found


def read_report(path):
    """Read a report that was written as JSON."""
    report = read_json(path)
    if not isinstance(report, dict) or report.get("format") != TREE_FORMAT:
        raise InputError(
            f"{path}: is no report of a tree: make one with 'casebook sensitivity run CASE DATASET -o FILE'"
        )
    return report


# ---- a report for reading


def as_markdown(report):
    """Write a report as Markdown: a projection of its JSON."""
    root = report["nodes"][0]
    # By name (r, r.1, r.1.1, r.2) each node is followed by its own children.
    nodes = sorted(
        report["nodes"], key=lambda node: [int(part) for part in node["node_id"].split(".")[1:]]
    )
    counted = ", ".join(f"{count} {name}" for name, count in report["counts"].items())
    scores = score_table(report)
    cells = [scores.columns, ["---"] * scores.shape[1], *scores.to_numpy()]
    lines = [
        f"# Sensitivity of the results for {plain(report['case_id'])}",
        "",
        f"Query: {plain(root['query'])}",
        "",
    ]
    note = f"The same ten cases in random order have mean displacement {RANDOM_DISPLACEMENT}."
    lines += [f"| {' | '.join(row)} |" for row in cells]
    by = "Intervals resample the facts of this one case, or its edits where a type has fewer than six facts."
    lines += ["", f"{by} {note}", ""]
    lines += [f"Dispositive: the mean displacement exceeds {report['threshold']:g}.", ""]
    lines += _section("Mind:", [f"- {plain(text)}" for text in report.get("warnings", ())])
    lines += [f"Counts: {counted}.", "", "## States", ""]
    for node in nodes:
        indent = "  " * node["depth"]
        lines += [
            f"{indent}- **{node['node_id']}** {_title(node)}",
            f"{indent}  {plain(node['counterfactual_summary'])}",
        ]
    noops = [f"- {n['node_id']}: {plain(n['edit'])}" for n in report["noops"]]
    lines += ["", *_section("## Edits that leave the query as it was", noops)]
    told = [(f"### {node['node_id']}: {_title(node)}", node_markdown(node)) for node in nodes]
    lines += _section(
        "## Explanations", [f"{title}\n\n{text.rstrip()}\n" for title, text in told if text]
    )
    return "\n".join(lines).rstrip() + "\n"


def _section(title, lines):
    return [title, "", *lines, ""] if lines else []


def _title(node):
    return plain(node["edge"]["description"]) if node["edge"] else "as it is"


def score_table(report):
    """Show the scores of a report, a row per fact type, with the intervals in brackets."""
    rows = []
    for name, score in report["nodes"][0]["sensitivity_scores"].items():
        row = {"fact type": name, "edges": str(score["edges"])}
        for label in ("mean_displacement", "normalised_footrule", "excess"):
            number = score[label]
            row[label.replace("_", " ")] = "–" if number["value"] is None else estimate_text(number)
        placebo = "–" if score["placebo"] is None else f"{score['placebo']:.3f}"
        row["dispositive"] = _ANSWERS[score["dispositive"]]
        rows.append(row | {"placebo": placebo, "reason": score["reason"] or ""})
    columns = ["fact type", "edges", "mean displacement", "dispositive"]
    return pd.DataFrame(
        rows, columns=[*columns, "normalised footrule", "placebo", "excess", "reason"]
    )
