"""Percent agreement and the coefficients that correct it for chance."""

from casebook.measures.agreement_recipes import measure_one


def percent_agreement(ratings, weights="identity", n_boot=1000, **options):
    """Share of agreeing pairs of ratings of one item, averaged over items."""
    return measure_one("percent_agreement", ratings, {"weights": weights}, n_boot, options)


def cohen_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Cohen's kappa of two raters, on the items that both rated."""
    return measure_one("cohen_kappa", ratings, {"weights": weights}, n_boot, options)


def scott_pi(ratings, weights="identity", n_boot=1000, **options):
    """Scott's pi of two raters, on the items that both rated."""
    return measure_one("scott_pi", ratings, {"weights": weights}, n_boot, options)


def fleiss_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Fleiss' kappa: chance is the pooled distribution of categories."""
    return measure_one("fleiss_kappa", ratings, {"weights": weights}, n_boot, options)


def conger_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Conger's kappa: every rater has a distribution of categories of his own."""
    return measure_one("conger_kappa", ratings, {"weights": weights}, n_boot, options)


def light_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Light's kappa: the mean of Cohen's kappa over all pairs of raters."""
    return measure_one("light_kappa", ratings, {"weights": weights}, n_boot, options)


def brennan_prediger(ratings, weights="identity", n_boot=1000, **options):
    """Brennan and Prediger's coefficient: chance is even over the scale."""
    return measure_one("brennan_prediger", ratings, {"weights": weights}, n_boot, options)


def gwet_ac1(ratings, n_boot=1000, **options):
    """Gwet's AC1, which skewed categories do not pull down."""
    return measure_one("gwet_ac1", ratings, {}, n_boot, options)


def gwet_ac2(ratings, weights="quadratic", n_boot=1000, **options):
    """Gwet's AC2: AC1 with partial credit."""
    return measure_one("gwet_ac2", ratings, {"weights": weights}, n_boot, options)
