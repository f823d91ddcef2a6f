"""A sale by card, from the till's point of view: charge, close the document, print the receipt.

TILLGATE_URL, TILLGATE_KEY, TERMINAL and REGISTER come from sandbox.json.
"""

import os
import sys
import uuid
from decimal import Decimal

from tillgate_client import Tillgate

tillgate = Tillgate(os.environ["TILLGATE_URL"], os.environ["TILLGATE_KEY"])
terminal, register = os.environ["TERMINAL"], os.environ["REGISTER"]
sale_id, total = str(uuid.uuid4()), Decimal(os.environ.get("AMOUNT", "70.00"))
stored_keys: list[str] = []  # in real life: a column of the sale

payment = tillgate.pay(device_id=terminal, amount=total, document_nr=sale_id, on_key=stored_keys.append)
if payment.outcome != "done":
    print(f"not paid: {payment.outcome}, {payment.error_message}")
    sys.exit(2 if payment.outcome == "unclear" else 1)
print(f"paid {payment.report['amount']}, rrn {payment.report['rrn']}")

closed = tillgate.close_doc(device_id=terminal, document_nr=sale_id, operation_id=payment.report["operationId"])
print(f"document {closed.outcome}")

printed = tillgate.print_receipt(
    device_id=register,
    receipt={
        "Uid": sale_id,
        "Number": "A-1",
        "Items": [{"Name": "Coffee", "Quantity": 2, "Price": total / 2}],
        # By card (1), and paid already by that number: the register prints it and charges nothing.
        "Payments": [{"PaymentCode": 1, "documentNr": sale_id}],
    },
)
if printed.outcome == "done":
    print(f"receipt {printed.report['receiptId']}")
else:
    print(f"no receipt: {printed.outcome}, {printed.error_message}")
