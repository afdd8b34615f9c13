"""Writes payload-vectors.json beside it: payloads made by openssl, with no code of this project.

Run: python3 test/unit/coin/payload-vectors.py
"""
import json
import pathlib
import subprocess

CASES = [
    ("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "SEND|0|GOLD|1|addr", None, "PNOD"),
    ("f" * 64, "ISSUE|0|ÜBER|21000000", None, "ABCD"),
    ("0123456789abcdef" * 4, "MINT|" + "x" * 70, None, "PNOD"),
    ("0123456789abcdef" * 4, "MINT|" + "x" * 71, None, "PNOD"),
    ("deadbeef" * 8, "FILE|" + "y" * 250, bytes(range(256)), "PNOD"),
    ("deadbeef" * 8, "FILE|" + "z" * 251, b"\x05", "WXYZ"),
]


def push(data):
    if len(data) <= 75:
        return bytes([len(data)]) + data
    if len(data) <= 255:
        return b"\x4c" + bytes([len(data)]) + data
    return b"\x4d" + len(data).to_bytes(2, "little") + data


def encrypt(txid, clear):
    key, counter = txid[:16].encode().hex(), txid[16:32].encode().hex()
    command = ["openssl", "enc", "-aes-128-ctr", "-K", key, "-iv", counter]
    return subprocess.run(command, input=clear, capture_output=True, check=True).stdout


vectors = [
    {
        "firstInputTxid": txid,
        "action": action,
        "rawDataHex": raw.hex() if raw else None,
        "magic": magic,
        "payloadHex": encrypt(txid, magic.encode() + push(action.encode()) + (push(raw) if raw else b"")).hex(),
    }
    for txid, action, raw, magic in CASES
]
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(vectors, indent=2, ensure_ascii=False) + "\n")
