"""The one look of all figures."""

import matplotlib as mpl
import seaborn as sns

WIDTH = 6.4  # inches; the book's column at 100 dots per inch
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#6b6b6b"


def use_style():
    """Set the one look of all figures, and the same bytes for the same figure."""
    sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")
    mpl.rcParams.update(
        {
            "axes.titlelocation": "left",
            "axes.titlesize": "medium",
            "figure.dpi": 100,
            "figure.constrained_layout.use": True,
            "font.family": "DejaVu Sans",
            "savefig.dpi": 150,
            "svg.fonttype": "path",
            "svg.hashsalt": "casebook",
        }
    )
