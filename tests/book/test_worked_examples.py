"""The worked examples of the methods pages say what the library computes."""

import ast
import doctest
import inspect
import re
from dataclasses import fields
from importlib import import_module

import pytest

from casebook.audits.labels import CHECKS
from casebook.counterfactual.detection import DETECTORS
from casebook.errors import InputError
from casebook.inference.comparison import PAIR_COLUMNS
from casebook.inference.effects import EffectSizes
from casebook.measures.agreement import FORMS, LEVELS
from casebook.measures.agreement_weights import WEIGHTS
from casebook.measures.calibration import calibration
from casebook.measures.confusion import REASONS
from casebook.measures.mentions import KINDS as MENTIONS
from casebook.measures.quotes import STATES
from casebook.measures.ranking import list_measures
from casebook.measures.ranking_names import parse_measure
from casebook.measures.rankshift import ABSENT, AFFECTED
from casebook.paths import ROOT
from casebook.raters.preference import TIES, UNITS, item_tests
from casebook.shift.evaluators import NAMES
from casebook.shift.gate import PROFILES
from casebook.shift.learner import MODES

PAGES = {page.stem: page for page in sorted((ROOT / "book/methods").glob("*.md"))}


def functions_of(*modules):
    """List the public functions that modules define; the batch of one is the one."""
    names = []
    for name in modules:
        module = import_module(f"casebook.{name}")
        names += [
            function
            for function, value in inspect.getmembers(module, inspect.isfunction)
            if value.__module__ == module.__name__
            and function in getattr(module, "__all__", [function])
            and not function.startswith("_")
            and not function.endswith("_batch")
        ]
    return names


# What the examples of a page must call or name. Lists come from the library, so that
# a measure that is added there is missed here.
REQUIRED = {
    "retrieval_ablation": [
        *("reciprocal_rank_fusion", "weighted_sum", "maximal_marginal_relevance"),
        *("MaxSimReranker", "BM25Index", "collapse", "metadata_mask", "tie_class"),
    ],
    "counterfactual_sensitivity": [
        *functions_of(
            "counterfactual.annotations",
            "counterfactual.evaluation",
            "counterfactual.explanation_truth",
            "counterfactual.extraction_scores",
            "counterfactual.plausibility",
            "counterfactual.plausibility_rules",
            "counterfactual.sensitivity",
            "measures.rank_agreement",
            "measures.rankshift",
        ),
        *(*AFFECTED, *ABSENT, "excess", "rbo", "rbo_weight", "placebo_edits"),
        *("explain_result", "explain_edge", "ModelValidator"),
    ],
    "run_registry": ["contrasts", "judge"],
    "embedding_shift": [
        *(*MODES, *NAMES, *PROFILES),
        *functions_of("shift.keyword", "shift.learner", "shift.ridge"),
        *("cross_fit", "drift_table", "evaluate_shift", "gains", "judge"),
        *("fit_tau", "gap_gain", "oracle", "summarise"),
        *("semantic_hash_vector", "sha256_vector"),
    ],
    "explanation_quality": [
        *(*DETECTORS, *MENTIONS, *STATES, "corrupt"),
        *functions_of("measures.citations_documented", "measures.polarity"),
        *("faithfulness", "documented_faithfulness", "inverse_frequency"),
        *("separation", "threshold_sweep", "length_sweep"),
        *("quote_states", "citation_states", "agreement"),
    ],
    "inference": [
        *functions_of(
            "inference.bootstrap",
            "inference.clustered_shares",
            "inference.effects",
            "inference.multiplicity",
            "inference.permutation",
            "inference.power",
            "inference.proportions",
            "inference.tie_classes",
            "measures.auroc",
        ),
        "clopper_pearson",
        *[field.name for field in fields(EffectSizes) if field.name != "n"],
        *[column for column in PAIR_COLUMNS if column.startswith("p_")],
    ],
    "measures": [info.name for info in list_measures()],
    "agreement": [
        *functions_of("measures.agreement_kappas", "measures.agreement_reliability"),
        *functions_of("measures.agreement_contrast", "measures.agreement_benchmark"),
        *(*WEIGHTS, *LEVELS, *FORMS),
    ],
    "preference": [
        *functions_of(
            "inference.equivalence",
            "inference.position",
            "inference.preference",
            "inference.preference_power",
            "inference.vote_dependence",
        ),
        *("documented_sign_test", "exact_sign_test", "win_rate", *UNITS, *TIES),
        *item_tests([[1], [0], [-1]])["test"],
    ],
    "factcheck": [
        *functions_of(
            "factcheck.explanation_quality",
            "factcheck.performance",
            "inference.mcnemar_power",
            "measures.classification",
            "measures.classification_documented",
        ),
        *("mcnemar", "mcnemar_counts", "performance_score", "honest_accuracy"),
        *("at_prevalence", "diversity", "support_score", "degree_of_support"),
        *("minimal_removal", "effects", "documented_rating", "rate", "similarities"),
        *(*REASONS, *calibration([True, False], [0.5, 0.5]).measures),
    ],
    "audits": [
        *functions_of("audits.detection", "audits.table_rows", "audits.tables"),
        *(check.__name__.replace("_", " ") for check in CHECKS),
        *("split leak: test with train", "repeated questions: test with train"),
    ],
    "rater_agreement": [
        *functions_of("raters.likert_report", "raters.likert_tests"),
        *functions_of("raters.rater_checks", "raters.leaks", "raters.arm_guess"),
        *("blinding_index", "length_effect", "order_drift", "rating_agreement"),
    ],
}


# Figures of a run, words, and nothing that is computed from an input.
WITHOUT_MEASURES = {"benchmarks", "faults", "glossary", "scaling"}


def text_of(page):
    """Read a page; a fence ends what an example prints, as an empty line does."""
    return re.sub(r"(?m)^```.*$", "", page.read_text(encoding="utf-8"))


def examples_of(page):
    """Parse the examples of a page."""
    return doctest.DocTestParser().get_examples(text_of(page))


def shown_in(page):
    """Collect what examples show: functions called, attributes, strings, words printed.

    A string that is the name of a ranking measure, ``nDCG@5``, shows ``nDCG@k``.
    """
    shown = set()
    for example in examples_of(page):
        shown |= set(example.want.split())
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Call):
                shown.add(getattr(node.func, "id", None))
            elif isinstance(node, ast.Attribute):
                shown.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                shown |= {node.value, _measure_named(node.value)}
    return shown


def _measure_named(text):
    try:
        return parse_measure(text).info.name
    except InputError:
        return None


@pytest.mark.parametrize("name", PAGES)
def test_examples_print_what_the_page_says(name):
    page = PAGES[name]
    parsed = doctest.DocTestParser().get_doctest(text_of(page), {}, name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    failed, _ = runner.run(parsed)
    assert not failed, f"{failed} examples of {name}.md print something else, see above"


def test_every_page_says_which_measures_it_must_show():
    assert set(PAGES) == set(REQUIRED) | WITHOUT_MEASURES
    assert all(REQUIRED.values())


@pytest.mark.parametrize("name", REQUIRED)
def test_every_measure_of_the_page_has_an_example(name):
    shown = shown_in(PAGES[name])
    missing = [measure for measure in REQUIRED[name] if measure not in shown]
    assert not missing, f"{name}.md has no example of {', '.join(missing)}"
