"""The calls of the API, one method each. How they repeat is in run.py."""

from __future__ import annotations

import json
import random
import ssl
import time
import urllib.parse
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypedDict, Unpack

from . import transport
from .run import Call, CallKind, Ending, OutcomeName, World, run
from .transport import Heard, Request
from .types import (
    Amount,
    CashReport,
    CloseDayReport,
    DeviceStatusReport,
    FiscalReport,
    LastTransactionReport,
    PayReport,
    Receipt,
    ReceiptReport,
    RefundReport,
    Result,
)

# The device's own time and the margin for the way.
MARGIN_S = 15.0
PAY_S = 300 + MARGIN_S
MINUTE_S = 60 + MARGIN_S
LAST_TRANSACTION_S = 30 + MARGIN_S
SHORT_S = 20 + MARGIN_S
CARD_PAYMENT_CODES = {1, 2, 7, 1000}


class KeyOptions(TypedDict, total=False):
    """Of every call that does something."""

    # The Idempotency-Key, if you have stored one; it belongs to this call and body alone.
    key: str
    # You have called with this key before, and it ended unclear or your program died: then notDone is said only if that holds for both.
    sent_before: bool
    # Called with the key before anything is sent: store it with the sale.
    on_key: Callable[[str], object]
    # Of one request, instead of the call's own.
    timeout_s: float


class Tillgate:
    """A gateway. ``base_url`` has the first path segment: https://pay.example/tillgate

    ``start_patience_s``: how long after its beginning a call may still start something on a device. ``outcome_patience_s``: how
    long a call asks for an outcome that is not known yet. May be used from several threads.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        start_patience_s: float = 30.0,
        outcome_patience_s: float = 120.0,
        ssl_context: ssl.SSLContext | None = None,
        send: Callable[[Request], Heard] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        new_key: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers = {"X-API-Key": api_key, "Accept": "application/json"}
        self._new_key = new_key
        sender = send or (lambda request: transport.send(request, ssl_context))
        self._world = World(sender, monotonic, sleep, chance, start_patience_s, outcome_patience_s)

    # Terminal status.

    def device_status(self, *, device_id: str) -> Result[DeviceStatusReport]:
        """The state of a terminal or register. With error_code 30, ``report`` is what it said last."""
        return _result(self._get("/Device/Device/Status", {"DeviceID": device_id}, SHORT_S))

    # POS Mode.

    def pay(
        self, *, device_id: str, amount: Amount, document_nr: str | None = None, **own: Unpack[KeyOptions]
    ) -> Result[PayReport]:
        fields = {"DeviceID": device_id, "amount": _amount(amount), "documentNr": document_nr}
        return _result(self._post("/Device/payment/Pay", fields, PAY_S, own))

    def last_transaction(self, *, device_id: str) -> Result[LastTransactionReport]:
        return _result(self._get("/Device/payment/LastTransaction", {"DeviceID": device_id}, LAST_TRANSACTION_S))

    def close_doc(
        self, *, device_id: str, document_nr: str, operation_id: str, **own: Unpack[KeyOptions]
    ) -> Result[dict[str, Any]]:
        fields = {"DeviceID": device_id, "documentNr": document_nr, "operationId": operation_id}
        return _result(self._post("/Device/payment/CloseDoc", fields, MINUTE_S, own))

    def close_day(self, *, device_id: str, **own: Unpack[KeyOptions]) -> Result[CloseDayReport]:
        return _result(self._post("/Device/payment/closeDay", {"DeviceID": device_id}, MINUTE_S, own))

    def refund(
        self,
        *,
        device_id: str,
        document_nr: str,
        operation_id: str,
        rrn: str,
        amount: Amount,
        currency: str | None = None,
        **own: Unpack[KeyOptions],
    ) -> Result[RefundReport]:
        fields = {
            "DeviceID": device_id,
            "documentNr": document_nr,
            "operationId": operation_id,
            "rrn": rrn,
            "amount": _amount(amount),
            "currency": currency,
        }
        return _result(self._post("/Device/payment/Refund", fields, MINUTE_S, own))

    def cancel_transaction(
        self,
        *,
        device_id: str,
        document_nr: str,
        operation_id: str,
        token: str,
        amount: Amount,
        **own: Unpack[KeyOptions],
    ) -> Result[RefundReport]:
        fields = {
            "DeviceID": device_id,
            "documentNr": document_nr,
            "operationId": operation_id,
            "token": token,
            "amount": _amount(amount),
        }
        return _result(self._post("/Device/payment/CancelTransaction", fields, MINUTE_S, own))

    # QR Mode.

    def create_invoice(
        self,
        *,
        receipt: Receipt | Mapping[str, Any],
        device_id: str | None = None,
        callback_uri: str | None = None,
        valid_to: str | None = None,
        point_of_sales_code: str | None = None,
        **own: Unpack[KeyOptions],
    ) -> Result[dict[str, Any]]:
        """``fields`` has QR, OID, QRImage and ValidTo."""
        fields = {
            "DeviceID": device_id,
            "CallbackURI": callback_uri,
            "ValidTo": valid_to,
            "PointOfSalesCode": point_of_sales_code,
            "Receipt": receipt,
        }
        return _result(self._post("/Invoice/Create", fields, SHORT_S, own, "safe"))

    def invoice_status(self, *, qr: str) -> Result[dict[str, Any]]:
        """``fields`` has Status (see INVOICE_STATES) and ReceiptID."""
        return _result(self._get("/Invoice/Status", {"QR": qr}, SHORT_S))

    def get_invoice(self, *, qr: str) -> Result[dict[str, Any]]:
        """``fields`` has OID, Status, Receipt, ValidTo and PointOfSalesCode. Marks the invoice scanned."""
        return _result(self._get("/Invoice/Get", {"QR": qr}, SHORT_S, "safe"))

    def pay_invoice(self, *, qr: str, receipt_id: str, device_id: str) -> Result[dict[str, Any]]:
        """Payd: marks the invoice paid."""
        query = {"QR": qr, "ReceiptID": receipt_id, "DeviceID": device_id}
        return _result(self._get("/Invoice/Payd", query, SHORT_S, "safe"))

    # Fiscal Mode.

    def cash_in(
        self,
        *,
        device_id: str,
        amount: Amount,
        reason: str | None = None,
        callback_uri: str | None = None,
        **own: Unpack[KeyOptions],
    ) -> Result[CashReport]:
        return self._cash("/Device/Money/In", device_id, amount, reason, callback_uri, own)

    def cash_out(
        self,
        *,
        device_id: str,
        amount: Amount,
        reason: str | None = None,
        callback_uri: str | None = None,
        **own: Unpack[KeyOptions],
    ) -> Result[CashReport]:
        return self._cash("/Device/Money/Out", device_id, amount, reason, callback_uri, own)

    def create_report(
        self, *, device_id: str, fiscal: bool, callback_uri: str | None = None, **own: Unpack[KeyOptions]
    ) -> Result[FiscalReport]:
        """``fiscal`` True: Z, which closes the fiscal day; False: X."""
        fields = {"DeviceID": device_id, "Fiscal": fiscal, "CallbackURI": callback_uri}
        return _result(self._post("/Device/Report/Create", fields, SHORT_S, own))

    def print_receipt(
        self,
        *,
        device_id: str,
        receipt: Receipt | Mapping[str, Any],
        callback_uri: str | None = None,
        **own: Unpack[KeyOptions],
    ) -> Result[ReceiptReport]:
        """Device/Invoice/Pay. The receipt is sent as it is; nothing is added to it."""
        fields = {"DeviceID": device_id, "CallbackURI": callback_uri, "Receipt": receipt}
        timeout_s = PAY_S if _has_card_payment(receipt) else MINUTE_S
        return _result(self._post("/Device/Invoice/Pay", fields, timeout_s, own))

    # To ask without doing.

    def operation_status(
        self,
        *,
        oid: str | None = None,
        document_nr: str | None = None,
        receipt_uid: str | None = None,
        key: str | None = None,
        until_known: bool = False,
    ) -> Result[dict[str, Any]]:
        """How an operation ended, without doing anything: what to ask first after a crash of your own.

        Give exactly one of its names. Open and Disputed are ``unclear``; Voided is ``notDone``. With ``until_known`` it goes on asking for
        ``outcome_patience_s``. ``fields`` has State and Operation.
        """
        names = {"OID": oid, "documentNr": document_nr, "ReceiptUid": receipt_uid, "IdempotencyKey": key}
        given = {name: value for name, value in names.items() if value is not None}
        if len(given) != 1:
            raise ValueError("Give exactly one of oid, document_nr, receipt_uid and key.")
        is_lasting = document_nr is not None or receipt_uid is not None
        world = self._world
        until = world.monotonic() + (world.outcome_patience_s if until_known else 0.0)
        wait_s = 0.5
        while True:
            ended = self._get("/Device/Operation/Status", given, SHORT_S)
            is_disputed = ended.fields.get("State") == "Disputed"
            if ended.error_code != 3 or is_disputed or world.monotonic() + wait_s > until:
                return _result(ended, _judge_status(ended, is_lasting))
            world.sleep(wait_s)
            wait_s = min(10.0, wait_s * 2)

    # What they have in common.

    def _cash(
        self,
        path: str,
        device_id: str,
        amount: Amount,
        reason: str | None,
        callback_uri: str | None,
        own: KeyOptions,
    ) -> Result[CashReport]:
        fields = {"DeviceID": device_id, "Amount": _amount(amount), "Reason": reason, "CallbackURI": callback_uri}
        return _result(self._post(path, fields, SHORT_S, own))

    def _question(self, path: str, query: Mapping[str, str], timeout_s: float) -> Request:
        return Request("GET", f"{self._base_url}{path}?{urllib.parse.urlencode(query)}", self._headers, None, timeout_s)

    def _ask_by(self, name: str, value: str) -> Request:
        return self._question("/Device/Operation/Status", {name: value}, SHORT_S)

    def _get(self, path: str, query: Mapping[str, str], timeout_s: float, kind: CallKind = "read") -> Ending:
        return run(self._world, Call(kind, self._question(path, query, timeout_s), None, False, False, False, self._ask_by))

    def _post(
        self, path: str, fields: Mapping[str, Any], timeout_s: float, own: KeyOptions, kind: CallKind = "command"
    ) -> Ending:
        key = own.get("key") or self._new_key()
        # Before the key is told: what is stored under it must not change while somebody stores it.
        body = _json({name: value for name, value in fields.items() if value is not None})
        on_key = own.get("on_key")
        if on_key is not None:
            on_key(key)
        headers = {**self._headers, "Content-Type": "application/json", "Idempotency-Key": key}
        request = Request("POST", f"{self._base_url}{path}", headers, body, own.get("timeout_s", timeout_s))
        was_sent_before = own.get("sent_before", False)
        may_share, is_payment = path.endswith("/CancelTransaction"), path.endswith("/payment/Pay")
        return run(self._world, Call(kind, request, key, was_sent_before, may_share, is_payment, self._ask_by))


def _result(ended: Ending, outcome: OutcomeName | None = None) -> Result[Any]:
    return Result(
        outcome or ended.outcome,
        ended.error_code,
        ended.error_message,
        ended.key,
        ended.oid,
        ended.report or {},
        ended.fields,
    )


# Of a payment that was voided since, and of an operation whose record was removed after its time.
_OUTCOME_BY_STATE: Mapping[str, OutcomeName] = {
    "Done": "done",
    "Closed": "done",
    "Refunded": "done",
    "Voided": "notDone",
    "Refused": "notDone",
    "Never": "notDone",
}


def _judge_status(ended: Ending, is_lasting: bool) -> OutcomeName:
    """What the answer says of the operation, not of the question: only its own end is an end, and a key is forgotten after a day."""
    if ended.outcome in ("done", "refused"):
        return ended.outcome
    if ended.error_code == 22:
        return _OUTCOME_BY_STATE.get(str(ended.fields.get("State")), "unclear")
    is_over = ended.error_code in (30, 31) or (ended.error_code == 20 and is_lasting)
    return "notDone" if is_over else "unclear"


def _amount(value: Amount) -> str:
    if isinstance(value, bool) or not isinstance(value, Decimal | int | str):
        raise TypeError("An amount is a Decimal, an int or a text such as '150.50'; a float would not be exact.")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _json(fields: Mapping[str, Any]) -> bytes:
    """Decimals as the JSON numbers that they are, exactly, or not at all."""

    def exact(value: object) -> object:
        if isinstance(value, Decimal):
            number = int(value) if value == value.to_integral_value() else float(value)
            if Decimal(repr(number)) == value:
                return number
            raise ValueError(f"{value} cannot be written as an exact JSON number.")
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"{type(value).__name__} cannot be sent as JSON.")

    return json.dumps(fields, default=exact, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _has_card_payment(receipt: Mapping[str, Any]) -> bool:
    payments = receipt.get("Payments") or []
    codes = (payment.get("PaymentCode") for payment in payments if isinstance(payment, Mapping))
    return any(str(code).isdecimal() and int(str(code)) in CARD_PAYMENT_CODES for code in codes)
