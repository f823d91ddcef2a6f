"""Sells by the Python client while somebody kills the gateway: prints a line before each sale and one with its outcomes."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "clients/python/src"))

from tillgate_client import Tillgate  # noqa: E402

plan = json.loads(sys.argv[1])
tillgate = Tillgate(plan["baseUrl"], plan["apiKey"], start_patience_s=plan["patienceS"], outcome_patience_s=plan["patienceS"])

for sale in plan["sales"]:
    print(json.dumps({"begins": sale["amount"]}), flush=True)
    device = plan["terminal"]
    payment = tillgate.pay(device_id=device, amount=sale["amount"], document_nr=sale["documentNr"])
    outcomes = [payment.outcome]
    if payment.outcome == "done":
        operation_id = payment.report["operationId"]
        outcomes.append(tillgate.close_doc(device_id=device, document_nr=sale["documentNr"], operation_id=operation_id).outcome)
        outcomes.append(tillgate.cash_in(device_id=plan["register"], amount=sale["amount"]).outcome)
    print(json.dumps({"ended": sale["amount"], "outcomes": outcomes}), flush=True)
