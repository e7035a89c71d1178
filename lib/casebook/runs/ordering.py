"""One order of runs for every command, and how a run is chosen from them."""

from casebook.errors import Incomparable, InputError
from casebook.runs.metrics import canonical, higher_is_better


def order(runs, metric):
    """Put runs into the one order that every command uses."""
    name = canonical(metric)
    sign = 1 if higher_is_better(name) else -1

    def place(run):
        score = score_of(run, name)
        beaten = (0, 0.0) if score is None else (1, sign * score)
        return *beaten, run.completed, run.run_id.lower(), run.path

    return sorted(runs, key=place, reverse=True)


def score_of(run, metric):
    """Give the score with which a run competes."""
    return run.metrics.get(canonical(metric)) if run.success else None


def best(runs, metric, force=False):
    """Give the run that wins on a metric."""
    competing = [run for run in order(runs, metric) if score_of(run, metric) is not None]
    if not competing:
        raise InputError(no_run_holds(runs, metric))
    groups = sorted({short_key(run.key) for run in competing})
    if len(groups) > 1 and not force:
        raise Incomparable(
            f"runs with {canonical(metric)!r} were measured on different data "
            f"({', '.join(groups)}); choose one with --key, or --force"
        )
    return competing[0]


def no_run_holds(runs, metric):
    """Say that nothing holds a metric, and name some that are held."""
    name = canonical(metric)
    held = {key for run in runs if run.success for key in run.metrics}
    alike = {key for key in held if key.rpartition(".")[2] == name.rpartition(".")[2]}
    shown = sorted(alike or held)
    line = f"no successful run holds the metric {name!r}"
    if not shown:
        return f"{line}: there are no such runs yet"
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"{line}: choose with -m, such as {', '.join(shown[:3])}{more}"


def short_key(key):
    """Give the part of a comparability key that is shown."""
    return key[:8] if key else "unknown"


def find(listing, name):
    """Find one run by what a user types."""
    wanted = str(name).strip().strip("/").lower()
    tests = (
        lambda run: run.path.lower() == wanted,
        lambda run: run.run_id.lower() == wanted,
        lambda run: bool(wanted) and run.run_id.lower().startswith(wanted),
    )
    for fits in tests:
        found = [run for run in listing.runs if fits(run)]
        if len(found) > 1:
            places = ", ".join(run.path for run in found[:3])
            raise InputError(f"run {name!r} is not unique: name its folder ({places})")
        if found:
            return found[0]
    raise InputError(f"no run {name!r} below {listing.root}; 'casebook runs list'")
