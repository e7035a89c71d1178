"""The whole analysis of a panel that compared two systems: its tables, and what they say in sentences."""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats

from casebook.assistant.answer import read_question_list
from casebook.assistant.log import read_log
from casebook.errors import InputError
from casebook.measures.agreement import agreement_results, agreement_table, leave_one_rater_out
from casebook.models.language import Endpoint
from casebook.raters import preference, ratings
from casebook.raters.blinding import content_audit, guesses
from casebook.raters.documented import votes_of
from casebook.raters.forms import SCALES, Plan, answers_of_log, check_plan
from casebook.raters.power import power_table
from casebook.raters.preference import MARGIN, NEW_RATERS, THESE_RATERS, count_votes
from casebook.raters.read import Votes, defect_table, open_forms, read_forms
from casebook.stats.intervals import bounded, bounds_text
from casebook.stats.samples import number_or_none
from casebook.stats.tests import holm
from casebook.tables import reason_text

VOTES = (-1, 0, 1)
LEVEL = 0.05  # of the tests, unless another one was registered
COPIED = 0.8  # share of equal rows of ratings above which two raters are flagged
COEFFICIENTS = (
    "percent_agreement",
    "fleiss_kappa",
    "conger_kappa",
    "light_kappa",
    "brennan_prediger",
    "gwet_ac1",
    "krippendorff_alpha",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "gwet_ac2",
)


@dataclass(frozen=True, eq=False)
class Panel:
    """What a panel said of two systems; votes, left, place and ratings are frames of items x raters."""

    focus: str
    other: str
    votes: pd.DataFrame
    left: pd.DataFrame
    place: pd.DataFrame
    ratings: dict
    strata: pd.Series
    texts: pd.DataFrame
    rows: pd.DataFrame

    @property
    def raters(self):
        """Raters, in order."""
        return list(self.votes.columns)

    def differences(self, scale):
        """Ratings of the focus system minus those of the other."""
        return self.ratings[scale, self.focus] - self.ratings[scale, self.other]

    def long_ratings(self):
        """Give a row per rating: scale, system, item, rater, rating."""
        table = pd.concat(self.ratings, names=["scale", "system", "item"]).rename_axis(
            columns="rater"
        )
        return table.stack().rename("rating").dropna().reset_index()  # noqa: PD013 - one rating a row


def opponent(focus, systems, other=None):
    """Give the system that the focus is held against: the only one, or that of this name."""
    others = [system for system in systems if system != focus]
    if other is None and len(others) == 1:
        other = others[0]
    if other not in others:
        choices = ", ".join(others)
        raise InputError(
            f"against: {other!r}: say which system {focus} is held against: choose from {choices}"
        )
    return other


def panel_of(votes, other=None):
    """Arrange the judgements on the focus and one other system."""
    focus = votes.focus
    other = opponent(focus, votes.systems, other)
    sides = votes.frame[["left", "right"]].isin([focus, other])
    rows = votes.frame[sides.all(axis=1)]
    if rows.empty:
        raise InputError(f"there is no judgement on {focus} and {other}")
    rows = rows.assign(focus_left=rows["left"] == focus)
    keys = pd.MultiIndex.from_frame(rows[["item_id", "rater"]], names=["item", "rater"])
    raters = [rater for rater in votes.raters if rater in set(rows["rater"])]

    def wide(values):
        return pd.Series(np.asarray(values), keys).unstack()[raters]  # noqa: PD010

    left = rows["focus_left"]
    given = {}
    for scale in SCALES:
        one, two = (rows[f"{scale}_{side}"].astype(float) for side in ("left", "right"))
        given[scale, focus], given[scale, other] = (
            wide(one.where(left, two)),
            wide(two.where(left, one)),
        )
    votes = wide(rows["choice"].map({focus: 1.0, other: -1.0, "Tie": 0.0}))
    first = rows.drop_duplicates("item_id").set_index("item_id").reindex(votes.index)
    one = first["text_left"]
    two = first["text_right"]
    side = first["focus_left"]
    texts = pd.DataFrame(
        {"prompt": first["prompt"], focus: one.where(side, two), other: two.where(side, one)}
    )
    return Panel(
        focus, other, votes, wide(left), wide(rows["place"]), given, first["stratum"], texts, rows
    )


def check_parameters(values):
    """Refuse forms and logs that the notebook of this name could not analyse, before its kernel starts."""
    needed = {"forms": ("key", "side_column", "columns"), "questions": ("corpus", "model", "url")}
    for other, names in needed.items():
        for name in names if not values.get(other) else ():
            if values.get(name):
                raise InputError(
                    f"{name} has no effect without {other}: give {other} too, or leave it out"
                )
    if values.get("systems") and not (values.get("log") or values.get("questions")):
        raise InputError("systems has no effect without log: give log too, or leave it out")
    if values.get("forms"):
        forms = read_forms(values["forms"], values.get("columns"))
        panel_of(
            open_forms(forms, values.get("key"), values.get("side_column")), values.get("against")
        )
    elif values.get("log"):
        answers, _ = answers_of_log(read_log(values["log"]), values.get("systems"), common=True)
        systems = [name for name in answers if name not in {"item_id", "prompt", "stratum"}]
        opponent(systems[0], systems, values.get("against"))
        check_plan(Plan(values["cell"], values["raters"]), systems)
    elif values.get("questions"):
        if not (values.get("corpus") and values.get("model")):
            raise InputError(
                "questions: two systems answer them, with and without retrieval: give corpus and model too"
            )
        read_question_list(values["questions"])
        Endpoint(values["model"], values.get("url"))
    elif values.get("against"):
        panel_of(votes_of(values["dataset"])[0], values["against"])


@dataclass(frozen=True, eq=False)
class Analysis:
    """What came out: the votes, the panel, and the tables by name."""

    votes: Votes
    panel: Panel
    tables: dict = field(repr=False)

    def win_rate(self, unit, ties="drop"):
        """Give the row of one interval of the win rate."""
        return self.tables["intervals"].set_index(["unit", "ties"]).loc[(unit, ties)]

    def line(self, scope):
        """Give the row of the win rate, ties as half, for these or for new raters."""
        return self.tables["lines"].set_index("scope").loc[scope]

    def side(self):
        """Give the effect of the side over all raters."""
        return _position(self.panel, self.panel.raters)


def analyse(
    votes, other=None, *, margin=None, alpha=None, n_resamples=10_000, permutations=200, seed=0
):
    """Analyse the judgements of a panel on two systems.

    Parameters
    ----------
    votes : casebook.raters.read.Votes
        As `casebook.raters.read.open_forms` gives them.
    other : str, optional
        System to hold the focus against; needed if there are several.
    margin : tuple of float, optional
        Win rates that count as no difference; by default those that were registered, else 0.45 to 0.55.
    alpha : float, optional
        Level of the tests; by default the one that was registered, else 0.05.
    n_resamples, permutations : int
        Bootstrap draws, and exchanges of the labels in the audit of texts.
    seed : int, default 0
        Seed of all draws.

    Returns
    -------
    Analysis
        ``panel`` (votes and ratings as frames of items x raters) and ``tables``, a dict of frames: preference, lines,
        win_rates, intervals, item_tests, dependence, equivalence, power; agreement, vote_shares, cohen_kappa,
        leave_one_out, rating_agreement; rating_means, rating_counts, rating_tests, rater_rating_tests, correlation;
        position, length, order, duplicates, consistency, strata, arm_guess, telling_words, guesses; defects. Win rates
        and shares lie in [0, 1], chance is 1/2; coefficients of agreement are at most 1, chance is 0. What is undefined
        is missing, with a reason.

    Raises
    ------
    InputError
        If there is no judgement on the two systems, or it is not clear which two are meant.

    Examples
    --------
    >>> from casebook.raters.documented import example_votes
    >>> found = analyse(example_votes(), n_resamples=200, permutations=19)
    >>> print(answer(found)[0][:91])
    Primary, for these 4 raters and new items: RAG wins 0.625 [0.544, 0.706] of the votes, ties
    >>> round(float(found.tables["agreement"].set_index("coefficient").loc["fleiss_kappa", "estimate"]), 3)
    0.13
    """
    panel = panel_of(votes, other)
    alpha = alpha or votes.alpha or LEVEL
    level = 1 - alpha
    boot = {"n_resamples": n_resamples, "seed": seed}
    flips = {"n_resamples": n_resamples, "seed": seed}
    depends = preference.dependence(panel.votes, **boot)
    effect = depends.set_index("measure").loc["design effect", "value"]
    held = preference.equivalence(
        panel.votes, margin=margin or votes.margin or MARGIN, alpha=alpha, **boot
    )
    lines = preference.preference_lines(panel.votes, level=level, **flips)
    tables = {
        "preference": preference.win_tie_loss_table(panel.votes),
        "lines": lines,
        "win_rates": preference.win_rates(panel.votes, lines, level=level, **flips),
        "intervals": preference.preference_intervals(panel.votes, **boot),
        "item_tests": preference.item_tests(panel.votes, **flips),
        "dependence": depends,
        "equivalence": pd.DataFrame([held]),
        "power": power_table(
            alpha=alpha, design_effect=1.0 if pd.isna(effect) else max(1.0, float(effect))
        ),
        "agreement": vote_agreement(panel, **boot),
        "vote_shares": _vote_shares(panel),
        "cohen_kappa": kappa_pairs(panel, **boot),
        "leave_one_out": without_each_rater(panel),
        "rating_agreement": ratings.rating_agreement(panel, **boot),
        "rating_means": ratings.rating_means(panel, **boot),
        "rating_counts": ratings.rating_counts(panel),
        "rating_tests": ratings.rating_tests(panel, **boot),
        "rater_rating_tests": ratings.rater_rating_tests(panel),
        "correlation": ratings.preference_rating_correlation(panel, **boot),
        **validity(panel, permutations=permutations, **boot),
        "consistency": consistency(panel),
        "strata": by_stratum(panel, **boot),
        "defects": defect_table(votes.defects),
    }
    return Analysis(votes, panel, tables)


# --- agreement ------------------------------------------------------------------


def vote_agreement(panel, **draws):
    """Measure agreement on the preferences with every coefficient."""
    table = agreement_table(
        panel.votes, "nominal", coefficients=COEFFICIENTS, categories=VOTES, wide=True, **draws
    )
    return table.astype(
        {name: float for name in table if name == "estimate" or name.endswith(("_low", "_high"))}
    )


def _vote_shares(panel):
    """Shares of wins, ties and losses: the prevalence behind every kappa."""
    counts = count_votes(panel.votes)
    names = {panel.focus: "wins", panel.other: "losses", "Tie": "ties"}
    cast = sum(counts[key] for key in names.values())
    return pd.DataFrame(
        [{"vote": n, "count": counts[key], "share": counts[key] / cast} for n, key in names.items()]
    )


def kappa_pairs(panel, **draws):
    """Measure Cohen's kappa of every two raters with its interval, and with linear and quadratic weights."""
    names = ("cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic")
    rows = []
    for one, two in itertools.combinations(panel.raters, 2):
        found = agreement_results(
            panel.votes[[one, two]], categories=VOTES, wide=True, coefficients=names, **draws
        )
        kappa, linear, quadratic = (found[name] for name in names)
        low, high = kappa.panel_ci or (None, None)
        rows.append(
            {
                "rater": one,
                "and rater": two,
                "kappa": kappa.estimate,
                "kappa low": low,
                "kappa high": high,
                "linear": linear.estimate,
                "quadratic": quadratic.estimate,
                "same votes": kappa.percent_agreement,
                "n": kappa.n_items,
                "reason": kappa.reason if low is None else None,
            }
        )
    return pd.DataFrame(rows).round(12)  # a kappa of 0 would be printed as the noise of its sum


def without_each_rater(panel):
    """Measure agreement on the preferences without each rater in turn."""
    chosen = {"fleiss_kappa": {}, "krippendorff_alpha": {"level": "nominal"}}
    tables = [
        leave_one_rater_out(panel.votes, name, chosen=options, categories=VOTES, wide=True).assign(
            coefficient=name
        )
        for name, options in chosen.items()
    ]
    return pd.concat(tables, ignore_index=True)


# --- validity ------------------------------------------------------------------


def validity(panel, *, permutations=200, seed=0, **draws):
    """Check a panel for what spoils a blind comparison: sides, length, order, copies, telling texts, guesses."""
    return {
        "position": position_table(panel),
        "length": length_effect(panel, seed=seed, **draws),
        "order": order_drift(panel),
        "duplicates": duplicate_raters(panel),
        **content_audit(panel, permutations, seed),
        "guesses": guesses(panel),
    }


def _position(panel, raters):
    votes = panel.votes[raters]
    return preference.position_effect(
        votes.to_numpy(), panel.left[raters].where(votes.notna(), False).to_numpy(bool)
    )


def position_table(panel):
    """Measure what the side of an answer does, for every rater and for all."""
    rows = []
    for name, raters in [*((rater, [rater]) for rater in panel.raters), ("all", panel.raters)]:
        if panel.votes[raters].isna().to_numpy().all():
            rows.append({"rater": name, "p": None, "n": 0})
            continue
        found = _position(panel, raters)
        rows.append(
            {
                "rater": name,
                **bounded("left_choice", found.left_choice),
                "p": found.left_test.pvalue,
                "win_rate_left": found.win_rate_left.estimate,
                "win_rate_right": found.win_rate_right.estimate,
                **bounded("difference", found.difference),
                **bounded("side_balanced", found.side_balanced),
                "n": found.left_test.n,
                "focus_left": found.left_share,
            }
        )
    table = pd.DataFrame(rows)
    table.insert(5, "p_holm", pd.Series([*holm(list(table["p"])[:-1]), None], dtype=object))
    return table


def length_effect(panel, **draws):
    """Ask whether the longer answer wins, and whether one system is the longer."""
    lengths = panel.texts[[panel.focus, panel.other]].map(len)
    if not lengths.to_numpy().any():
        return pd.DataFrame(columns=["what", "share", "share low", "share high", "n"])
    longer = np.sign(lengths[panel.focus] - lengths[panel.other])
    wins = (panel.votes.mean(axis=1) + 1) / 2
    for_longer = (panel.votes.mul(longer, axis=0).mean(axis=1) + 1) / 2
    parts = {
        f"{panel.focus} is the longer answer": (longer + 1) / 2,
        "votes for the longer answer, ties as half": for_longer[longer != 0],
        f"votes for {panel.focus} where it is longer": wins[longer > 0],
        f"votes for {panel.focus} where it is shorter": wins[longer < 0],
    }
    parts = {what: values.dropna() for what, values in parts.items()}
    return pd.DataFrame(
        {"what": what, **ratings.bounded_mean("share", values, **draws), "n": len(values)}
        for what, values in parts.items()
    )


def order_drift(panel):
    """Ask whether judgements change from the first to the last row of a form."""
    outcomes = {
        "vote": panel.votes,
        "left answer": panel.votes.where(panel.left == True, -panel.votes),  # noqa: E712 - NaN where nothing was asked
        "mean rating": sum(panel.ratings.values()) / len(panel.ratings),
    }
    rows = []
    for (name, values), rater in itertools.product(outcomes.items(), panel.raters):
        pair = pd.DataFrame({"x": panel.place[rater].astype(float), "y": values[rater]}).dropna()
        row = {"rater": rater, "of": name, "rho": None, "p": None, "n": len(pair)}
        if len(pair) > 2 and pair.nunique().min() > 1:
            found = stats.spearmanr(pair["x"], pair["y"])
            row["rho"] = number_or_none(found.statistic)
            row["p"] = number_or_none(found.pvalue)
        rows.append(row)
    table = pd.DataFrame(rows)
    table.insert(4, "p_holm", holm(list(table["p"])))
    return table


def by_stratum(panel, **draws):
    """Give the preference in each stratum of items."""
    rows = []
    for stratum, votes in panel.votes.groupby(panel.strata):
        row = {"stratum": stratum, "items": len(votes), **count_votes(votes)}
        if votes.notna().to_numpy().any():
            found = preference.win_rate(votes, unit="item", ties="half", **draws)
            row |= {"net": float(preference.item_means(votes).mean()), **bounded("win_rate", found)}
        rows.append(row)
    return pd.DataFrame(rows)


def duplicate_raters(panel):
    """Compare all pairs of raters, in case one copied the other."""
    rows = []
    rated = pd.concat(panel.ratings)
    for one, two in itertools.combinations(panel.raters, 2):
        votes = panel.votes[[one, two]].dropna()
        pair = rated[[one, two]]
        known = pair.notna().all(axis=1).groupby(level=-1).all()
        equal = (pair[one] == pair[two]).groupby(level=-1).all()[known]
        shares = [votes[rater].value_counts(normalize=True) for rater in (one, two)]
        expected = float(shares[0].mul(shares[1], fill_value=0).sum())
        same = (votes[one] == votes[two]).mean()
        suspicious = len(equal) >= 10 and equal.mean() > COPIED
        rows.append((one, two, len(votes), same, expected, equal.mean(), bool(suspicious)))
    columns = ["rater_a", "rater_b", "n", "same_votes", "expected", "same_ratings", "suspicious"]
    return pd.DataFrame(rows, columns=columns)


def consistency(panel):
    """Hold votes against the sums of the ratings of the same judgement."""
    total = np.sign(sum(panel.differences(scale) for scale in SCALES))
    rows = []
    for rater in panel.raters:
        pair = pd.DataFrame({"vote": panel.votes[rater], "rated": total[rater]}).dropna()
        agree = int((pair["vote"] == pair["rated"]).sum())
        contradict = int((pair["vote"] * pair["rated"] < 0).sum())
        tied = len(pair) - agree - contradict
        rows.append(
            {
                "rater": rater,
                "agree": agree,
                "contradict": contradict,
                "one_tied": tied,
                "n": len(pair),
            }
        )
    return pd.DataFrame(rows)


# --- what came out ------------------------------------------------------------------


def answer(analysis):
    """Answer the question of the study in a few sentences."""
    panel = analysis.panel
    tables = analysis.tables
    these = analysis.line(THESE_RATERS)
    new = analysis.line(NEW_RATERS)
    held = tables["equivalence"].iloc[0]
    naive = tables["preference"].set_index("rater").loc["pooled"]
    alpha = tables["agreement"].set_index("coefficient").loc["krippendorff_alpha"]
    side = tables["position"].set_index("rater").loc["all"]
    items, raters = panel.votes.shape
    cast = f"{items} items, {naive[['wins', 'losses', 'ties']].sum()} votes, {naive['ties']} ties; chance is 0.5"
    scope = (
        "This assumes that the raters are a random sample with normally distributed preferences."
    )
    if new["reason"] == "fewer_than_three_raters":
        scope = "Fewer than three raters allow no statement about others."
    lines = [
        f"Primary, for these {raters} raters and new items: {panel.focus} wins "
        f"{_bounds(these, 'win_rate', 'low', 'high')} of the votes, ties as half ({cast}); "
        f"{_tested(panel, these)}.",
        f"For new raters as well: {_bounds(new, 'win_rate', 'low', 'high')}; {_tested(panel, new)}. {scope}",
        f"The pooled sign test gives p = {naive['p_sign']:.2g}, but it treats all {naive['n']} untied votes as "
        "independent.",
        f"Win rates of {held['range from']:g} to {held['range to']:g} count as no difference; "
        f"equivalence for these raters: {held['verdict']}.",
        f"Krippendorff's alpha of the preference is {_bounds(alpha, 'estimate', 'panel_low', 'panel_high')} for "
        f"these raters, {bounds_text(alpha['new_panel_low'], alpha['new_panel_high'])} for new ones; 0 is chance, 1 is "
        "complete agreement.",
    ]
    if not analysis.votes.registered:
        lines.append(
            "Nothing was registered: these votes came without a sealed key and its pre-registration."
        )
    for row in tables["rating_tests"].to_dict("records"):
        if row["n"]:
            low, high = (
                bounds_text(row[f"{whose} low"], row[f"{whose} high"], "+z.2f")
                for whose in ("difference", "both")
            )
            lines.append(
                f"{row['scale'].capitalize()} differs by {row['difference']:+z.2f} {low} points, for new raters too "
                f"{high} ({row['n']} items)."
            )
    share = _bounds(side, "left_choice", "left_choice low", "left_choice high")
    lines.append(f"The left answer gets {share} of the {side['n']} untied votes.")
    told = tables["arm_guess"].iloc[0]
    if told["reason"] is None:
        share = _bounds(told, "accuracy", "accuracy low", "accuracy high")
        lines.append(
            f"A classifier tells the systems apart by their text for {share} of {told['n']} items."
        )
    return lines


def _bounds(row, value, low, high):
    if pd.isna(row[value]):
        return f"undefined ({reason_text(row['reason'])})"
    return f"{row[value]:.3f} {bounds_text(row[low], row[high])}"


def _tested(panel, row):
    if pd.isna(row["p"]):
        return f"no test ({reason_text(row['reason'])}): undecided"
    winner = panel.focus if row["win_rate"] > 0.5 else panel.other
    return f"p = {row['p']:.2g}: {'undecided' if row['verdict'] == 'undecided' else f'{winner} is preferred'}"
