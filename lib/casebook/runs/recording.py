"""Write a run into the registry: the whole folder appears at once, or nothing does."""

from casebook.files import new_folder, sha256_file, write_json
from casebook.runs.artifact import write_record
from casebook.runs.layout import child_folder
from casebook.runs.per_query import per_query_name, write_per_query

REQUEST = "run_request.json"


def record_run(layout, record, per_query=None, arguments=None, environment=None):
    """Write ``<home>/<workflow>/<run id>/`` with all that belongs to a run."""
    parent = child_folder(layout.home, record.workflow, "workflow")
    final = child_folder(parent, record.run_id, "run id")
    with new_folder(final, "a run is never overwritten") as part:
        labels = dict(record.labels)
        if per_query is not None:
            path = write_per_query(part / per_query_name(), per_query)
            labels["PerQuery"] = {"Path": path.name, "Sha256": sha256_file(path)}
        if arguments is not None:
            write_json(part / REQUEST, _request(record, arguments, environment))
        update = {"labels": labels, "tenant": layout.tenant}
        write_record(part / "run.json", record.model_copy(update=update))
    return final


def _request(record, arguments, environment):
    return {
        "runId": record.run_id,
        "workflowName": record.workflow,
        "createdUtc": record.started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "request": {
            "globalArgs": [],
            "commandArgs": list(arguments),
            "environmentSnapshot": dict(environment or {}),
            "notes": None,
        },
    }
