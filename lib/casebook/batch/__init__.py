"""Run a grid: skip what is unchanged, execute the rest, say what happened."""

from casebook.batch.planning import Planned, plan
from casebook.batch.running import run_batch
from casebook.batch.tasks import Limits

__all__ = ["Limits", "Planned", "plan", "run_batch"]
