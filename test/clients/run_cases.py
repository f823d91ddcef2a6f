"""Runs the cases that come in, one JSON document a line, with the Python client. See drivers.ts."""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "clients/python/src"))

from tillgate_client import Tillgate  # noqa: E402

SPECIAL = {"QR": "qr", "OID": "oid", "DeviceID": "device_id", "ReceiptID": "receipt_id", "CallbackURI": "callback_uri", "IdempotencyKey": "key"}
READS = {"deviceStatus", "lastTransaction", "invoiceStatus", "getInvoice", "payInvoice", "operationStatus"}


def snake(name):
    return SPECIAL.get(name) or re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def say(**what):
    print(json.dumps(what), flush=True)


def run(case):
    options = case.get("options", {})
    now = 0.0

    def sleep(seconds):
        nonlocal now
        now += seconds
        say(sleepS=seconds)
        sys.stdin.readline()

    client = Tillgate(
        case["baseUrl"],
        case["apiKey"],
        start_patience_s=options.get("startPatienceS", 30),
        outcome_patience_s=options.get("outcomePatienceS", 120),
        monotonic=lambda: now,
        sleep=sleep,
        chance=lambda: 0.5,
    )
    told = []
    arguments = {snake(name): value for name, value in case["with"].items()}
    if case["call"] not in READS:
        arguments["on_key"] = told.append
        if "timeoutS" in options:
            arguments["timeout_s"] = options["timeoutS"]
        if "sentBefore" in options:
            arguments["sent_before"] = options["sentBefore"]
    if options.get("untilKnown"):
        arguments["until_known"] = True
    result = getattr(client, snake(case["call"]))(**arguments)
    say(
        result={
            "outcome": result.outcome,
            "errorCode": result.error_code,
            "OID": result.oid,
            "key": result.key,
            "toldKey": told[0] if told else None,
            "report": result.report,
        }
    )


for line in iter(sys.stdin.readline, ""):
    run(json.loads(line))
