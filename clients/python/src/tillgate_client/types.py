"""What the calls take and give. Receipts and reports keep the names of the API. Amounts are lei."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, NotRequired, TypedDict, TypeVar

from .run import OutcomeName

# A float is refused: 0.1 + 0.2 is not 0.3.
Amount = Decimal | int | str

ERROR_NAMES = {
    0: "NoError",
    1: "Internal_error",
    2: "Error_Connection_Database",
    3: "Timeout_or_no_response",
    10: "Invalid_API_Key",
    11: "API_Key_Wrong_Product",
    20: "Record_not_exist",
    21: "Invalid_QR",
    22: "The_status_cannot_be_applied",
    30: "Device_Offline",
    31: "Device_Busy",
    40: "Invalid_Request",
    41: "Too_Many_Requests",
    50: "Refused_By_Device",
}

INVOICE_STATES = {0: "NewItem", 1: "Scanned", 2: "Payed", 3: "Expired", 4: "Cancelled"}


class Item(TypedDict):
    Name: str
    Quantity: Decimal | float
    # Lei of one; negative on a discount line.
    Price: Decimal | float


class Payment(TypedDict):
    # 1, 2, 7 and 1000 are card payments, 0 is cash.
    PaymentCode: int | str
    # With a card code: the number of the Pay that took the money. The register prints it as card and charges nothing.
    documentNr: NotRequired[str]
    Amount: NotRequired[Decimal | float]


class Receipt(TypedDict):
    """Every further field is passed on as it is."""

    Items: list[Item]
    Number: NotRequired[str | None]
    # Prints once per Uid: give every receipt its own.
    Uid: NotRequired[str | None]
    Payments: NotRequired[list[Payment] | None]


# What the devices report. Every device may say more.


class DeviceStatusReport(TypedDict):
    online: bool
    battery: NotRequired[int]
    paper: NotRequired[str]
    bank: NotRequired[str]
    signal: NotRequired[int]


class PayReport(TypedDict):
    rrn: str
    operationId: str
    amount: float
    authCode: NotRequired[str]
    # What cancel_transaction asks for.
    token: NotRequired[str]


class LastTransactionReport(TypedDict, total=False):
    commandId: str
    kind: str
    state: str
    source: str
    rrn: str
    authCode: str
    operationId: str
    documentNr: str
    amount: float
    lastCommand: dict[str, Any]


class RefundReport(TypedDict, total=False):
    rrn: str
    operationId: str
    amount: float


class CloseDayReport(TypedDict, total=False):
    count: int
    amount: float


class CashReport(TypedDict, total=False):
    documentNumber: int | str
    cashInDrawer: float


class FiscalReport(TypedDict, total=False):
    number: int | str
    totals: dict[str, Any]


class ReceiptReport(TypedDict, total=False):
    receiptId: str
    fiscalNumber: str
    total: float


Report = TypeVar("Report")


class NotCarriedOut(Exception):
    """What ``Result.require()`` raises; ``result`` tells which of the three other ways the call ended."""

    def __init__(self, result: Result[Any]) -> None:
        super().__init__(f"{result.outcome}: {result.error_message}")
        self.result = result


@dataclass(frozen=True)
class Result(Generic[Report]):
    """How a call ended.

    ``done``: it was carried out. ``refused``: the device, the customer or the bank said no. ``notDone``: nothing was done by this
    call and nothing will be. ``unclear``: it may have been done, or may be done yet; ask ``operation_status`` by the key or OID.
    """

    outcome: OutcomeName
    # None when no answer of the gateway came.
    error_code: int | None
    error_message: str
    # The Idempotency-Key; calls that only read have none.
    key: str | None
    # Of the operation or invoice, where the gateway told it.
    oid: str | None
    # The device's word; empty where there is none.
    report: Report
    # The answer with the names of the API: QR, Status, Receipt and so on.
    fields: dict[str, Any]

    def require(self) -> Result[Report]:
        """Itself when it was done; raises ``NotCarriedOut`` otherwise."""
        if self.outcome != "done":
            raise NotCarriedOut(self)
        return self
