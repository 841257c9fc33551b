"""Serve the review page on this computer alone."""

import getpass
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reweigh.errors import DataError, StorageError
from reweigh.fit.decisions import EXCLUSIONS, Decisions
from reweigh.issues.audit import Audited
from reweigh.review.session import Session
from reweigh.review.subject import Subject
from reweigh.runs.audit import RunAudit

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

ADDRESS = "127.0.0.1"
KINDS = {
    "review.html": "text/html",
    "review.css": "text/css",
    "review.js": "text/javascript",
    "grid.js": "text/javascript",
    "map.js": "text/javascript",
}


def application(session: Session, token: str, port: int) -> "Starlette":
    """The web application: the page, its files, and what it asks for; no path leads to a file of the user."""
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
        content = session.cards.picture(_index(request.path_params), small)
        return Response(content, media_type="image/jpeg" if content.startswith(b"\xff\xd8") else "image/png")

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
            Route("/wall", answer(lambda request: session.wall(request.query_params))),
            Route("/compared", answer(lambda request: session.compared())),
            Route("/map", answer(lambda request: session.map())),
            Route("/tiles", answer(lambda request: session.cards.tiles(_indices(request.query_params)))),
            Route("/progress", answer(lambda request: session.progress())),
            Route("/sample/{index:int}", answer(lambda request: session.cards.card(_index(request.path_params)))),
            Route("/similar/{index:int}", answer(lambda request: session.cards.similar(_index(request.path_params)))),
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


def _indices(values: Any) -> list[int]:
    """The samples that a list of numbers names, such as "3,14,15"."""
    found = values.get("index", "").split(",")
    if not all(number.isdecimal() and len(number) < 19 for number in found):
        raise DataError("index: give numbers of samples with commas between them, such as 3,14,15")
    return list(map(int, found))


def _decided(session: Session, body: Any) -> dict[str, Any]:
    """Carry out what the page asks for.

    ``{"index": 3, "label": 1}``, index a list for several samples, label null if unsure, or "suggested" or "given" for
    that of each sample; ``{"index": 3, "exclude": "duplicate"}``; ``{"undo": true}`` for the last action, or with index
    for the last decision about that sample.
    """
    if not isinstance(body, dict):
        raise DataError("decision: give an object with index and label")
    if body.get("undo") is True:
        return session.undo(_index(body) if "index" in body else None)
    several = body.get("index")
    indices = [_index({"index": each}) for each in several] if isinstance(several, list) else _index(body)
    if "exclude" in body:
        if not isinstance(body["exclude"], str) or not body["exclude"]:
            raise DataError(f"exclude: got {body['exclude']!r}; give a reason: {', '.join(EXCLUSIONS)}")
        return session.decide(indices, exclude=body["exclude"])
    if "label" not in body or not isinstance(body["label"], int | str | None) or isinstance(body["label"], bool):
        raise DataError(f"label: got {body.get('label')!r}; give the number of a class, or null if you are not sure")
    return session.decide(indices, body["label"])


def check_server() -> None:
    """Raise a DataError if the extra ``review`` is not installed."""
    try:
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise DataError("the review page needs a small server; install it: pip install 'reweigh[review]'") from error


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
        check_server()
        import uvicorn

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
        self._leads_here: Path | None = None

    def run(self) -> None:
        """Serve until Ctrl-C."""
        try:
            self._server.run([self._socket])
        finally:
            if self._leads_here is not None:
                self._leads_here.unlink(missing_ok=True)

    def start(self) -> "Review":
        """Serve in the background, until ``stop`` or the end of this process."""
        self._thread = threading.Thread(target=self.run, daemon=True, name="reweigh review")
        self._thread.start()
        return self

    def open_browser(self) -> bool:
        """Open the page in a browser with a window; returns whether there is one.

        The browser gets a file that only this user can read, since other users can see the arguments of a command, and
        the address contains the token.
        """
        import webbrowser

        if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            return False  # a text browser would take over the terminal
        self._leads_here = self.session.subject.file.with_name("open-review.html")
        page = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={self.address}">'
        try:
            self._leads_here.unlink(missing_ok=True)
            descriptor = os.open(self._leads_here, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w") as file:
                file.write(page)
            return webbrowser.open(self._leads_here.resolve().as_uri())
        except (OSError, webbrowser.Error):
            return False

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
        """The label of each sample, decided or else as given, and which of them people agree on; shape (N,) each.

        A sample to leave out keeps its label; see ``excluded``.
        """
        subject = self.session.subject
        agreed = {row: found for row, found in self.decisions.agreed().items() if found.label is not None}
        number = {name: label for label, name in enumerate(subject.class_names)}
        found = [agreed.get(row) for row in subject.samples.row.tolist()]
        labels = [
            int(given) if decision is None else number[str(decision.label)]
            for given, decision in zip(subject.samples.given, found, strict=True)
        ]
        return np.array(subject.classes)[labels], np.array([decision is not None for decision in found])

    def excluded(self) -> np.ndarray:
        """Which samples people agree to leave out, shape (N,) bool."""
        rows = [row for row, found in self.decisions.agreed().items() if found.exclude]
        return np.isin(self.session.subject.samples.row, rows)

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
