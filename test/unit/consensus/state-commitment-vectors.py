"""Writes state-commitment-vectors.json beside it: roots by the definition, level by level, with no code of this project.

Run: python3 test/unit/consensus/state-commitment-vectors.py
"""
import hashlib
import json
import pathlib
from decimal import Decimal


def sha(data):
    return hashlib.sha256(data).digest()


def leaf(data):
    return sha(b"\x00" + data)


def node(left, right):
    return sha(b"\x01" + left + right)


def join(*fields):
    return b"\x00".join(str(field).encode() for field in fields)


def empties(domain):
    found = [sha(b"\x02" + f"{domain}_EMPTY_LEAF".encode())]
    for _ in range(256):
        found.append(node(found[-1], found[-1]))
    return found


def balances_root(domain, chain, network, balances):
    """All 256 levels, from the leaves up: each level is a map from the number of a node to its hash."""
    empty = empties(domain)
    level = {}
    for address, tick, amount in balances:
        if Decimal(amount) == 0:
            continue
        path = int.from_bytes(sha(join(f"{domain}_BAL", chain, network, address, tick)), "big")
        level[path] = leaf(f"{Decimal(amount):.18f}".encode())
    for height in range(256):
        parents = {}
        for number in {number >> 1 for number in level}:
            pair = (level.get(2 * number + side, empty[height]) for side in (0, 1))
            parents[number] = node(*pair)
        level = parents
    return level.get(0, empty[256]).hex()


def block_root(domain, ledger, actions):
    nodes = []
    for kind in ("credits", "debits", "escrows"):
        rows = sorted(ledger.get(kind, []), key=lambda r: (r[0], r[1].encode(), r[2].encode(), r[3].encode()))
        nodes += [leaf(join("L", kind, *row)) for row in rows]
    for index, tx, action in sorted(actions):
        nodes.append(leaf(join("A", index, "" if tx is None else tx, action)))
    width = 1
    while width < len(nodes):
        width *= 2
    nodes += [empties(domain)[0]] * (width - len(nodes))
    while len(nodes) > 1:
        nodes = [node(nodes[i], nodes[i + 1]) for i in range(0, len(nodes), 2)]
    return nodes[0].hex()


def state_root(domain, balances, block, ledger, actions, contract, state):
    return leaf(join(f"{domain}_STATE", balances, block, ledger, actions, contract, state or "")).hex()


STATES = [
    ["PLATFORM", *[digit * 64 for digit in "123456"]],
    ["OTHER", *[digit * 64 for digit in "abcde"], None],
]
BALANCES = [
    ["PLATFORM", "litecoin", "regtest", []],
    ["PLATFORM", "litecoin", "regtest", [["addr", "GOLD", "0"], ["addr", "LEAD", "0.000"]]],
    ["PLATFORM", "litecoin", "regtest", [["addr", "GOLD", "1"]]],
    ["PLATFORM", "litecoin", "regtest", [["addr", "GOLD", "1"], ["addr", "LEAD", "0"], ["bddr", "GOLD", "21000000.5"]]],
    ["OTHER", "bitcoin", "mainnet", [["addr", "GOLD", "1"]]],
    ["PLATFORM", "dogecoin", "testnet", [["", "ÜBER ☃ 🚀", "0.000000000000000001"], ["x" * 120, "y" * 250, "9" * 40 + ".5"]]],
    ["PLATFORM", "litecoin", "mainnet", [[f"address {i % 71}", f"tick {i}", f"{i}.{i:018d}"] for i in range(300)]],
]
LEDGER = {
    "credits": [[10, "b", "GOLD", "5"], [9, "b", "GOLD", "5"], [10, "B", "GOLD", "5"], [10, "b", "GOLD", "10"], [10, "b", "GOLD", "5"]],
    "debits": [[9, "a", "ÜBER", "5.50"], [9, "a", "Z", "5.50"]],
    "escrows": [[100000000000000000000, "", "GOLD", "1"]],
}
BLOCKS = [
    ["PLATFORM", {}, []],
    ["PLATFORM", {"debits": [[1, "a", "GOLD", "5"]]}, []],
    ["PLATFORM", LEDGER, []],
    ["OTHER", LEDGER, [[10, 4, "SEND"], [9, 3, "MINT"], [11, None, "REFUND"]]],
]

vectors = {
    "balances": [[*case, balances_root(*case)] for case in BALANCES],
    "blocks": [[*case, block_root(*case)] for case in BLOCKS],
    "states": [[*case, state_root(*case)] for case in STATES],
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(vectors, ensure_ascii=False, separators=(",", ":")) + "\n")
