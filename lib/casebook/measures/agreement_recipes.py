"""The coefficients by name."""

from casebook.errors import InputError
from casebook.measures.agreement_alpha import LEVELS, KrippendorffAlpha
from casebook.measures.agreement_chance import (
    BrennanPrediger,
    CohenKappa,
    CongerKappa,
    FleissKappa,
    GwetAC,
    PercentAgreement,
    ScottPi,
)
from casebook.measures.agreement_concordance import KendallW
from casebook.measures.agreement_icc import FORMS, IntraclassCorrelation
from casebook.measures.agreement_input import as_panel
from casebook.measures.agreement_light import LightKappa
from casebook.measures.agreement_measure import Recipe, measure
from casebook.measures.agreement_result import Settings
from casebook.stats.samples import check_choice

_WEIGHTED = {"weights": "identity"}
_BASIC = {
    "percent_agreement": (PercentAgreement, _WEIGHTED),
    "cohen_kappa": (CohenKappa, _WEIGHTED),
    "scott_pi": (ScottPi, _WEIGHTED),
    "fleiss_kappa": (FleissKappa, _WEIGHTED),
    "conger_kappa": (CongerKappa, _WEIGHTED),
    "light_kappa": (LightKappa, _WEIGHTED),
    "brennan_prediger": (BrennanPrediger, _WEIGHTED),
    "gwet_ac1": (GwetAC, {}),
    "gwet_ac2": (GwetAC, {"weights": "quadratic"}),
    "krippendorff_alpha": (KrippendorffAlpha, {"level": "ordinal", "weights": None}),
    "kendall_w": (KendallW, {}),
}
_FIXED = {
    "cohen_kappa_linear": (CohenKappa, {"weights": "linear"}),
    "cohen_kappa_quadratic": (CohenKappa, {"weights": "quadratic"}),
    **{f"krippendorff_alpha_{x}": (KrippendorffAlpha, {"level": x}) for x in LEVELS},
    **{f"icc_{form.replace(',', '_')}": (IntraclassCorrelation, {"form": form}) for form in FORMS},
}
NAMES = (*_BASIC, *_FIXED)
TITLES = {
    "percent_agreement": "percent agreement",
    "cohen_kappa": "Cohen's kappa",
    "cohen_kappa_linear": "Cohen's kappa, linear weights",
    "cohen_kappa_quadratic": "Cohen's kappa, quadratic weights",
    "scott_pi": "Scott's pi",
    "fleiss_kappa": "Fleiss' kappa",
    "conger_kappa": "Conger's kappa",
    "light_kappa": "Light's kappa",
    "brennan_prediger": "Brennan-Prediger",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "krippendorff_alpha": "Krippendorff's alpha",
    "kendall_w": "Kendall's W",
    **{f"krippendorff_alpha_{x}": f"Krippendorff's alpha, {x}" for x in LEVELS},
    **{f"icc_{form.replace(',', '_')}": f"ICC({form})" for form in FORMS},
}


def recipe(name, **options):
    """Name a coefficient and its options."""
    check_choice("coefficient", name, NAMES)
    kind, defaults = (_BASIC | _FIXED)[name]
    allowed = defaults if name in _BASIC else {}
    foreign = sorted(set(options) - set(allowed))
    if foreign:
        raise InputError(f"{name} has no option {', '.join(foreign)}")
    return Recipe(name, kind, {**defaults, **options})


def obstacle(wanted, panel):
    """Say why a coefficient does not fit a panel's kind of ratings."""
    ranked = wanted.kind in (KendallW, IntraclassCorrelation)
    if panel.tallied is None and not ranked:
        return "too_many_categories"
    if panel.ordered:
        return None
    weights = wanted.options.get("weights")
    by_name = isinstance(weights, str) and weights != "identity"
    by_level = wanted.options.get("level", "nominal") != "nominal" and weights is None
    return "labels_without_order" if ranked or by_name or by_level else None


def measure_one(name, ratings, chosen, n_boot, options):
    """Measure one coefficient."""
    panel = as_panel(ratings, **panel_options(options))
    (found,) = measure([recipe(name, **chosen)], panel, Settings(n_boot, **options))
    return found


def panel_options(options):
    """Take the options of the panel out of those of the intervals."""
    return {k: options.pop(k) for k in ("categories", "wide") if k in options}
