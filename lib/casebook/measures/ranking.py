"""Evaluate a ranking against relevance judgements, query by query.

The measures are listed by `list_measures` and explained by `describe`. All of them see
the same ranking: score descending, ties by document id descending in byte order, which
is trec_eval's rule. `casebook.measures.ranking_ties` says how much the ties matter.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casebook.errors import InputError
from casebook.measures.ranking_inputs import Accounting, look_up
from casebook.measures.ranking_names import Measure, describe, list_measures, parse_measure
from casebook.measures.ranking_ranks import rank_judged

__all__ = ["DEFAULT", "Evaluation", "describe", "evaluate", "list_measures"]

DEFAULT = ("nDCG@10", "RR@10", "R@100", "AP")


@dataclass(frozen=True)
class Evaluation:
    """Values of some measures for every query of one run."""

    query_ids: list[str]
    measures: tuple[Measure, ...]
    matrix: np.ndarray
    accounting: Accounting

    @property
    def names(self):
        """Names of the measures as requested, list of str."""
        return [measure.name for measure in self.measures]

    @cached_property
    def per_query(self):
        """Values as {query id: {measure name: value}}, made when first asked for."""
        names = self.names
        return {
            query: dict(zip(names, values, strict=True))
            for query, values in zip(self.query_ids, self.matrix.tolist(), strict=True)
        }

    @property
    def mean(self):
        """Summary over the queries by measure name, dict of str to float."""
        columns = zip(self.measures, self.matrix.T, strict=True)
        return {measure.name: measure.summarise(values) for measure, values in columns}

    def values(self, name):
        """Give the values of one measure."""
        if name not in self.names:
            raise InputError(f"{name!r} was not evaluated: {', '.join(self.names)}")
        return self.matrix[:, self.names.index(name)]

    def frame(self):
        """Give the values as a table."""
        import pandas as pd  # most callers need no frame and start faster without

        index = pd.Index(self.query_ids, name="query_id")
        return pd.DataFrame(self.matrix, index=index, columns=self.names)


def evaluate(qrels, run, measures=DEFAULT, *, judged_only=False, missing="zero", no_relevant="zero"):
    """Evaluate a run.

    Parameters
    ----------
    qrels : dict of str to dict of str to int, DataFrame or path-like
        Judgements: query id to document id to integer grade; or a frame with columns
        ``query_id``, ``doc_id`` and ``relevance``; or a TREC file.
    run : dict of str to dict of str to float, DataFrame or path-like
        Scores: query id to document id to finite score; or a frame with columns
        ``query_id``, ``doc_id`` and ``score``; or a TREC file.
    measures : sequence of str or str
        Names, see `list_measures`.
    judged_only : bool
        Remove unjudged documents from the run first.
    missing : {"zero", "skip"}
        Judged queries that the run does not contain score 0, as in ``trec_eval -c``,
        or are left out, as without ``-c``.
    no_relevant : {"zero", "skip"}
        Queries without a document of grade 1 or more score 0, as in trec_eval, or are
        left out.

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        If an input is malformed or empty, no query id is shared, no query is left, or
        a measure or policy is unknown.

    References
    ----------
    Buckley, C. and Voorhees, E. M. (2005). Retrieval system evaluation. In TREC:
    Experiment and Evaluation in Information Retrieval, MIT Press.
    """
    parsed = parse_measures(measures)
    judged, accounting = load_judged(qrels, run, judged_only=judged_only, missing=missing, no_relevant=no_relevant)
    columns = [measure.formula.score(judged) for measure in parsed]
    return Evaluation(judged.query_ids, parsed, np.column_stack(columns), accounting)


def parse_measures(measures):
    """Parse measure names, one or several, each once."""
    names = [measures] if isinstance(measures, str) else list(dict.fromkeys(measures))
    if not names:
        raise InputError("no measure requested")
    return tuple(parse_measure(name) for name in names)


def load_judged(qrels, run, *, judged_only, missing, no_relevant):
    """Rank the judged documents of the queries to be evaluated."""
    _check_policy("missing", missing)
    _check_policy("no_relevant", no_relevant)
    lookup, run_ids, empty = look_up(qrels, run)
    judged = rank_judged(lookup)
    absent = lookup.run_query < 0
    irrelevant = judged.total(judged.grade >= 1) == 0
    keep = np.ones(len(absent), dtype=bool)
    if missing == "skip":
        keep &= ~absent
    if no_relevant == "skip":
        keep &= ~irrelevant
    if not keep.any():
        raise InputError("no query is left to evaluate")
    names = np.array(judged.query_ids, dtype=object)
    known = set(judged.query_ids)
    accounting = Accounting(
        judged=len(names),
        retrieved=len(run_ids),
        evaluated=int(keep.sum()),
        missing=tuple(names[absent]),
        extra=tuple(query for query in run_ids if query not in known),
        empty=tuple(empty),
        no_relevant=tuple(names[irrelevant]),
    )
    if not keep.all():
        judged = judged.select(keep)
    return judged.without_unjudged() if judged_only else judged, accounting


def _check_policy(name, value):
    if value not in ("zero", "skip"):
        raise InputError(f"{name}={value!r}: choose 'zero' or 'skip'")
