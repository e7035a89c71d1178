"""The pipeline's configurations: the 2^4 cells and the nine documented ones."""

from dataclasses import replace

from casebook.factcheck.factorial import CELLS, cell_name
from casebook.factcheck.pipeline import PipelineConfig
from casebook.factcheck.verdict import BINARY_WEIGHTS, EQUAL_WEIGHTS


def cell_config(cell, config=None):
    """Give the settings of one cell."""
    config = config or PipelineConfig()
    decomposition, diversity, weighting, three_stage = cell
    changes = {}
    if not decomposition:
        changes["decomposition"] = "none"
    if not diversity:
        changes["k"] = 1
    if not weighting:
        changes["rule"] = replace(config.rule, weights=dict(EQUAL_WEIGHTS))
    if not three_stage:
        changes["three_stage"] = False
    return replace(config, **changes)


def factorial_configs(config=None):
    """Give the settings of all 16 cells."""
    return {cell_name(cell): cell_config(cell, config) for cell in CELLS}


def documented_configs(config=None):
    """Give the nine documented configurations, as settings that are really run."""
    config = config or PipelineConfig()

    def ruled(**changes):
        return replace(config, rule=replace(config.rule, **changes))

    return {
        "full": config,
        "no FOL": cell_config((False, True, True, True), config),
        "k=1": cell_config((True, False, True, True), config),
        "no credibility": cell_config((True, True, False, True), config),
        "no 3-stage": cell_config((True, True, True, False), config),
        "binary credibility": ruled(weights=dict(BINARY_WEIGHTS)),
        "stricter threshold": ruled(upper=0.85),
        "lenient threshold": ruled(upper=0.55),
        "minimal": cell_config((False, False, False, False), config),
    }
