"""All calls of a Tillgate gateway, with repeats that never do anything twice, and the check of its callbacks."""

from .callbacks import GenuineCallback, verify_callback
from .client import KeyOptions, Tillgate
from .types import (
    ERROR_NAMES,
    INVOICE_STATES,
    Amount,
    CashReport,
    CloseDayReport,
    DeviceStatusReport,
    FiscalReport,
    Item,
    LastTransactionReport,
    NotCarriedOut,
    Payment,
    PayReport,
    Receipt,
    ReceiptReport,
    RefundReport,
    Result,
)

__all__ = [
    "ERROR_NAMES",
    "INVOICE_STATES",
    "Amount",
    "CashReport",
    "CloseDayReport",
    "DeviceStatusReport",
    "FiscalReport",
    "GenuineCallback",
    "Item",
    "KeyOptions",
    "LastTransactionReport",
    "NotCarriedOut",
    "PayReport",
    "Payment",
    "Receipt",
    "ReceiptReport",
    "RefundReport",
    "Result",
    "Tillgate",
    "verify_callback",
]
