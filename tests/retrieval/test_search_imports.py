"""The search of words loads no package that it does not use."""

import os
import subprocess
import sys


def test_bm25s_does_not_import_jax_and_others_still_can(tmp_path):
    package = tmp_path / "jax"
    package.mkdir()
    (package / "__init__.py").write_text("import sys\nprint('jax is imported')\n")
    (package / "lax.py").write_text("def top_k(values, k):\n    raise RuntimeError\n")
    code = (
        "import sys, casebook.retrieval.search\n"
        "print('jax' in sys.modules)\n"
        "import jax.lax, bm25s.selection\n"
        "print(bm25s.selection.JAX_IS_AVAILABLE)\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split("\n")[:3] == ["False", "jax is imported", "False"]
