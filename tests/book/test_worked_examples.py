"""The worked examples of the methods pages say what the library computes."""

import ast
import doctest
import re

import pytest

from casebook.errors import InputError
from casebook.measures.ranking_measures import INFO, parse_measure
from casebook.paths import ROOT

PAGES = {page.stem: page for page in sorted((ROOT / "book/methods").glob("*.md"))}
PAGES |= {"run_registry": ROOT / "docs" / "run_registry.md", "measures": ROOT / "book" / "words.md"}
# What the examples of a page must call or name: every measure of ranking, and what documents state.
REQUIRED = {
    "measures": [info.name for info in INFO.values()],
    "retrieval_ablation": "reciprocal_rank_fusion maximal_marginal_relevance",
    "counterfactual_sensitivity": "mean_displacement normalised_footrule",
    "explanation_quality": "faithfulness documented_faithfulness",
    "inference": "estimates contrasts wilson auroc check_row",
    "factcheck": "documented_metrics score_predictions",
    "assistant": "grounding token_f1",
    "rater_agreement": "balanced_sides fleiss_kappa krippendorff_alpha exact_sign_test",
    "run_registry": "contrasts gate_verdict",
}


def text_of(page):
    """Read a page; a fence ends what an example prints, as an empty line does."""
    return re.sub(r"(?m)^```.*$", "", page.read_text(encoding="utf-8"))


def shown_in(page):
    """Collect what examples show: functions, attributes, strings, words printed; ``nDCG@5`` shows
    ``nDCG@k``."""
    shown = set()
    for example in doctest.DocTestParser().get_examples(text_of(page)):
        shown |= set(example.want.split())
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Call):
                shown.add(getattr(node.func, "id", None))
            elif isinstance(node, ast.Attribute):
                shown.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                shown |= {node.value, *node.value.split(), _measure_named(node.value)}
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
    failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed)
    assert not failed, f"{failed} examples of {name}.md print something else, see above"


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_every_measure_of_the_page_has_an_example(name):
    required = REQUIRED[name]
    shown = shown_in(PAGES[name])
    missing = [
        n for n in (required.split() if isinstance(required, str) else required) if n not in shown
    ]
    assert not missing, f"book/methods/{name}.md has no example of {', '.join(missing)}"
