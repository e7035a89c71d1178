"""Settings that every test, and every kernel that nbval starts, inherits."""

import os

from casebook.run import QUIET

for name, value in QUIET.items():
    os.environ.setdefault(name, value)
