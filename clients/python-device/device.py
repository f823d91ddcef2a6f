"""A card terminal that speaks the device protocol, to read beside docs/device-protocol.md.

It keeps the seven promises with a fake bank and a fake customer: the journal and the bank's book are files that survive
kill -9 at any line. channels.py has the wires, books.py the files. MQTT always; AMQP where the gateway names a RabbitMQ.
"""
import argparse
import json
import os
import re
import threading
import time
import urllib.request
import uuid
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

from books import Bank, Journal
from channels import AmqpChannel, MqttChannel

LEDGER = {"Pay", "CloseDoc", "CloseDay", "Refund", "CancelTransaction", "MoneyIn", "MoneyOut", "Report", "PrintReceipt"}
MINE = {"Pay", "CloseDoc", "CloseDay", "Refund", "CancelTransaction"}
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
REPLY_TO = re.compile(r"[A-Za-z0-9_-]{1,64}")


def now():
    return datetime.now(timezone.utc)


def clock():
    return now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_time(text):
    """A date-time with a zone, or None."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else None


def read_command(raw):
    """The command, or None for what is none: such a message is dropped and never answered."""
    if len(raw) > 1024 * 1024:
        return None
    try:
        command = json.loads(raw.decode("utf-8"), parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
    if not isinstance(command, dict) or type(command.get("v")) is not int or command["v"] != 1:
        return None
    texts = [command.get("id"), command.get("name"), command.get("replyTo")]
    if not all(isinstance(text, str) for text in texts) or not isinstance(command.setdefault("args", {}), dict):
        return None
    command["id"] = command["id"].lower()
    if not UUID.fullmatch(command["id"]) or not REPLY_TO.fullmatch(command["replyTo"]):
        return None
    for field in ("startBy", "answerBy"):
        command[field] = read_time(command.get(field))
        if command["name"] in LEDGER and command[field] is None:
            return None
    return command


def bani_of(value):
    """An amount in whole bani, or None: over zero, with two decimals or fewer."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    bani = Decimal(value) * 100
    return int(bani) if bani == bani.to_integral_value() and bani > 0 else None


class Device:
    def __init__(self, identity, journal, bank, customer_seconds):
        self.id = identity["deviceId"]
        self.journal, self.bank, self.customer_seconds = journal, bank, customer_seconds
        self.boot_id = str(uuid.uuid4())
        self.lock = threading.RLock()  # one message at a time, whichever channel it came by
        self.running = None  # the entry of the ledger command that runs
        self.abort = threading.Event()
        self.unsent = []  # endings that found no channel
        self.channels = []

    # What it says

    def presence(self, online=True):
        if not online:
            return {"v": 1, "device": self.id, "online": False}
        body = {"battery": 80, "paper": "OK", "signal": 70, "bank": "Fake Bank", "firmware": "python-device 1"}
        stamps = {"clock": clock(), "bootId": self.boot_id, "journalId": self.journal.id}
        return {"v": 1, "device": self.id, "online": True, "kind": "terminal", **stamps, **body}

    def say(self, command_id, reply_to, outcome, report=None, reason=None):
        """Promise 7: by any channel that is live. False: there is none."""
        answer = {"v": 1, "id": command_id, "device": self.id, "clock": clock(), "journalId": self.journal.id, "outcome": outcome}
        answer |= {"report": report} if report is not None else {}
        answer |= {"reason": reason} if reason else {}
        return any(channel.answer(reply_to, answer) for channel in self.channels)

    def say_ending(self, entry):
        for reply_to in entry["replyTos"]:
            if not self.say(entry["id"], reply_to, entry["outcome"], entry.get("report"), entry.get("reason")):
                self.unsent.append((entry, reply_to))

    def connected(self, channel):
        """A channel is up: presence first, then what found no channel before."""
        with self.lock:
            channel.presence(self.presence())
            waiting, self.unsent = self.unsent, []
            for entry, reply_to in waiting:
                if not self.say(entry["id"], reply_to, entry["outcome"], entry.get("report"), entry.get("reason")):
                    self.unsent.append((entry, reply_to))

    # What it hears

    def receive(self, raw):
        command = read_command(raw)
        if command is None:
            return
        with self.lock:
            if command["name"] in LEDGER:
                self.take(command)
            else:
                outcome, report, reason = self.answer_plain(command)
                self.say(command["id"], command["replyTo"], outcome, report, reason)

    def answer_plain(self, command):
        name, target = command["name"], command["args"].get("target")
        if name == "Status":
            return "done", {"online": True, "battery": 80, "paper": "OK", "signal": 70, "bank": "Fake Bank"}, None
        if name == "LastTransaction":
            return "done", self.last_transaction(), None
        if name not in ("Recall", "Abort"):
            return "unsupported", None, "No such command here."
        if not isinstance(target, str):
            return "refused", None, "target must be a command id."
        entry = self.journal.find(target.lower())
        if entry is None:  # promise 3: the tombstone is written first and said afterwards
            self.journal.write({"id": target.lower(), "name": "", "replyTos": [], "state": "ended", "outcome": "never"})
            return ("done", {"state": "never"}, None) if name == "Recall" else ("done", None, "It will never run.")
        if name == "Abort":
            if entry is self.running and entry["state"] == "taken" and entry["name"] == "Pay":
                self.abort.set()
                return "done", None, None
            return "refused", None, "It is too late."
        return "done", self.recall(entry, command["replyTo"]), None

    def recall(self, entry, asker):
        if entry["state"] != "ended":
            if asker not in entry["replyTos"]:
                self.journal.write(entry, replyTos=[*entry["replyTos"], asker])
            return {"state": "running"}
        if entry["outcome"] in ("never", "unknown"):
            return {"state": entry["outcome"]}
        return {"state": "final", **{field: entry[field] for field in ("outcome", "report", "reason") if entry.get(field) is not None}}

    def last_transaction(self):
        entry = self.journal.last_run()
        if entry is None:
            return {"state": "none"}
        payment = self.journal.last_run(("Pay", "Refund", "CancelTransaction"))
        return self.described(entry) if payment in (None, entry) else {**self.described(entry), "lastPayment": self.described(payment)}

    @staticmethod
    def described(entry):
        states = {None: "running", "done": "approved", "unknown": "unknown"}
        return {**(entry.get("report") or {}), "commandId": entry["id"], "kind": entry["name"], "state": states.get(entry.get("outcome"), "refused")}

    # Ledger commands

    def take(self, command):
        """Promise 1: the journal is asked first. Whatever ends a command is written before it is said."""
        entry = self.journal.find(command["id"])
        if entry is not None:
            if entry["state"] == "ended":
                self.say(entry["id"], command["replyTo"], entry["outcome"], entry.get("report"), entry.get("reason"))
            else:
                self.recall(entry, command["replyTo"])
                self.say(entry["id"], command["replyTo"], "accepted")
            return
        entry = {"id": command["id"], "name": command["name"], "args": command["args"], "replyTos": [command["replyTo"]]}
        outcome, reason = self.why_not(command)
        if outcome:
            self.journal.write(entry, state="ended", outcome=outcome, reason=reason)
            self.say_ending(entry)
            return
        self.journal.write(entry, state="taken", hasRun=True)
        self.running = entry
        self.abort.clear()
        self.say(entry["id"], command["replyTo"], "accepted")
        threading.Thread(target=self.run, args=(entry, command["answerBy"]), daemon=True).start()

    def why_not(self, command):
        name, args = command["name"], command["args"]
        if name not in MINE:
            return "unsupported", f"This terminal has no {name}."
        if now() > command["startBy"]:
            return "expired", "It came after startBy."
        if self.running:
            return "busy", f"{self.running['name']} is running."
        if name in ("Pay", "Refund", "CancelTransaction") and bani_of(args.get("amount")) is None:
            return "refused", "The amount is no amount."
        if args.get("currency", "MDL") != "MDL":
            return "refused", "The currency must be MDL."
        return None, None

    def run(self, entry, answer_by):
        if entry["name"] == "Pay":  # the fake customer, who pays after a while
            patience = min(self.customer_seconds, max(0, (answer_by - now()).total_seconds()))
            self.abort.wait(patience)
        with self.lock:
            if self.abort.is_set():
                return self.end(entry, "refused", reason="It was aborted.")
            if now() >= answer_by:  # promise 2: no bank is asked after answerBy
                return self.end(entry, "refused", reason="Nobody presented a card in time.")
            self.journal.write(entry, state="begun")  # promise 6: from here the bank may have been asked
        outcome, report, reason = self.bank.perform(entry["id"], entry["name"], entry["args"], bani_of(entry["args"].get("amount")))
        with self.lock:
            self.end(entry, outcome, report, reason)

    def end(self, entry, outcome, report=None, reason=None):
        self.journal.write(entry, state="ended", outcome=outcome, report=report, reason=reason)
        self.running = None
        self.say_ending(entry)

    def recover(self):
        """After a power cut: what was begun is looked up at the bank, what was not has touched nothing."""
        for entry in self.journal.unfinished():
            booked = self.bank.find(entry["id"]) if entry["state"] == "begun" else None
            if booked:
                self.end(entry, booked["outcome"], booked.get("report"), booked.get("reason"))
            else:
                self.end(entry, "refused", reason="It was interrupted before the bank was asked.")


def pair(url, code):
    body = json.dumps({"code": code}).encode()
    request = urllib.request.Request(f"{url.rstrip('/')}/pairing", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=15) as response:
        answer = json.load(response)
    if answer["errorCode"] != 0:
        raise SystemExit(answer["errorMessage"])
    return answer


def identify(path, url, code):
    """What the last pairing gave; with a new code, what that gives. A code works once, so a restart does not send it again."""
    known = json.loads(path.read_text()) if path.exists() else None
    if code and (known is None or known["code"] != code):
        known = {**pair(url, code), "code": code}
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w") as file:
            json.dump(known, file)
            file.flush()
            os.fsync(descriptor)
    return known or exit("Name the pairing code with --pair.")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--state", type=Path, default=Path("python-device-state"), help="directory of journal, bank and pairing")
    options.add_argument("--pair", metavar="CODE", help="pairing code, needed once")
    options.add_argument("--url", default="http://127.0.0.1:8090/tillgate", help="base URL of the gateway")
    options.add_argument("--ca", help="root certificate of the gateway's operator, besides the public ones")
    options.add_argument("--customer-seconds", type=float, default=3, help="how long the customer takes")
    options.add_argument("--presence-seconds", type=float, default=30)
    chosen = options.parse_args()
    chosen.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    (chosen.state / "pid").write_text(str(os.getpid()))
    identity = identify(chosen.state / "pairing.json", chosen.url, chosen.pair)

    device = Device(identity, Journal(chosen.state / "journal.jsonl"), Bank(chosen.state / "bank.jsonl"), chosen.customer_seconds)
    device.recover()
    device.channels.append(MqttChannel(device, identity, chosen.ca))
    if identity["queue"]["kind"] == "rabbitmq":
        device.channels.append(AmqpChannel(device, identity, chosen.ca))
    for channel in device.channels:
        channel.start()
    print(f"{device.id} is on {', '.join(channel.name for channel in device.channels)}; Ctrl-C ends.", flush=True)
    while True:
        time.sleep(chosen.presence_seconds)
        for channel in device.channels:
            channel.presence(device.presence())


if __name__ == "__main__":
    main()
