import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseEncoding, ENCODINGS, type EncodingFacts } from '../../../src/encoder/transaction/encodings.ts';

const key = Buffer.alloc(33, 2);
const FACTS: EncodingFacts = {
  frameBytes: 76,
  sender: { keyHash: Buffer.alloc(20), publicKey: key, address: 'rltc1q', isSegwit: true, covers: 'own amount' },
  relay: { dataCarrierBytes: 83, permitsBareMultisig: true },
  active: { segwit: true, envelope: true },
  signer: { scripts: true, tapscript: true }
};
const long = { ...FACTS, frameBytes: 77 };

test('AUTO: by size, by what the node relays, and by what the signer can', () => {
  const auto = (facts: EncodingFacts) => chooseEncoding('AUTO', facts);
  assert.equal(auto(FACTS), 'OP_RETURN');
  assert.equal(auto({ ...FACTS, relay: { ...FACTS.relay, dataCarrierBytes: 0 } }), 'TAPROOT');
  assert.equal(auto({ ...long, relay: { ...FACTS.relay, dataCarrierBytes: 9_000 } }), 'OP_RETURN');
  assert.equal(auto(long), 'TAPROOT');
  assert.equal(auto({ ...long, signer: { scripts: true, tapscript: false } }), 'P2WSH');
  assert.equal(auto({ ...long, active: { segwit: false, envelope: false } }), 'P2SH');
  assert.equal(auto({ ...long, signer: { scripts: false, tapscript: false } }), 'MULTISIGN');
});

test('absent: P2SH where one output does not do, as clients in use expect', () => {
  assert.equal(chooseEncoding(undefined, FACTS), 'OP_RETURN');
  assert.equal(chooseEncoding(undefined, long), 'P2SH');
  assert.equal(chooseEncoding(undefined, { ...long, signer: { scripts: false, tapscript: true } }), 'TAPROOT');
});

test('a node that relays no OP_RETURN would refuse the second transaction of P2SH and P2WSH: neither is chosen', () => {
  const without = (dataCarrierBytes: number) => ({ ...FACTS, relay: { ...FACTS.relay, dataCarrierBytes } });
  const none = without(0);
  assert.equal(chooseEncoding(undefined, none), 'TAPROOT');
  const plain = { ...none, signer: { scripts: true, tapscript: false } };
  assert.equal(chooseEncoding('AUTO', plain), 'MULTISIGN');
  assert.throws(() => chooseEncoding('P2SH', none), {
    message: /second transaction .* of 10 bytes and the node relays 0/
  });
  assert.equal(chooseEncoding('P2SH', without(10)), 'P2SH');
  assert.throws(() => chooseEncoding('P2WSH', without(10)), { code: 'ENCODING_UNAVAILABLE' });
});

test('a plain address whose key is not known gets no P2WSH: with an uncompressed key nobody relays its reveal', () => {
  const sender = { ...FACTS.sender, isSegwit: false, covers: 'no amount' } as const;
  const plain = { ...long, signer: { scripts: true, tapscript: false }, sender };
  const keyless = { ...plain, sender: { ...plain.sender, publicKey: null } };
  assert.equal(chooseEncoding('AUTO', plain), 'P2SH', 'as its clients expect');
  assert.equal(chooseEncoding('AUTO', { ...plain, sender: { ...sender, covers: 'own amount' } }), 'P2WSH', 'nested');
  assert.equal(chooseEncoding('P2WSH', plain), 'P2WSH');
  assert.equal(chooseEncoding('AUTO', keyless), 'P2SH');
  assert.equal(chooseEncoding('AUTO', { ...plain, signer: long.signer }), 'TAPROOT');
  assert.equal(chooseEncoding('AUTO', { ...keyless, signer: long.signer }), 'P2SH', 'a leaf needs the key');
  assert.throws(() => chooseEncoding('P2WSH', keyless), {
    message: /may be an uncompressed one: send compressedPubKey/
  });
});

test('a taproot key that begins with 02 may be half known: scripts of its hash are made when they are named, or it is whole', () => {
  const sender = { ...FACTS.sender, address: 'rltc1p', covers: 'all amounts' } as const;
  const unsaid = { ...long, sender, signer: { scripts: undefined, tapscript: false } };
  for (const wanted of ['AUTO', undefined] as const)
    assert.throws(() => chooseEncoding(wanted, unsaid), {
      message:
        /P2SH: the first byte of the key of rltc1p cannot be checked.*MULTISIGN: the first byte .* name MULTISIGN/
    });
  for (const named of ['P2SH', 'MULTISIGN'] as const)
    assert.equal(chooseEncoding(named, unsaid), named, 'with a warning');
  assert.equal(chooseEncoding('AUTO', { ...unsaid, signer: { scripts: true, tapscript: false } }), 'P2WSH');
  const odd = { ...sender, publicKey: Buffer.alloc(33, 3) };
  assert.equal(chooseEncoding('AUTO', { ...unsaid, sender: odd }), 'P2WSH', 'who writes 03 knows it');
});

test('ENCODING_UNAVAILABLE: each encoding says why; AUTO says it of all', () => {
  const nothing: EncodingFacts = {
    ...long,
    sender: { ...FACTS.sender, publicKey: null },
    relay: { dataCarrierBytes: 83, permitsBareMultisig: false },
    active: { segwit: false, envelope: false },
    signer: { scripts: false, tapscript: false }
  };
  const reasons = {
    OP_RETURN: /the script takes 84 bytes and the node relays 83/,
    TAPROOT: /do not count on this network/,
    P2WSH: /no segwit/,
    P2SH: /signerSupportsScripts is false/,
    MULTISIGN: /does not relay bare multisig/
  };
  for (const encoding of ENCODINGS) {
    assert.throws(() => chooseEncoding(encoding, nothing), {
      code: 'ENCODING_UNAVAILABLE',
      message: reasons[encoding]
    });
    assert.throws(() => chooseEncoding('AUTO', nothing), { message: reasons[encoding] });
  }
  const keyless = { ...long, sender: { ...FACTS.sender, publicKey: null, keyHash: null } };
  for (const encoding of ['TAPROOT', 'P2WSH', 'P2SH', 'MULTISIGN'] as const)
    assert.throws(() => chooseEncoding(encoding, keyless), { message: /public key of rltc1q is not known/ });
});
