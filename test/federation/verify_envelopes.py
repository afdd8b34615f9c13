"""Verifies signed envelopes of hubs, independently of the product.

Reads a JSON list of envelopes from standard input and prints a JSON list of booleans: whether each one has the six fields and the
signature of its sender. With the argument `sign` it reads envelopes without sender and signature, each with a `seed`, and prints them
signed. Needs Python alone. Ed25519 is written after RFC 8032, section 5.1; canonical JSON after RFC 8785.
"""

import hashlib
import json
import re
import sys

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)


def recover_x(y, sign):
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if square == 0:
        return None if sign else 0
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * SQRT_OF_MINUS_1 % P
    if (x * x - square) % P != 0:
        return None
    return P - x if (x & 1) != sign else x


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def add(one, other):
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c = 2 * one[3] * other[3] * D % P
    d = 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(number, point):
    result = (0, 1, 1, 0)
    while number > 0:
        if number & 1:
            result = add(result, point)
        point = add(point, point)
        number >>= 1
    return result


def equal(one, other):
    return (one[0] * other[2] - other[0] * one[2]) % P == 0 and (one[1] * other[2] - other[1] * one[2]) % P == 0


def decode(raw):
    number = int.from_bytes(raw, "little")
    sign = number >> 255
    y = number & ((1 << 255) - 1)
    x = recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


def verify(public, message, signature):
    key, first = decode(public), decode(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or first is None or scalar >= L:
        return False
    digest = hashlib.sha512(signature[:32] + public + message).digest()
    return equal(times(scalar, BASE), add(first, times(int.from_bytes(digest, "little") % L, key)))


def encode(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def sign(seed, message):
    """Returns the public key of a seed, and its signature of a message."""
    secret = bytearray(hashlib.sha512(seed).digest())
    secret[0] &= 248
    secret[31] = secret[31] & 127 | 64
    scalar, prefix = int.from_bytes(secret[:32], "little"), bytes(secret[32:])
    public = encode(times(scalar, BASE))
    nonce = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % L
    first = encode(times(nonce, BASE))
    factor = int.from_bytes(hashlib.sha512(first + public + message).digest(), "little")
    return public, first + ((nonce + factor * scalar) % L).to_bytes(32, "little")


def canonical(value):
    """Numbers of the vectors are whole or have few digits, where Python prints them as ECMAScript does."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(each) for each in value) + "]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def is_genuine(envelope):
    if not isinstance(envelope, dict) or sorted(envelope) != ["data", "id", "sender", "sig", "timestamp", "type"]:
        return False
    if not re.fullmatch("[0-9a-f]{64}", envelope["sender"]) or not re.fullmatch("[0-9a-f]{128}", envelope["sig"]):
        return False
    return verify(bytes.fromhex(envelope["sender"]), signed_bytes(envelope), bytes.fromhex(envelope["sig"]))


def signed_bytes(envelope):
    parts = [f'"{name}":{canonical(envelope[name])}' for name in ("id", "type", "sender", "timestamp", "data")]
    return ("{" + ",".join(parts) + "}").encode()


def signed(envelope):
    seed = bytes.fromhex(envelope.pop("seed"))
    envelope["sender"] = sign(seed, b"")[0].hex()
    return {**envelope, "sig": sign(seed, signed_bytes(envelope))[1].hex()}


if __name__ == "__main__":
    of_each = signed if sys.argv[1:] == ["sign"] else is_genuine
    print(json.dumps([of_each(each) for each in json.load(sys.stdin)]))
