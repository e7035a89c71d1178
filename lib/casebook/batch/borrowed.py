"""A cluster for work that needs no shared folder, such as encoding a collection."""

import contextlib
import time

from casebook.batch.workers import POLL, Watch, identity, open_client, reason, refuse_others
from casebook.errors import CasebookError


class Workers:
    """What of a client is needed to map a function, without waiting for ever."""

    def __init__(self, client, watch):
        self._client, self._watch = client, watch

    def submit(self, function, *arguments, **options):
        """Hand out one call; see `distributed.Client.submit`."""
        return self._client.submit(function, *arguments, **options)

    def gather(self, futures):
        """Give the results in order."""
        while not all(future.done() for future in futures):
            self._watch.check()
            time.sleep(POLL)
        for future in futures:
            error = future.exception() if future.status == "error" else None
            if error and type(error).__name__ != "KilledWorker":
                raise error
            if future.status != "finished":
                raise CasebookError(f"part of the work is lost: {reason(future)}")
        return self._client.gather(futures)


@contextlib.contextmanager
def connected(scheduler):
    """Open a cluster for work that needs no shared folder."""
    with contextlib.ExitStack() as stack:
        client = open_client(scheduler)
        stack.callback(client.close, timeout=2)
        watch = Watch(client, scheduler)
        watch.wait_for_one()
        refuse_others(client, (*identity(), None, None))
        yield Workers(client, watch)
