"""Who may talk to the review server: this computer, a page of this server, and only with the token."""

import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
MAX_REQUEST_BYTES = 1_000_000  # a decision about 100,000 samples


class Guard:
    """Refuses requests that do not come from the page; adds the headers that bind the page itself.

    - Host must be a loopback name with the port of this server: another name may belong to a page that poses as this
      server (DNS rebinding).
    - Origin, if there is one, must be this server, and what changes something must have one.
    - The path must begin with the token, which only the user who started the server knows: other users of this
      computer can open the port as well.

    Args:
        token: First part of every path.
        port: Port of this server.
    """

    def __init__(self, app: ASGIApp, token: str, port: int):
        self._app, self._token = app, token
        self._hosts = [f"{name}:{port}" for name in LOOPBACK]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await PlainTextResponse(*refusal, headers=HEADERS)(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        inner = {**scope, "root_path": f"/{self._token}"}
        await self._app(inner, receive, with_headers)

    def _refusal(self, scope: Scope) -> tuple[str, int] | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if host.lower() not in self._hosts:
            return "Host is not this computer; open the address that reweigh review printed.\n", 400
        first, _, rest = str(scope["path"]).removeprefix("/").partition("/")
        if not secrets.compare_digest(first.encode(), self._token.encode()):
            return "The token is missing or wrong; open the address that reweigh review printed.\n", 403
        if not rest and not str(scope["path"]).endswith("/"):
            return "The address ends with a slash.\n", 404
        if origin is not None and origin not in [f"http://{allowed}" for allowed in self._hosts]:
            return "Origin is another site.\n", 403
        if scope["method"] not in ("GET", "HEAD"):
            if origin is None:
                return "Origin is missing; decisions come from the page alone.\n", 403
            if not headers.get("content-type", "").startswith("application/json"):
                return "The content is not JSON.\n", 415
            length = headers.get("content-length", "")
            if not length.isdigit() or int(length) > MAX_REQUEST_BYTES:
                return "The content is too large, or its length is not given.\n", 413
        return None
