"""Percent agreement and the coefficients that correct it for chance."""

from casebook.measures.agreement_recipes import measure_one


def percent_agreement(ratings, weights="identity", n_boot=1000, **options):
    """Share of agreeing pairs of ratings of one item, averaged over items.

    Parameters
    ----------
    ratings : array_like, pandas.DataFrame or Panel, shape [items, raters]
        Ratings, NaN where missing.
    weights : str or array_like
        Partial credit: ``"identity"``, ``"linear"``, ``"quadratic"``, ``"ordinal"``,
        ``"radical"``, ``"ratio"``, ``"circular"``, ``"bipolar"``, or a matrix.
    n_boot, **options
        See the module.

    Returns
    -------
    Agreement
        In [0, 1]; not corrected for chance.
    """
    return measure_one(
        "percent_agreement", ratings, {"weights": weights}, n_boot, options
    )


def cohen_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Cohen's kappa of two raters, on the items that both rated.

    Parameters
    ----------
    ratings, weights, n_boot, **options
        As `percent_agreement`.

    Returns
    -------
    Agreement
        At most 1; None with more or fewer than two raters. The standard error of a
        contingency table is the one of Fleiss, Cohen & Everitt.

    References
    ----------
    Cohen, Educational and Psychological Measurement 20, 1960; Psychological Bulletin
    70, 1968 (weights); Fleiss, Cohen & Everitt, Psychological Bulletin 72, 1969.
    """
    return measure_one("cohen_kappa", ratings, {"weights": weights}, n_boot, options)


def scott_pi(ratings, weights="identity", n_boot=1000, **options):
    """Scott's pi of two raters, on the items that both rated.

    Parameters
    ----------
    ratings, weights, n_boot, **options
        As `percent_agreement`.

    Returns
    -------
    Agreement
        At most 1; None with more or fewer than two raters.

    References
    ----------
    Scott, Public Opinion Quarterly 19, 1955.
    """
    return measure_one("scott_pi", ratings, {"weights": weights}, n_boot, options)


def fleiss_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Fleiss' kappa: chance is the pooled distribution of categories.

    Parameters
    ----------
    ratings, weights, n_boot, **options
        As `percent_agreement`.

    Returns
    -------
    Agreement
        At most 1. Items may have different numbers of ratings; missing ratings are
        no category.

    References
    ----------
    Fleiss, Psychological Bulletin 76, 1971; Gwet (2014), ch. 5.
    """
    return measure_one("fleiss_kappa", ratings, {"weights": weights}, n_boot, options)


def conger_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Conger's kappa: every rater has a distribution of categories of his own.

    Parameters
    ----------
    ratings, weights, n_boot, **options
        As `percent_agreement`.

    Returns
    -------
    Agreement
        At most 1; Cohen's kappa for two raters.

    References
    ----------
    Conger, Psychological Bulletin 88, 1980; Gwet (2014), ch. 5.
    """
    return measure_one("conger_kappa", ratings, {"weights": weights}, n_boot, options)


def light_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Light's kappa: the mean of Cohen's kappa over all pairs of raters.

    Parameters
    ----------
    ratings, weights, n_boot, **options
        As `percent_agreement`.

    Returns
    -------
    Agreement
        At most 1; None if a pair has no kappa. The standard error is the bootstrap's.

    References
    ----------
    Light, Psychological Bulletin 76, 1971.
    """
    return measure_one("light_kappa", ratings, {"weights": weights}, n_boot, options)


def brennan_prediger(ratings, weights="identity", n_boot=1000, **options):
    """Brennan and Prediger's coefficient: chance is even over the scale.

    Parameters
    ----------
    ratings, weights, n_boot, **options
        As `percent_agreement`. Give ``categories`` if nobody used some of them.

    Returns
    -------
    Agreement
        At most 1. Also known as S, and as Randolph's free-marginal kappa.

    References
    ----------
    Brennan & Prediger, Educational and Psychological Measurement 41, 1981.
    """
    return measure_one(
        "brennan_prediger", ratings, {"weights": weights}, n_boot, options
    )


def gwet_ac1(ratings, n_boot=1000, **options):
    """Gwet's AC1, which skewed categories do not pull down.

    Parameters
    ----------
    ratings, n_boot, **options
        As `percent_agreement`. Give ``categories`` if nobody used some of them.

    Returns
    -------
    Agreement
        At most 1.

    References
    ----------
    Gwet, British Journal of Mathematical and Statistical Psychology 61, 2008.
    """
    return measure_one("gwet_ac1", ratings, {}, n_boot, options)


def gwet_ac2(ratings, weights="quadratic", n_boot=1000, **options):
    """Gwet's AC2: AC1 with partial credit.

    Parameters
    ----------
    ratings, weights, n_boot, **options
        As `percent_agreement`.

    Returns
    -------
    Agreement
        At most 1.

    References
    ----------
    Gwet, Handbook of Inter-Rater Reliability, 4th ed., 2014, ch. 4.
    """
    return measure_one("gwet_ac2", ratings, {"weights": weights}, n_boot, options)
