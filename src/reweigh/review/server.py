"""Serve the review page on this computer alone."""

import getpass
import secrets
import socket
import threading
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from reweigh.errors import DataError, StorageError
from reweigh.fit.decisions import Decisions
from reweigh.issues.audit import Audited
from reweigh.review.session import Session
from reweigh.review.subject import Subject
from reweigh.runs.audit import RunAudit

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

ADDRESS = "127.0.0.1"
KINDS = {"review.html": "text/html", "review.css": "text/css", "review.js": "text/javascript"}


def application(session: Session, token: str, port: int) -> "Starlette":
    """The web application: the page, its two files, and what it asks for; no path leads to a file of the user."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from reweigh.review.guard import Guard

    content = {name: files("reweigh.review").joinpath("page", name).read_bytes() for name in KINDS}

    def page(name: str) -> Route:
        def get(request: "Request") -> Response:
            return Response(content[name], media_type=KINDS[name])

        return Route("/" if name.endswith(".html") else f"/{name}", get)

    def answer(ask: "Callable[[Request], Any]") -> "Callable[[Request], Response]":
        def get(request: "Request") -> Response:
            try:
                found = ask(request)
            except StorageError as error:
                return JSONResponse({"error": str(error)}, 507)
            except DataError as error:
                return JSONResponse({"error": str(error)}, 422)
            return found if isinstance(found, Response) else JSONResponse(found)

        return get

    def picture(request: "Request") -> Response:
        small = request.query_params.get("size") == "small"
        return Response(session.picture(_index(request.path_params), small), media_type="image/png")

    async def decide(request: "Request") -> Response:
        from starlette.concurrency import run_in_threadpool

        try:
            body = await request.json()
        except (ValueError, RecursionError):
            return JSONResponse({"error": "the content is not JSON"}, 422)
        return await run_in_threadpool(answer(lambda _: _decided(session, body)), request)

    return Starlette(
        routes=[
            *map(page, KINDS),
            Route("/start", answer(lambda request: session.start())),
            Route("/queue", answer(lambda request: session.queue(request.query_params))),
            Route("/progress", answer(lambda request: session.progress())),
            Route("/sample/{index:int}", answer(lambda request: session.card(_index(request.path_params)))),
            Route("/similar/{index:int}", answer(lambda request: session.similar(_index(request.path_params)))),
            Route("/picture/{index:int}", answer(picture)),
            Route("/decision", decide, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, token=token, port=port)],
    )


def _index(values: Any) -> int:
    index = values.get("index")
    if not isinstance(index, int) or isinstance(index, bool):
        raise DataError(f"index: got {index!r}; give the number of a sample")
    return index


def _decided(session: Session, body: Any) -> dict[str, Any]:
    """Carry out what the page asks for: ``{"index": 3, "label": 1}``, label null if unsure, or ``"undo": true``."""
    if not isinstance(body, dict):
        raise DataError("decision: give an object with index and label")
    index = _index(body)
    if body.get("undo") is True:
        return session.undo(index)
    if "label" not in body or not isinstance(body["label"], int | None) or isinstance(body["label"], bool):
        raise DataError(f"label: got {body.get('label')!r}; give the number of a class, or null if you are not sure")
    return session.decide(index, body["label"])


class Review:
    """A review page that is being served; ``address`` is what to open.

    Args:
        reviewer: Name under which decisions are written; by default that of the user.
        port: 0 takes any free one.
        audit: Number of labels to audit, drawn at random; None for a review.

    Raises:
        DataError: The extra ``review`` is not installed, the name is empty, or the port is taken.
    """

    def __init__(self, subject: Subject, reviewer: str | None = None, port: int = 0, audit: int | None = None):
        try:
            import uvicorn
        except ImportError as error:
            raise DataError(
                "the review page needs a small server; install it: pip install 'reweigh[review]'"
            ) from error
        reviewer = getpass.getuser() if reviewer is None else reviewer.strip()
        if not reviewer or len(reviewer) > 60 or not reviewer.isprintable():
            raise DataError(f"reviewer: got {reviewer!r}; give a name of 1 to 60 printable characters")
        self.session = Session(subject, reviewer, audit)
        self._socket = _listening(port)
        token = secrets.token_urlsafe(24)
        port = self._socket.getsockname()[1]
        self.address = f"http://{ADDRESS}:{port}/{token}/"
        self._server = uvicorn.Server(
            uvicorn.Config(
                application(self.session, token, port),
                log_level="warning",
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=2,
            )
        )
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Serve until Ctrl-C."""
        self._server.run([self._socket])

    def start(self) -> "Review":
        """Serve in the background, until ``stop`` or the end of this process."""
        self._thread = threading.Thread(target=self.run, daemon=True, name="reweigh review")
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving; decisions are on disk already."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self._socket.close()

    @property
    def decisions(self) -> Decisions:
        """What was decided so far, by all reviewers."""
        found = self.session.decisions
        found.refresh()
        return found

    def audited(self) -> Audited | None:
        """What an audit found so far; None before its first decision."""
        subject = self.session.subject
        return RunAudit(subject.samples, self.decisions).found(subject.class_names)

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """The label of each sample, decided or else as given, and which of them people agree on; shape (N,) each."""
        subject, agreed = self.session.subject, self.decisions.agreed()
        number = {name: label for label, name in enumerate(subject.class_names)}
        found = [agreed.get(row) for row in subject.samples.row.tolist()]
        labels = [
            int(given) if decision is None else number[str(decision.label)]
            for given, decision in zip(subject.samples.given, found, strict=True)
        ]
        return np.array(subject.classes)[labels], np.array([decision is not None for decision in found])

    def __repr__(self) -> str:
        return f"Review at {self.address}"


def _listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.bind((ADDRESS, port))
        found.listen()  # a browser that comes before the server runs will wait
    except (OSError, OverflowError) as error:
        found.close()
        raise DataError(f"port {port}: cannot be opened ({error}); leave it out to take any free one") from error
    return found
