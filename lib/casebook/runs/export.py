"""Systems of a run, and TREC runs that say where they come from."""

from pathlib import Path

from casebook.errors import InputError
from casebook.files import replacing
from casebook.trec import write_run


def systems_of(record):
    """Split metric keys ``<dataset>.<system>.<measure>``."""
    found = {}
    for metric, value in record.metrics.items():
        # A number in brackets, rbp(p=0.9), may hold a point too.
        head, bracket, tail = metric.partition("(")
        prefix, _, measure = head.rpartition(".")
        name = prefix or record.workflow.lower()
        found.setdefault(name, {})[measure + bracket + tail] = value
    return found


def choose_system(record, name=None):
    """Choose the system of a run to export."""
    systems = systems_of(record)
    wanted = (name or "").lower()
    fits = [s for s in systems if not name or s == wanted or s.endswith("." + wanted)]
    if len(fits) != 1:
        known = ", ".join(sorted(systems)[:8]) or "none"
        raise InputError(f"choose one system with --system; the run holds {known}")
    return fits[0], systems[fits[0]]


def ir_metadata(record, tag):
    """Describe a run by the parts of the PRIMAD model."""
    labels = record.labels
    inputs = labels.get("Inputs") or {}
    parameters = inputs.get("parameters") or {}
    machine = labels.get("Environment") or {}
    return {
        "tag": tag,
        "actor": {"team": record.tenant or "casebook", "role": "experimenter"},
        "platform": {
            "hardware": {"cpu": {"architecture": machine.get("machine")}},
            "operating system": {"platform": machine.get("platform")},
            "software": {
                "libraries": {"python": [f"casebook=={labels.get('Version')}"]},
                "python": machine.get("python"),
            },
        },
        "research goal": {"evaluation": {"reported measures": sorted(record.metrics)}},
        "implementation": {"source": {"lang": ["Python"], "commit": inputs.get("library")}},
        "method": {"automatic": True, "name": tag, "parameters": parameters},
        "data": {
            "test collection": {"name": parameters.get("dataset"), "sha256": (inputs.get("data") or {}).get("dataset")}
        },
        "run": {"id": record.run_id, "content key": labels.get("ContentKey")},
    }


def write_trec(path, ranking, record, tag):
    """Write a TREC run below an ir_metadata header."""
    import yaml

    header = yaml.safe_dump(ir_metadata(record, tag), sort_keys=False, width=4096)
    path = Path(path)
    with replacing(path) as temporary:
        write_run(temporary, ranking, tag)
        body = temporary.read_bytes()
        lines = ["ir_metadata.start", *header.splitlines(), "ir_metadata.end"]
        temporary.write_bytes("".join(f"# {x}\n" for x in lines).encode() + body)
    return path
