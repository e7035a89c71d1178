"""Single questions of the embedding-shift experiment: what every learned shift returned."""

from casebook.retrieval.ablation import Ablation, CallableResult
from casebook.retrieval.items import question_items
from casebook.retrieval.run_files import ranked_run


def shift_items(study, focus, against):
    """The questions of a shift study, those first on which its systems differ most."""
    data = study.dataset.subset(study.data.query_ids, study.dataset.split)
    vectors = {against: study.data.queries}
    vectors |= {system: fit.shifted() for system, fit in study.fits.items()}
    results = {
        system: CallableResult(ranked_run(data, study.data.run(queries)))
        for system, queries in vectors.items()
    }
    spoilt = f"questions that {study.phrases[focus]} makes worse"
    page = question_items(
        Ablation(data, results, study.scores),
        focus=focus,
        against=against,
        ready=[(spoilt, focus, against)],
    )
    # Under readers' names, by which marks of figures find them.
    page["systems"] = [study.names[system] for system in page["systems"]]
    return page
