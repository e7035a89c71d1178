"""Planted cases of any size, by the script that makes the shipped ones."""

import runpy

from casebook import paths

_SCRIPT = runpy.run_path(str(paths.DATA / "make" / "planted_cases.py"))
plant_cases = _SCRIPT["plant_cases"]
AREA_WEIGHTS = _SCRIPT["AREA_WEIGHTS"]
PLANTED_VALUES = _SCRIPT["PLANTED_VALUES"]
