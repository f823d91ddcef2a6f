"""One HTTP request and what came of it.

Always holds: ``NotSent`` is said only when no byte of the request left, because every request has a connection of its own and is
written when that stands; whatever breaks later is ``Lost``. No redirect is followed.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

MAX_ANSWER_BYTES = 8 * 1024 * 1024
CONNECT_TIMEOUT_S = 10.0
MAX_RETRY_AFTER_S = 60


@dataclass(frozen=True)
class Request:
    method: Literal["GET", "POST"]
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    timeout_s: float


@dataclass(frozen=True)
class Answer:
    status: int
    retry_after_s: float
    body: dict[str, Any]

    @property
    def error_code(self) -> int:
        code: int = self.body["errorCode"]
        return code


@dataclass(frozen=True)
class Foreign:
    """Somebody answered who is not Tillgate."""

    status: int
    why: str


@dataclass(frozen=True)
class NotSent:
    why: str


@dataclass(frozen=True)
class Lost:
    why: str


Heard = Answer | Foreign | NotSent | Lost


def send(request: Request, ssl_context: ssl.SSLContext | None = None) -> Heard:
    url = urllib.parse.urlsplit(request.url)
    connection = _connection(url, request, ssl_context)
    try:
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as error:
            return NotSent(str(error) or type(error).__name__)
        try:
            return _exchange(connection, url, request)
        except TimeoutError:
            return Lost("no answer in time")
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Lost(str(error) or type(error).__name__)
    finally:
        connection.close()


def _connection(
    url: urllib.parse.SplitResult, request: Request, ssl_context: ssl.SSLContext | None
) -> http.client.HTTPConnection:
    timeout = min(CONNECT_TIMEOUT_S, request.timeout_s)
    host = url.hostname or ""
    if url.scheme == "https":
        context = ssl_context or ssl.create_default_context()
        return http.client.HTTPSConnection(host, url.port, timeout=timeout, context=context)
    return http.client.HTTPConnection(host, url.port, timeout=timeout)


def _exchange(connection: http.client.HTTPConnection, url: urllib.parse.SplitResult, request: Request) -> Heard:
    ends_at = time.monotonic() + request.timeout_s
    connection.sock.settimeout(request.timeout_s)
    path = f"{url.path or '/'}{'?' + url.query if url.query else ''}"
    connection.request(request.method, path, body=request.body, headers={**request.headers, "connection": "close"})
    response = connection.getresponse()
    parts: list[bytes] = []
    size = 0
    while True:
        # The socket's time-out is for one read; a server that drips must not stretch the whole.
        left_s = ends_at - time.monotonic()
        if left_s <= 0:
            return Lost("no answer in time")
        if connection.sock is not None:
            connection.sock.settimeout(left_s)
        part = response.read1(65536)
        if not part:
            break
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            return Lost("the answer is too large")
        parts.append(part)
    if response.length:
        return Lost("the answer broke off")
    body = _envelope(b"".join(parts))
    if body is None:
        return Foreign(response.status, f"HTTP {response.status} without errorCode; this was not Tillgate")
    return Answer(response.status, _retry_after_s(response.getheader("retry-after")), body)


def _envelope(raw: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    code = value.get("errorCode")
    is_whole = isinstance(code, int) and not isinstance(code, bool)
    return value if is_whole and isinstance(value.get("errorMessage"), str) else None


def _retry_after_s(header: str | None) -> float:
    return float(min(int(header), MAX_RETRY_AFTER_S)) if header and re.fullmatch(r"[0-9]{1,9}", header) else 0.0
