"""Train a shift, find it again, and apply it to queries it was not learned from."""

from pathlib import Path

from casebook.errors import InputError
from casebook.measures.ranking import ORIGINAL
from casebook.shift import evaluate, training, trainings
from casebook.shift.learner import learn_posneg
from casebook.shift.preparation import Setup, load_dataset, prepare

KPI = ("original:map@1", "original:ndcg@3")
LARGEST_SCALE = 1e6
_BOUND = ("DatasetHash", "SplitHash", "EncoderHash")


def names_of(dataset):
    """Give the documented names of a dataset's workflows."""
    key = dataset.key
    if key == "insurance":
        return "mini-insurance-posneg", "MiniInsurance-PosNeg"
    return f"{key}-posneg", f"{key}-PosNeg"


def train(setup, root):
    """Learn on the training queries, choose the scale on the development queries."""
    ready = prepare(setup)
    data, parts = ready.data, ready.division.parts
    shift = learn_posneg(data, parts["train"], setup.mode, hard_negatives=setup.hard_negatives)
    scale, selection = _choose_scale(data.take(parts["dev"]), shift)
    name, _ = names_of(data.dataset)
    result = training.training_result(shift, name, selection=selection, labels=ready.labels, scale=scale)
    return training.write_training(root, result, shift.stats), result, shift.stats


def _choose_scale(dev, shift):
    """Give the best scale, the smallest of equals, and the documented metrics."""
    tried = {}
    for scale in evaluate.SCALES:
        vectors = dev.queries + scale * shift.move(dev.queries)
        tried[scale] = dev.score(vectors).mean()
    top = max(means[evaluate.SELECTION] for means in tried.values())
    scale = min(s for s, m in tried.items() if m[evaluate.SELECTION] >= top - 1e-12)
    pairs = {key.removeprefix(ORIGINAL): (float(tried[0.0][key]), float(tried[scale][key])) for key in KPI}
    return scale, pairs


def find_training(dataset, root, *, newest=False, folder=None):
    """Find the training to apply."""
    if folder is not None:
        below = Path(root) / folder
        known = Path(folder).exists() or not below.exists()
        result = trainings.read_training(folder if known else below)
    else:
        name, _ = names_of(load_dataset(dataset))
        result = (trainings.latest if newest else trainings.best)(root, name)
    labels = result.values.get("Labels") or {}
    try:
        own = labels["Parameters"]
        setup = Setup(
            str(dataset),
            embedder=labels["Encoder"],
            mode=own["mode"],
            hard_negatives=own["hard_negatives"],
            by=labels["SplitBy"],
            seed=labels["Seed"],
            noise=own["noise"],
        )
    except (KeyError, TypeError):
        raise InputError(
            f"{result.folder}: does not say which embedder and split it was made with; train again"
        ) from None
    return result, setup


def shift_queries(data, result, scale=None):
    """Apply a stored shift."""
    scale = float(result.values.get("Scale", 1.0) if scale is None else scale)
    if not abs(scale) <= LARGEST_SCALE:
        raise InputError(f"the scale must lie between -{LARGEST_SCALE:g} and {LARGEST_SCALE:g}, not {scale}")
    if result.cancelled or not result.vector.size:
        return data.queries.copy(), 0.0
    if result.vector.size != data.queries.shape[1]:
        raise InputError(
            f"the shift has {result.vector.size} dimensions, the queries "
            f"{data.queries.shape[1]}: train with this embedder"
        )
    return data.queries + scale * result.vector, scale


def unapplied(result, scale):
    """Say why no shift was applied, if none was."""
    if scale:
        return None
    why = "the scale is 0, which training chooses if no shift is better than none"
    if result.cancelled:
        why = f"the training was cancelled: {result.values.get('CancelReason')}"
    return f"no shift was applied, shifted and unshifted queries are the same: {why}"


def check_split(ready, result):
    """Refuse a training whose data or division were other ones."""
    labels = result.values.get("Labels") or {}
    for key in _BOUND:
        if labels.get(key) != ready.labels[key]:
            raise InputError(
                f"{result.folder}: was trained with another {key}; train again, so that no test query was learned from"
            )
