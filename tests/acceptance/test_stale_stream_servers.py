"""Two servers of one database tell the same; a stream that is cut goes on at the other; an open stream holds up no end."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.events import encoded, run_event

EVENT = encoded(run_event("COMPLETE", 1, "job", ["/in"], ["/out"]))
Told = tuple[int, set[str]]


class Follower:
    """An open stream of one server, as a browser has it."""

    def __init__(self, server: Any, mark: int | None = None) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        headers = {"Accept-Encoding": "gzip", **({} if mark is None else {"Last-Event-ID": str(mark)})}
        self.connection.request("GET", "/api/v2/events/stream", headers=headers)
        self.reply = self.connection.getresponse()
        assert (self.reply.status, self.reply.getheader("content-encoding")) == (200, None)

    def next(self) -> Told:
        """The next event. Raises EOFError at the end of the stream."""
        mark = -1
        while line := self.reply.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                mark = int(value)
            elif name == "data":
                return mark, set(json.loads(value)["stale"])
        raise EOFError

    def until(self, answer: str) -> Told:
        while True:
            mark, stale = self.next()
            if answer in stale:
                return mark, stale

    def cut(self) -> None:
        self.connection.sock.shutdown(2)
        self.connection.close()


@contextmanager
def following(*servers: Any) -> Iterator[list[Follower]]:
    followers = [Follower(server) for server in servers]
    try:
        yield followers
    finally:
        for one in followers:
            one.connection.close()


def test_one_event_is_told_by_every_server_and_a_cut_stream_goes_on_at_another(serve: Any) -> None:
    one, other = serve(), serve()
    one.ready()
    other.ready()
    with following(one, other, one) as followers:
        first = [follower.next()[0] for follower in followers]
        assert one.ask("POST", "/api/v1/lineage", EVENT)[0] == 201
        told = [follower.until("runs") for follower in followers]
        assert all(mark > begun for (mark, _), begun in zip(told, first, strict=True))
        # Nobody listens while this happens.
        followers[0].cut()
        tag = "/api/v2/metadata/datasets/file/%2Fout/tags/pii"
        assert other.ask("PUT", tag, b"{}", Content_Type="application/json")[0] == 200
        assert one.ask("POST", "/api/v1/lineage", encoded(run_event("FAIL", 2, "job")))[0] == 201
        again = Follower(other, told[0][0])
        _, stale = again.next()
        while not {"metadata", "runs"} <= stale:
            stale |= again.next()[1]
        again.connection.close()


def test_an_open_stream_ends_with_the_server(serve: Any) -> None:
    """Without its end the server would wait its whole patience, and the stream be cut and not ended."""
    server = serve(HEADWATER_SERVER__SHUTDOWN_SECONDS="300").ready()
    ended: list[bool] = []

    def follow(follower: Follower) -> None:
        try:
            while True:
                follower.next()
        except EOFError:
            ended.append(True)

    with following(*[server] * 4) as followers:
        threads = [threading.Thread(target=follow, args=(one,)) for one in followers]
        for thread in threads:
            thread.start()
        assert server.stop() == 0
        for thread in threads:
            thread.join(30)
    assert ended == [True] * 4
