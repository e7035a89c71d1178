"""Every interval and p-value of the chapter takes the resamples and the seed given."""

import matplotlib.pyplot as plt
import nbformat

from casebook import estimates, paths
from casebook.stats import intervals, tests

SETTINGS = {"encoder": "semantic-hash", "draws": 2, "drift_seeds": [1], "seed": 7, "resamples": 120}


def test_resamples_and_seed_reach_every_draw(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    seen = []

    def recorded(function, count):
        def call(*arguments, **options):
            # ratio_draws takes both by position, sign_flips by name.
            found = arguments[2:] or (options.get(count), options.get("seed"))
            seen.append((function.__name__, *found))
            return function(*arguments, **options)

        return call

    flips = recorded(tests.sign_flips, "n_resamples")
    for module in (tests, estimates):
        monkeypatch.setattr(module, "sign_flips", flips)
    draws = recorded(intervals.ratio_draws, "n_boot")
    monkeypatch.setattr(intervals, "ratio_draws", draws)
    notebook = nbformat.read(paths.NOTEBOOKS / "02_embedding_shift.ipynb", 4)
    names = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
            if "parameters" in cell.metadata.get("tags", ()):
                names.update(SETTINGS)
    plt.close("all")
    assert {function for function, *_ in seen} == {"sign_flips", "ratio_draws"}
    assert {(count, seed) for _, count, seed in seen} == {(120, 7)}
    gains, numbers = names["gained"].set_index("system"), names["numbers"]
    for system, row in gains.iterrows():  # one interval of one gain, wherever it stands
        found = numbers[system]["nDCG@10 gain"]
        assert found["ci"] == [row["gain low"], row["gain high"]]
        assert found["value"] == row["gain"]
    honest = names["protocols"].query("protocol == 'groups held out'")
    for row in honest.itertuples():
        assert row[4:6] == tuple(gains.loc[row.system, ["gain low", "gain high"]])
