"""The assembled report on one system's verdicts: documented and corrected parts."""

from casebook.errors import InputError
from casebook.factcheck.comparing import compare_verdicts, is_right
from casebook.factcheck.joining import join_labels, read_labels
from casebook.factcheck.scoring_report import FactcheckReport
from casebook.measures import classification as verdict_labels
from casebook.measures.calibration import calibration
from casebook.measures.classification import score_predictions


def score_files(gold, predicted, *, baseline=None, groups=(), cluster=None, **options):
    """Score a file of predictions against a file of gold labels."""
    frame = read_labels(gold)
    for name in [*groups, *([cluster] if cluster else [])]:
        if name not in frame:
            raise InputError(f"{gold}: no column {name!r}: it has {', '.join(frame)}")
    _check_gold(gold, frame, options.get("labels"))
    joined = join_labels(frame, read_labels(predicted), (gold, predicted))
    baselines = {}
    if baseline is not None:
        blind = join_labels(frame, read_labels(baseline), (gold, baseline))
        baselines["claim_only"] = blind.rows["predicted"]
    return score_joined(joined, baselines=baselines, groups=groups, cluster=cluster, **options)


def _check_gold(path, frame, labels):
    """Name the first gold label that is missing or unknown, and count them."""
    codes, _ = verdict_labels.encode(frame["label"], labels)
    wrong = frame[codes >= len(verdict_labels.GOLD)]
    if len(wrong):
        first = wrong.iloc[0]
        known = ", ".join(verdict_labels.GOLD)
        problem = (
            f"{len(wrong)} of {len(frame)} gold labels are missing or unknown (here "
            f"{first['label']!r}): use {known}, or name the spelling's meaning"
        )
        raise InputError.at(path, first["row"], problem)


def score_joined(joined, *, policy=None, baselines=None, groups=(), cluster=None, labels=None, n_boot=1000, seed=0):
    """Score joined rows: documented, corrected, calibrated, against baselines."""
    rows = joined.rows
    clusters = rows[cluster] if cluster else None
    options = {"clusters": clusters, "n_boot": n_boot, "seed": seed}
    scores = score_predictions(
        rows["gold"],
        rows["predicted"],
        labels=labels,
        groups={name: rows[name] for name in groups},
        baselines=baselines,
        **(policy or {}),
        **options,
    )

    right = is_right(rows["gold"], rows["predicted"], labels, scores.policy)
    rivals = {"majority": _majority(right, rows["gold"], labels, scores.policy)}
    rivals |= baselines or {}
    # Rows that the system's answers drop are dropped for all; no others are.
    policy = dict(scores.policy)
    if policy["off_label"] == "drop":
        policy["off_label"] = "wrong"
    answers = {name: is_right(rows["gold"], predicted, labels, policy) for name, predicted in rivals.items()}
    comparisons = compare_verdicts(right, answers, clusters=clusters, n_resamples=n_boot, seed=seed)
    stated = _stated(rows, right, options) if "confidence" in rows else None
    return FactcheckReport(joined, scores, stated, comparisons)


def _stated(rows, right, options):
    """Hold the stated confidences of the rows that count against what is right."""
    kept, clusters = right.notna(), options["clusters"]
    clusters = None if clusters is None else clusters[kept]
    return calibration(right[kept].astype(bool), rows["confidence"][kept], **(options | {"clusters": clusters}))


def _majority(right, gold, labels, policy):
    """Answer all rows with the class most frequent among those that count."""
    policy, counted = policy | {"off_label": "wrong"}, right.notna()

    def hits(label):
        found = is_right(gold, [label] * len(gold), labels, policy)
        return found[counted].eq(True).sum()

    return [max(verdict_labels.GOLD[:3], key=hits)] * len(gold)
