"""How measures of answers, and scores in a log, agree with people's ratings."""

from dataclasses import replace

from casebook.assistant.study import ANSWER_MEASURES, PEOPLE, joined, scores_of
from casebook.findings import interval_verdicts
from casebook.frames import coefficients
from casebook.stats.areas import auroc

AGREEMENT = "AUROC with people's ratings"
CHANCE = 0.5


def people_agreement(rows, measures, **about):
    """How each measure agrees with people's ratings, by system: AUROC, of which chance is 0.5.

    It is the probability that an answer which people rate above their mean has a higher score than
    one which they rate below.
    """
    tables = []
    for measure in [name for name in measures if name != PEOPLE]:
        rated = rows.dropna(subset=[measure, PEOPLE])
        for system, answers in rated.groupby("system", sort=False):
            scores = scores_of(answers, measure, [system], **about)
            ratings = answers[PEOPLE]
            is_good = (ratings > ratings.mean()).to_numpy()
            values = scores.values[system].to_numpy()
            area = auroc(is_good, values, clusters=scores.clusters)
            name = f"{ANSWER_MEASURES.get(measure, measure)} of {system}"
            row = coefficients({name: area}, answers["group"].nunique(), CHANCE)
            verdict = interval_verdicts(row, CHANCE)
            row = row.assign(null=CHANCE, margin=0.0, verdict=verdict)
            of_both = replace(scores, measure=AGREEMENT, neutral=False)
            tables.append(of_both.described(row))
    return joined(tables)
