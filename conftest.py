"""Settings that every test, and every kernel that nbval starts, inherits."""

import gc
import os

from casebook.run import QUIET

for name, value in QUIET.items():
    os.environ.setdefault(name, value)

gc.set_threshold(1_000_000)  # a sixth of the time goes to looking for garbage otherwise
