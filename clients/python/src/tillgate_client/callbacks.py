"""Whether a callback is really Tillgate's: Standard Webhooks, with tillgate-sequence and the URL in the place of a body."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class GenuineCallback:
    # The same on every try of one callback: handle each id once.
    id: str
    # Counts within an invoice or operation: ignore a number below the highest that you have seen.
    sequence: int


def verify_callback(
    secret: str | Sequence[str],
    url: str,
    headers: Mapping[str, str],
    *,
    now_s: float | None = None,
    tolerance_s: float = 300,
) -> GenuineCallback | None:
    """The callback, if it is genuine; None for anything else.

    ``secret`` is the merchant's, whsec_...; several while one is being replaced. ``url`` is the whole URL as it stands in your
    template, with scheme and host: behind a proxy the public one. A signature is good for five minutes, so that a recorded one
    cannot be played again.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    id_, timestamp, signatures = (lower.get(f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    if id_ is None or timestamp is None or signatures is None or not re.fullmatch(r"[0-9]{1,12}", timestamp):
        return None
    sequence = lower.get("tillgate-sequence", "")
    if not re.fullmatch(r"[0-9]{1,15}", sequence):
        return None
    now = time.time() if now_s is None else now_s
    if abs(now - int(timestamp)) > tolerance_s:
        return None
    given = [text.encode("utf-8", "replace") for text in signatures.split(" ")]
    signed = f"{id_}.{timestamp}.{sequence}.{url}".encode()
    for one in [secret] if isinstance(secret, str) else secret:
        expected = b"v1," + base64.b64encode(hmac.new(_key_of(one), signed, hashlib.sha256).digest())
        if any(hmac.compare_digest(expected, signature) for signature in given):
            return GenuineCallback(id_, int(sequence))
    return None


def _key_of(secret: str) -> bytes:
    """An empty key would let everybody sign."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    if len(key) < 16:
        raise ValueError("The signing secret is whsec_ and at least 16 bytes in Base64.")
    return key
