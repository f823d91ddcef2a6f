"""Sells by the Python client while somebody kills the gateway: prints a line before each sale and one with its outcomes."""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "clients/python/src"))

from tillgate_client import Tillgate  # noqa: E402

plan = json.loads(sys.argv[1])
tillgate = Tillgate(plan["baseUrl"], plan["apiKey"], start_patience_s=plan["patienceS"], outcome_patience_s=plan["patienceS"])


def unless_not_done(call):
    """Nothing was done: a cashier tries again."""
    for _ in range(9):
        ended = call()
        if ended.outcome != "notDone":
            return ended
        time.sleep(1)
    return call()


for sale in plan["sales"]:
    print(json.dumps({"begins": sale["amount"]}), flush=True)
    device = plan["terminal"]
    number = sale["documentNr"]
    payment = unless_not_done(lambda: tillgate.pay(device_id=device, amount=sale["amount"], document_nr=number))
    outcomes = [payment.outcome]
    if payment.outcome == "done":
        operation_id = payment.report["operationId"]
        closed = unless_not_done(lambda: tillgate.close_doc(device_id=device, document_nr=number, operation_id=operation_id))
        cash = unless_not_done(lambda: tillgate.cash_in(device_id=plan["register"], amount=sale["amount"]))
        outcomes += [closed.outcome, cash.outcome]
    print(json.dumps({"ended": sale["amount"], "outcomes": outcomes}), flush=True)
