"""Verifies the exported log of a hub, independently of the product.

Reads the lines of `platform-node federation export` from standard input and prints a JSON object: `set`, the id of the set; `digests`,
those of the batches by their places; and `line`, the first line with a fault, 0 for a log that ends too early, null for none. Each batch
must name the digest of the one before and have the commits of a quorum; each operation must be its submitter's next one; a checkpoint must
have the signatures of a quorum, and the state that they name. Whether an operation makes sense is not judged. Needs Python alone.
"""

import hashlib
import json
import re
import sys

from verify_envelopes import canonical, verify

FORM = "platform-hub-log/1"
WEEK_MS = 604800000
TIMES = ("epochStartMs", "intervalMs", "windowMs", "minSubmissions")


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Fault(Exception):
    pass


def check(holds):
    if not holds:
        raise Fault


class Log:
    def __init__(self, head):
        check(isinstance(head, dict) and head.get("form") == FORM and head.get("quorum") in ("specified", "byzantine"))
        keys = head.get("keys")
        check(isinstance(keys, list) and keys and all(re.fullmatch("[0-9a-f]{64}", str(key)) for key in keys))
        period = head.get("votingPeriodMs", WEEK_MS)
        check(isinstance(period, int))
        named = {"keys": sorted(keys), "quorum": head["quorum"]}
        if "rounds" in head:
            named["rounds"] = {name: head["rounds"][name] for name in TIMES}
        if period != WEEK_MS:
            named["votingPeriodMs"] = period
        if "log" in head:
            check(isinstance(head["log"], int))
            named["log"] = head["log"]
        self.set = sha256(canonical(named))
        self.keys = set(keys)
        faulty = (len(keys) - 1) // 3
        least = max(2 * faulty + 1, (len(keys) + 2) // 2)
        self.quorum = least if head["quorum"] == "specified" else (len(keys) + faulty + 2) // 2
        self.digests = {}
        self.next = {}
        self.last = None
        self.chunks = []

    def is_signed(self, kind, key, value, sig):
        if key not in self.keys or not re.fullmatch("[0-9a-f]{128}", sig):
            return False
        text = f"platform-hub {kind}\n{self.set}\n{canonical(value)}"
        return verify(bytes.fromhex(key), text.encode(), bytes.fromhex(sig))

    def signers(self, votes):
        return {vote["sender"] for vote in votes if self.is_signed("message", vote["sender"], vote["message"], vote["sig"])}

    def batch(self, batch, votes):
        seq, digest = batch["seq"], sha256(canonical(batch))
        check(self.last is None or seq == self.last + 1)
        before = "" if seq == 1 else self.digests.get(seq - 1, batch["previous"])
        check(batch["previous"] == before)
        wanted = {"kind": "commit", "view": votes[0]["message"]["view"], "seq": seq, "digest": digest}
        same = [vote for vote in votes if {name: vote["message"].get(name) for name in wanted} == wanted]
        check(len(self.signers(same)) >= self.quorum)
        for operation in batch["operations"]:
            submitter, number = operation["submitter"], operation["number"]
            check(number == self.next.get(submitter, number))
            unsigned = {name: operation[name] for name in ("submitter", "number", "body")}
            check(self.is_signed("operation", submitter, unsigned, operation["sig"]))
            self.next[submitter] = number + 1
        self.digests[seq] = digest
        self.last = seq

    def state(self, stable, manifest):
        wanted = {name: stable[name] for name in ("seq", "digest", "state")}
        same = [vote for vote in stable["votes"] if {name: vote["message"].get(name) for name in wanted} == wanted]
        check(stable["seq"] > 0 and len(self.signers(same)) >= self.quorum)
        check(self.digests.get(stable["seq"], stable["digest"]) == stable["digest"])
        check(sha256(manifest) == stable["state"])
        self.chunks = list(json.loads(manifest)["chunks"])

    def line(self, line):
        if "committed" in line:
            check(sorted(line["committed"]) == ["batch", "votes"])
            self.batch(**line["committed"])
        elif "stable" in line:
            self.state(line["stable"], line["manifest"])
        else:
            check(self.chunks and sha256(line["chunk"]) == self.chunks.pop(0))


def main():
    log, count = None, 0
    for text in sys.stdin:
        count += 1
        try:
            line = json.loads(text)
            if log is None:
                log = Log(line)
            else:
                log.line(line)
        except (Fault, KeyError, TypeError, ValueError, IndexError, AttributeError):
            return log, count
    return log, 0 if log is None or log.chunks else None


if __name__ == "__main__":
    found, fault = main()
    digests = [] if found is None else [list(each) for each in found.digests.items()]
    print(json.dumps({"set": found and found.set, "digests": digests, "line": fault}))
