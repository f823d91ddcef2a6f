"""A call from its first send to its outcome, by the rules of clients/README.md.

Always holds: an operation that may have begun is asked for by Device/Operation/Status, never by sending it again; whatever is
sent again has the same key and the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from .transport import Answer, Foreign, Heard, NotSent, Request

# command: a device does something, and Device/Operation/Status knows about it. safe: changes something and may be repeated as it
# is. read: changes nothing.
CallKind = Literal["command", "safe", "read"]
OutcomeName = Literal["done", "refused", "notDone", "unclear"]
Step = Literal["end", "again", "ask"]

MAX_SENDS = 100

ADVICE = (
    "It may have been done, or may be done yet. Ask operation_status by this key or OID; "
    "the same call under the same key, with sent_before, does nothing twice."
)


@dataclass(frozen=True)
class World:
    """Time, chance and the network as values."""

    send: Callable[[Request], Heard]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    random: Callable[[], float]
    start_patience_s: float
    outcome_patience_s: float


@dataclass(frozen=True)
class Call:
    kind: CallKind
    request: Request
    key: str | None
    # An earlier call has sent it under this key, and what became of that is not known.
    was_sent_before: bool
    # CancelTransaction, whose key may stand for the payment that it stops.
    may_share_payment: bool
    # Pay: errorCode 22 with State Done or Closed means that the sale is paid, with Open that it may be paid yet.
    is_payment: bool
    # The read-only call that asks by OID or by the Idempotency-Key.
    ask_by: Callable[[str, str], Request]


@dataclass(frozen=True)
class Ending:
    outcome: OutcomeName
    error_code: int | None
    error_message: str
    key: str | None
    oid: str | None = None
    report: dict[str, Any] | None = None
    fields: dict[str, Any] = field(default_factory=dict)


def step_after(call: Call, heard: Heard, was_unclear: bool) -> Step:
    """What follows on what came; ``was_unclear``: a send before may still be on its way. Pure."""
    kind = call.kind
    if isinstance(heard, NotSent):
        return "again"
    if _is_fate_unknown(kind, heard):
        if isinstance(heard, Foreign) and heard.status != 429 and heard.status < 500:
            return "end"
        return "ask" if kind == "command" else "again"
    if not isinstance(heard, Answer):
        return "again"
    state = heard.body.get("State")
    match heard.error_code:
        case 3:
            return "ask" if kind == "command" else "end"
        case 41:
            return "ask" if kind == "command" and heard.body.get("OID") is not None else "again"
        case 1 | 2:
            return "again"
        case 31:
            # Beside a dispute nothing runs until an operator has resolved it: that takes longer than anybody waits.
            return "end" if kind == "read" or state == "Disputed" else "again"
        case 22:
            # On another device: the sale may be paid there yet.
            return "ask" if call.is_payment and state == "Open" else "end"
        case 30:
            return "again" if was_unclear else "end"
        case _:
            return "end"


def _is_fate_unknown(kind: CallKind, heard: Heard) -> bool:
    """Whether the request may have been carried out although nobody said so."""
    if kind == "read" or isinstance(heard, NotSent):
        return False
    if not isinstance(heard, Answer):
        return True
    if heard.status == 503:
        return False
    return heard.error_code == 1 or (kind == "safe" and heard.error_code == 2)


def run(world: World, call: Call) -> Ending:
    may_start_until = world.monotonic() + world.start_patience_s
    pauses = _Pauses(world)
    is_unclear = call.was_sent_before
    heard = world.send(call.request)
    for _ in range(MAX_SENDS - 1):
        # What is found under the key may be this copy; one before it may still be on its way.
        was_unclear = is_unclear
        is_unclear = is_unclear or _is_fate_unknown(call.kind, heard)
        step = step_after(call, heard, is_unclear)
        if step == "end":
            break
        if step == "ask":
            oid = heard.body.get("OID") if isinstance(heard, Answer) else None
            found, answer = _ask(world, call, oid)
            if found == "settled":
                assert isinstance(answer, Answer)
                is_shared = call.may_share_payment and answer.body.get("Operation") == "Pay"
                if not is_shared and (answer.error_code != 31 or world.monotonic() >= may_start_until):
                    return _ending(call, answer, not was_unclear)
                heard = answer
            elif found == "nobodyKnows" or world.monotonic() >= may_start_until:
                return _ending(call, answer or heard, False, oid)
        elif not pauses.wait(heard, may_start_until):
            break
        heard = world.send(call.request)
    return _ending(call, heard, not is_unclear)


def _ask(
    world: World, call: Call, oid: str | None
) -> tuple[Literal["settled", "nothingBegun", "nobodyKnows"], Heard | None]:
    """Asks how the operation ended, until somebody knows or patience is over. Starts nothing, however often."""
    if oid is not None:
        question = call.ask_by("OID", oid)
    elif call.key is not None:
        question = call.ask_by("IdempotencyKey", call.key)
    else:
        return "nobodyKnows", None
    pauses = _Pauses(world)
    ask_until = world.monotonic() + world.outcome_patience_s
    heard: Heard | None = None
    while pauses.wait(heard, ask_until):
        heard = world.send(question)
        if not isinstance(heard, Answer):
            continue
        match heard.error_code:
            case 0 | 50 | 30 | 31:
                return "settled", heard
            # It was voided since: nothing is charged any more.
            case 22 if heard.body.get("State") == "Voided":
                return "settled", heard
            case 20:
                return ("nothingBegun" if oid is None else "nobodyKnows"), heard
            # An operator has to resolve it: that takes longer than anybody waits.
            case 3 if heard.body.get("State") == "Disputed":
                break
            case 1 | 2 | 3 | 41:
                continue
            case _:
                break
    return "nobodyKnows", heard


class _Pauses:
    """Waits, longer each time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._count = 0

    def wait(self, after: Heard | None, until: float) -> bool:
        """False, without waiting, when that would go beyond the moment."""
        growing = min(10.0, 0.5 * 2**self._count) * (0.5 + 0.5 * self._world.random())
        self._count += 1
        wait_s = growing + (after.retry_after_s if isinstance(after, Answer) else 0.0)
        if self._world.monotonic() + wait_s > until:
            return False
        self._world.sleep(wait_s)
        return True


def _ending(call: Call, heard: Heard, is_sure: bool, known_oid: str | None = None) -> Ending:
    """``is_sure``: no copy of the request can still be on its way. ``known_oid``: told before by another answer."""
    if not isinstance(heard, Answer):
        is_harmless = call.kind == "read" or (isinstance(heard, NotSent) and is_sure)
        message = f"No answer: {heard.why}." if is_harmless else f"No answer: {heard.why}. {ADVICE}"
        return Ending("notDone" if is_harmless else "unclear", None, message, call.key, known_oid)
    outcome = _outcome_of(call, heard, is_sure)
    message = heard.body["errorMessage"]
    return Ending(
        outcome,
        heard.error_code,
        f"{message} {ADVICE}" if outcome == "unclear" else message,
        call.key,
        heard.body.get("OID", known_oid),
        _report(heard.body.get("report")),
        heard.body,
    )


def _outcome_of(call: Call, answer: Answer, is_sure: bool) -> OutcomeName:
    """By ``State`` where the code alone does not tell: 22 says that the request cannot be applied, State what it is."""
    error_code, state = answer.error_code, answer.body.get("State")
    if error_code == 0 or (call.is_payment and error_code == 22 and state in ("Done", "Closed")):
        return "done"
    if error_code == 50:
        return "refused"
    if state == "Disputed" or (call.is_payment and error_code == 22 and state == "Open"):
        return "unclear"
    if call.kind == "read" or (error_code == 22 and state == "Voided"):
        return "notDone"
    return "notDone" if is_sure and error_code != 3 else "unclear"


def _report(text: object) -> dict[str, Any] | None:
    if not isinstance(text, str):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
