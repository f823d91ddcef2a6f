"""What must survive pulling the plug: the device's journal, and the book of the fake bank. Files of JSON lines.

A line counts when fsync has returned. A last line that is not whole was never confirmed to anybody and is cut off; a line that
cannot be read in the middle means damage, and a damaged journal counts as empty, under a new journalId.
"""
import json
import os
import uuid
from decimal import Decimal


class Lines:
    """An append-only file of JSON lines; whatever cannot be written ends the process."""

    def __init__(self, path):
        self.path = path
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        try:
            self.records = [json.loads(line) for line in whole.splitlines()]
        except ValueError:
            self.records, whole = [], b""
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.ftruncate(self.file, len(whole))
        os.lseek(self.file, 0, os.SEEK_END)

    def append(self, record):
        line = json.dumps(record, default=plain).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self.file, line) :]
            os.fsync(self.file)
        except OSError:
            os._exit(1)  # a device that cannot write may promise nothing

    def replace(self, records):
        """All or nothing, so that a power cut leaves the old file or the new one."""
        fresh = self.path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        draft = Lines(fresh)
        for record in records:
            draft.append(record)
        os.replace(fresh, self.path)
        directory = os.open(self.path.parent, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
        os.close(self.file)
        self.file = draft.file


def plain(value):
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(type(value))


class Journal:
    """Ledger commands by id, in the order in which they came; the protocol asks for the last 1,000."""

    keep = 2_000

    def __init__(self, path):
        self.lines = Lines(path)
        header, *rest = self.lines.records or [{}]
        self.entries = {}
        if "journalId" in header:
            self.id = header["journalId"]
            for entry in rest:
                self.entries[entry["id"]] = entry
            if len(rest) > 4 * self.keep:
                self.forget_oldest()
        else:
            self.id = str(uuid.uuid4())
            self.lines.replace([{"journalId": self.id}])

    def forget_oldest(self):
        ended = [entry["id"] for entry in self.entries.values() if entry["state"] == "ended"]
        for old in ended[: -self.keep]:
            del self.entries[old]
        self.lines.replace([{"journalId": self.id}, *self.entries.values()])

    def find(self, command_id):
        return self.entries.get(command_id)

    def write(self, entry, **changes):
        """Durable when it returns."""
        entry.update(changes)
        self.lines.append(entry)
        self.entries[entry["id"]] = entry

    def unfinished(self):
        return [entry for entry in self.entries.values() if entry["state"] != "ended"]

    def last_run(self, names=None):
        wanted = (entry for entry in reversed(self.entries.values()) if entry.get("hasRun"))
        return next((entry for entry in wanted if names is None or entry["name"] in names), None)


class Bank:
    """Another house: its book is asked after a power cut. One line an operation, by the id of the command that asked for it."""

    def __init__(self, path):
        self.lines = Lines(path)
        self.book = {line["reference"]: line for line in self.lines.records}

    def find(self, reference):
        return self.book.get(reference)

    def perform(self, reference, name, args, bani):
        outcome, report, reason, booked = self.judge(name, args, bani)
        if outcome == "done":
            line = {"reference": reference, "name": name, "outcome": outcome, "report": report, **booked}
            self.lines.append(line)
            self.book[reference] = line
        return outcome, report, reason

    def judge(self, name, args, bani):
        number = f"{len(self.book) + 1:06}"
        if name == "Pay":
            report = {"rrn": f"4073{number}", "authCode": number, "operationId": number, "amount": bani / 100, "token": f"T{number}"}
            return "done", report, None, {"bani": bani, "operationId": number}
        if name == "CloseDay":
            since = self.since_last_close()
            amount = sum(line.get("bani", 0) for line in since) / 100
            voided = {line.get("of") for line in since if line["name"] == "CancelTransaction"}
            count = sum(line["name"] == "Pay" and line["operationId"] not in voided for line in since)
            return "done", {"count": count, "amount": amount}, None, {}
        payment = next((line for line in self.book.values() if line.get("operationId") == args.get("operationId")), None)
        if payment is None:
            return "refused", None, "The bank knows no such operation.", {}
        if name == "CloseDoc":
            return "done", {}, None, {}
        left = payment["bani"] + sum(line["bani"] for line in self.book.values() if line.get("of") == payment["operationId"])
        if bani > left or (name == "CancelTransaction" and bani != left):
            return "refused", None, "That much was not paid, or was given back before.", {}
        report = {"operationId": number, "amount": bani / 100}
        report |= {"rrn": f"4073{number}"} if name == "Refund" else {"operationId": payment["operationId"]}
        return "done", report, None, {"bani": -bani, "of": payment["operationId"]}

    def since_last_close(self):
        lines = list(self.book.values())
        last = max((index for index, line in enumerate(lines) if line["name"] == "CloseDay"), default=-1)
        return [line for line in lines[last + 1 :] if "bani" in line]
