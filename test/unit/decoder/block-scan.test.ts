import assert from 'node:assert/strict';
import { createCipheriv, hash } from 'node:crypto';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { encodePayload } from '../../../src/coin/payload/payload.ts';
import { type RawInput, readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo, payToScript } from '../../../src/coin/script/pay-scripts.ts';
import { writePush } from '../../../src/coin/script/script.ts';
import { markOf } from '../../../src/coin/script/script-marks.ts';
import { payToLeaf } from '../../../src/coin/script/taproot.ts';
import {
  type Candidate,
  type ScannedBlock,
  type ScanRules,
  scanBlock,
  TransactionScan
} from '../../../src/decoder/block-scan.ts';
import { resolveSources } from '../../../src/decoder/sources.ts';
import { PlatformError } from '../../../src/errors.ts';
import { returnScript } from '../../support/coin/carriers.ts';
import { type TransactionParts, writeBlock, writeTransaction } from '../../support/coin/raw-writer.ts';
import { publicKeyOf } from '../../support/encoder/signer.ts';

const { addresses } = chainNetwork('bitcoin', 'regtest');
const RULES: ScanRules = {
  magic: 'TEST',
  addresses,
  coins: ['BTC', 'RBTC'],
  isMergeMined: false,
  envelopeHeight: 7,
  feeAddress: null,
  alwaysHops: false,
  revealKeyHeight: 0,
  // Nobody signs here: test/unit/coin/signed-whole.test.ts has that rule.
  signatureHeight: Number.POSITIVE_INFINITY,
  feeOnceHeight: 0,
  paymentLimitHeight: 0
};
const KEY = publicKeyOf(hash('sha256', 'a sender', 'buffer'));
const OWN = payTo({ kind: 'witnessKeyHash', bytes: hash160(KEY) });
const keyScript = (byte: string) => Buffer.from(`0014${byte.repeat(20)}`, 'hex');
const output = (script: Buffer, amount = 1_000n) => ({ amount, script });
const NO_SCRIPT = Buffer.alloc(0);

/** Transaction with the sender's coins; the next ones spend it. */
const wallet = transaction({ outputs: [output(OWN)] });
function funded(...scripts: readonly Buffer[]) {
  const outputs = [keyScript('bb'), ...scripts].map((script) => output(script));
  return transaction({ inputs: [spend(wallet.txid)], outputs });
}

function transaction(parts: Partial<TransactionParts>) {
  const whole = { inputs: [spend('ab'.repeat(32))], outputs: [], witnesses: [], ...parts };
  return { ...writeTransaction(whole), parts: whole };
}
function spend(txid: string, vout = 0, script = NO_SCRIPT): RawInput {
  return { txid, vout, script };
}

/** Rows of a block with these transactions, where the chain holds the others; the same where a node says what the block spends. */
async function decode(
  payment: readonly { readonly parts: TransactionParts }[],
  chain: readonly { readonly txid: string; readonly bytes: Buffer }[],
  rules = RULES,
  height = 7,
  wanted: readonly Buffer[] = []
) {
  const { bytes, hash } = writeBlock({ previousHash: '', time: 5, transactions: payment.map(({ parts }) => parts) });
  const bytesOf = (txid: string) => chain.find((each) => each.txid === txid)?.bytes;
  const scanned = scanBlock(bytes, { height, hash }, rules, new Set(wanted.map((script) => markOf(script))));
  const resolve = async (block: ScannedBlock) => {
    const asked: string[] = [];
    const read = async (txids: readonly string[]) => {
      asked.push(...txids);
      return txids.map((txid) => bytesOf(txid)!);
    };
    const [rows] = await resolveSources([block], read, new Map(), rules);
    return { ...rows!, asked };
  };
  const found = await resolve(scanned);
  const spentScript = ({ txid, vout }: Candidate['spends']) => {
    const spent = bytesOf(txid);
    return spent ? Buffer.from(readRawTransaction(spent).output(vout)!.script) : null;
  };
  const candidates = scanned.candidates.map((each) => ({ ...each, spentScript: spentScript(each.spends) }));
  const { asked: askedLess, ...again } = await resolve({ ...scanned, candidates });
  assert.deepEqual(again.transactions, found.transactions);
  return { ...found, askedLess };
}

const encrypt = (txid: string, bytes: Uint8Array) =>
  createCipheriv('aes-128-ctr', txid.slice(0, 16), txid.slice(16, 32)).update(
    Buffer.concat([Buffer.from(RULES.magic), bytes])
  );
const say = (txid: string, action: string) => output(returnScript(encodePayload(txid, action, { magic: 'TEST' })), 0n);
const frameOf = (action: string) => Buffer.from(writePush(Buffer.from(action)));
const address = (script: Uint8Array) => addressOf(script, addresses);

test('OP_RETURN: the source is whose coins the first input spends', async () => {
  const payment = transaction({
    inputs: [spend(wallet.txid)],
    outputs: [say(wallet.txid, 'COINPAY|0|5'), output(keyScript('cc'), 5n)],
    witnesses: [[Buffer.alloc(70), KEY]]
  });
  const { transactions, findings, askedLess } = await decode([payment], [wallet]);
  assert.deepEqual([findings, askedLess], [[], []]);
  assert.deepEqual(transactions, [
    {
      hash: payment.txid,
      source: address(OWN),
      data: 'COINPAY|0|5',
      rawData: null,
      pubkey: KEY.toString('hex'),
      outputs: [{ vout: 1, address: address(keyScript('cc')), amount: 5n }],
      dispensers: { opened: [], extendedTo: null }
    }
  ]);
});

test('pubkeys: the last push of a script shows one as well', async () => {
  const script = Buffer.concat([writePush(Buffer.alloc(70)), writePush(KEY)]);
  const payment = transaction({ inputs: [spend(wallet.txid, 0, script)], outputs: [say(wallet.txid, 'SEND|0')] });
  const { transactions } = await decode([payment], [wallet]);
  assert.equal(transactions[0]?.pubkey, KEY.toString('hex'));
});

test('pubkeys: a key that is not that of the source is none of its own', async () => {
  const other = publicKeyOf(hash('sha256', 'somebody else', 'buffer'));
  const script = Buffer.concat([writePush(Buffer.alloc(70)), writePush(other)]);
  const payment = transaction({ inputs: [spend(wallet.txid, 0, script)], outputs: [say(wallet.txid, 'SEND|0')] });
  const { transactions } = await decode([payment], [wallet]);
  assert.deepEqual(
    transactions.map(({ data, pubkey }) => [data, pubkey]),
    [['SEND|0', null]]
  );
});

test('bare multisig: 60 bytes stand in the first two of three keys of each output', async () => {
  const action = `FILE|0|${'x'.repeat(100)}`;
  const frame = frameOf(action);
  const keys = (part: Buffer) => {
    const bytes = encrypt(wallet.txid, Buffer.concat([part, Buffer.alloc(60 - part.length)]));
    const halves = [bytes.subarray(0, 32), bytes.subarray(32)];
    const pushes = [...halves.map((half) => Buffer.concat([Buffer.from([2]), half])), KEY].map(writePush);
    return Buffer.concat([Buffer.from([0x51]), ...pushes, Buffer.from([0x53, 0xae])]);
  };
  const outputs = [frame.subarray(0, 60), frame.subarray(60)].map((part) => output(keys(part)));
  const payment = transaction({ inputs: [spend(wallet.txid)], outputs });
  assert.deepEqual(
    (await decode([payment], [wallet])).transactions.map(({ data }) => data),
    [action]
  );
});

test('outputs to the fee address, and of a new dispenser to its oracle, are kept; others are not', async () => {
  const [fee, oracle] = [address(keyScript('f0'))!, address(keyScript('0f'))!];
  const outputs = [keyScript('f0'), keyScript('0f'), keyScript('aa')].map((script) => output(script));
  const vouts = async (action: string, more: Partial<ScanRules> = {}) => {
    const empty = output(keyScript('ee'), 0n);
    const payment = transaction({
      inputs: [spend(wallet.txid)],
      outputs: [say(wallet.txid, action), ...outputs, empty]
    });
    const { transactions } = await decode([payment], [wallet], { ...RULES, feeAddress: fee, ...more });
    return transactions[0]?.outputs.map(({ vout }) => vout);
  };
  assert.deepEqual(await vouts('SEND|0'), [1]);
  assert.deepEqual(await vouts(`DISPENSER|0|BTC|T|1|0|10|BTC||5||USD||${oracle}|`), [1, 2]);
  assert.deepEqual(await vouts(`DISPENSER|2|BTC|T|1|0|10|BTC||5||USD||${oracle}|`), [1]);
  assert.deepEqual(await vouts('COINPAY|0|5'), [1, 2, 3]);
  assert.deepEqual(await vouts('BATCH|0|COINPAY|0|x;COINPAY|0|5'), [1, 2, 3]);
  for (const nothing of ['COINPAY|0|x', 'COINPAY|0|0', 'COINPAY|0', 'COINPAY|1|5', 'BATCH|0|COINPAY|0|x;COINPAY|9|5']) {
    assert.deepEqual(await vouts(nothing), [1], nothing);
    assert.deepEqual(await vouts(nothing, { paymentLimitHeight: 8 }), [1, 2, 3, 4], 'below the height');
  }
});

test('a payment to a wanted script has a row, also without text, with an unknown one, or without a source', async () => {
  const till = keyScript('77');
  const bare = transaction({ outputs: [output(Buffer.concat([writePush(KEY), Buffer.from('ac', 'hex')]))] });
  const paid = (txid: string, outputs: TransactionParts['outputs'] = []) =>
    transaction({ inputs: [spend(txid)], outputs: [...outputs, output(till, 5n), output(keyScript('cc'))] });
  const silent = paid(wallet.txid);
  const unknown = paid(wallet.txid, [say(wallet.txid, 'STEAL|0')]);
  const action = paid(wallet.txid, [say(wallet.txid, 'SEND|0')]);
  const nobody = paid(bare.txid, [say(bare.txid, 'SEND|0')]);
  const block = [silent, unknown, action, nobody];
  const { transactions, marks } = await decode(block, [wallet, bare], RULES, 7, [till]);
  const [sender, payment] = [address(OWN), { address: address(till), amount: 5n, isPayment: true }];
  assert.deepEqual(
    transactions.map(({ hash, source, data, outputs }) => ({ hash, source, data, outputs })),
    [
      { hash: silent.txid, source: sender, data: '', outputs: [{ vout: 0, ...payment }] },
      { hash: unknown.txid, source: sender, data: '', outputs: [{ vout: 1, ...payment }] },
      { hash: action.txid, source: sender, data: 'SEND|0', outputs: [{ vout: 1, ...payment }] },
      { hash: nobody.txid, source: '', data: '', outputs: [{ vout: 1, ...payment }] }
    ]
  );
  assert.equal(marks.filter((mark) => mark === markOf(till)).length, 4);
  assert.deepEqual(
    (await decode(block, [wallet, bare])).transactions.map(({ hash }) => hash),
    [action.txid]
  );
});

test('an output that a refused action needs is a payment where a dispenser may be', async () => {
  const till = keyScript('77');
  const bare = transaction({ outputs: [output(Buffer.concat([writePush(KEY), Buffer.from('ac', 'hex')]))] });
  const outputs = [say(bare.txid, 'COINPAY|0|1'), output(till, 5n), output(keyScript('cc'))];
  const refused = transaction({ inputs: [spend(bare.txid)], outputs });
  const { transactions } = await decode([refused], [bare], RULES, 7, [till]);
  assert.deepEqual(
    transactions.map(({ data, outputs: kept }) => [data, kept.map(({ vout }) => vout)]),
    [['', [1]]]
  );
});

/** The script that holds one chunk and pays to a key's hash. */
const chunkScript = (chunk: Buffer) =>
  Buffer.concat([writePush(chunk), Buffer.from([0x75]), payTo({ kind: 'keyHash', bytes: hash160(KEY) })]);
const SIGNATURE = Buffer.from([...Buffer.alloc(70), 1]);

for (const marker of ['p2sh', 'p2wsh'] as const) {
  test(`${marker} chunks: joined in the order of the inputs; the source is one step back`, async () => {
    const action = `FILE|0|${'y'.repeat(300)}`;
    const frame = frameOf(action);
    const chunks = [frame.subarray(0, 200), frame.subarray(200)].map(chunkScript);
    const funding = funded(...chunks.map((chunk) => payToScript(chunk, marker)));
    const revealed = chunks.map((chunk) => [SIGNATURE, KEY, chunk]);
    const payment = transaction({
      inputs: chunks.map((_, position) => {
        const pushes = Buffer.concat(revealed[position]!.map(writePush));
        return spend(funding.txid, 1 + position, marker === 'p2sh' ? pushes : NO_SCRIPT);
      }),
      outputs: [output(returnScript(encrypt(funding.txid, Buffer.from(marker))))],
      witnesses: marker === 'p2sh' ? [] : revealed
    });
    const { transactions, askedLess } = await decode([payment], [wallet, funding]);
    assert.deepEqual(
      transactions.map(({ data, source }) => ({ data, source })),
      [{ data: action, source: address(OWN) }]
    );
    assert.deepEqual(askedLess, [funding.txid, wallet.txid]);
    const paid = await decode([payment], [wallet, funding], { ...RULES, feeAddress: address(keyScript('bb'))! });
    assert.deepEqual(paid.transactions[0]?.outputs, [
      { vout: 1_000_000, address: address(keyScript('bb')), amount: 1_000n }
    ]);
  });
}

test('FEE_ONCE: of what one transaction funds, its fee is for the reveal of its first script, and for none where it says something', async () => {
  const toll = payToScript(Buffer.from('the fee is paid to a script', 'utf8'), 'p2sh');
  const chunks = ['SEND|0|A', 'SEND|0|B'].map((action) => chunkScript(frameOf(action)));
  const locks = chunks.map((chunk) => payToScript(chunk, 'p2wsh'));
  const rules = { ...RULES, feeAddress: address(toll)! };
  const paidBy = async (scripts: readonly Buffer[], more: Partial<ScanRules> = {}) => {
    const funding = transaction({ inputs: [spend(wallet.txid)], outputs: scripts.map((script) => output(script)) });
    const reveals = locks.map((lock, at) =>
      transaction({
        inputs: [spend(funding.txid, scripts.indexOf(lock))],
        outputs: [output(returnScript(encrypt(funding.txid, Buffer.from('p2wsh'))))],
        witnesses: [[SIGNATURE, KEY, chunks[at]!]]
      })
    );
    const paid = async (payment: typeof reveals) =>
      new Map(
        (await decode(payment, [wallet, funding], { ...rules, ...more })).transactions.map(({ data, outputs }) => [
          data,
          outputs.length
        ])
      );
    const fees = await paid(reveals);
    assert.deepEqual(await paid(reveals.toReversed()), new Map([...fees].reverse()), 'in any order');
    return ['SEND|0|A', 'SEND|0|B'].map((action) => fees.get(action));
  };
  const [first, second] = locks as [Buffer, Buffer];
  assert.deepEqual(await paidBy([first, second, toll]), [1, 0]);
  assert.deepEqual(await paidBy([toll, OWN, second, first]), [0, 1]);
  assert.deepEqual(await paidBy([first, second, toll, toll]), [2, 0]);
  const payment = returnScript(encrypt(wallet.txid, frameOf('SEND|0|C')));
  assert.deepEqual(await paidBy([payment, first, second, toll]), [0, 0], 'it pays for itself');
  const unknown = returnScript(encrypt(wallet.txid, frameOf('STEAL|0')));
  assert.deepEqual(await paidBy([unknown, first, second, toll]), [1, 0]);
  assert.deepEqual(await paidBy([first, second, toll], { feeOnceHeight: 8 }), [1, 1], 'below the height');
});

test('SOURCE_HOP: a spent script hash without chunks is its own source, unless history asks for the step back', async () => {
  const nested = payTo({ kind: 'witnessKeyHash', bytes: hash160(KEY) });
  const script = payToScript(nested, 'p2sh');
  const funding = funded(script);
  const payment = transaction({
    inputs: [spend(funding.txid, 1, Buffer.from(writePush(nested)))],
    outputs: [say(funding.txid, 'SEND|0')],
    witnesses: [[SIGNATURE, KEY]]
  });
  const sourceBy = async (rules: ScanRules) =>
    (await decode([payment], [wallet, funding], rules)).transactions[0]?.source;
  assert.equal(await sourceBy(RULES), address(script));
  assert.equal(await sourceBy({ ...RULES, alwaysHops: true }), address(OWN));
});

test('SOURCE_HOP: who signs a payment to a dispenser is its payer, from a height on, whoever funded the coins', async () => {
  const nested = payTo({ kind: 'witnessKeyHash', bytes: hash160(KEY) });
  const shared = Buffer.from('51', 'hex');
  const always = { ...RULES, alwaysHops: true };
  const dispenser = keyScript('cc');
  for (const inner of [nested, shared]) {
    const script = payToScript(inner, 'p2sh');
    // Paid by a stranger, newly created (nobody is one step back), and paid by an address of the same key.
    const created = transaction({ inputs: [spend('0'.repeat(64), 2 ** 32 - 1)], outputs: [output(script)] });
    const stranger = transaction({ outputs: [output(keyScript('dd'))] });
    const paid = transaction({ inputs: [spend(stranger.txid)], outputs: [output(script)] });
    const own = transaction({ inputs: [spend(wallet.txid)], outputs: [output(script)] });
    for (const [coin, funder] of [
      [created, ''],
      [paid, address(keyScript('dd'))],
      [own, address(OWN)]
    ] as const) {
      const buy = (data: readonly ReturnType<typeof output>[]) =>
        transaction({
          inputs: [spend(coin.txid, 0, Buffer.from(writePush(inner)))],
          outputs: [output(dispenser, 5n), ...data],
          witnesses: inner === nested ? [[SIGNATURE, KEY]] : []
        });
      const payerOf = async (rules: ScanRules, ...data: Parameters<typeof buy>[0]) => {
        const { transactions } = await decode([buy(data)], [stranger, wallet, created, paid, own], rules, 7, [
          dispenser
        ]);
        return transactions.map(({ source, data: action }) => [source, action]);
      };
      const itself = [[address(script), '']];
      assert.deepEqual([await payerOf(RULES), await payerOf(always)], [itself, itself]);
      const isSigner = inner === nested && coin === own;
      const action = isSigner ? [[funder, 'SEND|0']] : itself;
      assert.deepEqual(await payerOf(always, say(coin.txid, 'SEND|0')), action, 'what is left of a refused action');
      const before = { ...always, paymentLimitHeight: 8 };
      assert.deepEqual(await payerOf(before), [['', '']], 'below the height');
      const history = { ...before, revealKeyHeight: 8 };
      assert.deepEqual(await payerOf(history), [[funder, '']]);
    }
  }
});

function envelope(action: string, more: { annex?: Buffer; beside?: string } = {}) {
  const leaf = Buffer.concat([
    Buffer.from('0063', 'hex'),
    writePush(Buffer.from(RULES.magic)),
    writePush(Buffer.from([0])),
    ...[frameOf(action).subarray(0, 5), frameOf(action).subarray(5)].map(writePush),
    Buffer.from('68', 'hex'),
    writePush(KEY.subarray(1)),
    Buffer.from('ac', 'hex')
  ]);
  const controlBlock = Buffer.from([0xc1, ...KEY.subarray(1)]);
  const funding = funded(payToLeaf(leaf, controlBlock)!);
  const items = [Buffer.alloc(64), leaf, controlBlock, ...(more.annex ? [more.annex] : [])];
  const outputs = more.beside ? [say(funding.txid, more.beside)] : [output(keyScript('dd'))];
  const payment = transaction({ inputs: [spend(funding.txid, 1)], outputs, witnesses: [items] });
  return { payment, funding };
}

test('taproot envelope: from its height on, alone, without an annex; the source is one step back', async () => {
  const { payment, funding } = envelope('BROADCAST|0|in the clear');
  const { transactions } = await decode([payment], [wallet, funding]);
  assert.deepEqual(
    transactions.map(({ data, source }) => ({ data, source })),
    [{ data: 'BROADCAST|0|in the clear', source: address(OWN) }]
  );
  assert.deepEqual((await decode([payment], [wallet, funding], RULES, 6)).transactions, []);
  const annexed = envelope('SEND|0', { annex: Buffer.from('50', 'hex') });
  assert.deepEqual((await decode([annexed.payment], [wallet, annexed.funding])).transactions, []);
  const twofold = envelope('SEND|0', { beside: 'SEND|0' });
  assert.deepEqual((await decode([twofold.payment], [wallet, twofold.funding])).transactions, []);
});

test('an unknown action and text that is no UTF-8 are findings, and the former has no row', async () => {
  const broken = encrypt(wallet.txid, writePush(Buffer.from('53454e447cff', 'hex')));
  const unknown = transaction({
    inputs: [spend(wallet.txid)],
    outputs: [say(wallet.txid, `STEAL|${'x'.repeat(200)}`)]
  });
  const garbled = transaction({ inputs: [spend(wallet.txid)], outputs: [output(returnScript(broken))] });
  const { transactions, findings } = await decode([unknown, garbled], [wallet]);
  assert.deepEqual(
    transactions.map(({ data }) => data),
    ['SEND|�']
  );
  assert.deepEqual(findings, [
    { code: 'UNKNOWN_ACTION', hash: unknown.txid, reason: `STEAL|${'x'.repeat(94)}…` },
    { code: 'TEXT_NOT_UTF8', hash: garbled.txid, reason: 'SEND|�' }
  ]);
});

test('a transaction that cannot be read is quarantined as PARSE_ERROR', () => {
  const scan = new TransactionScan(7, RULES);
  const payment = readRawTransaction(
    transaction({ inputs: [spend(wallet.txid)], outputs: [say(wallet.txid, 'SEND|0')] }).bytes
  );
  const unreadable = Object.defineProperty(payment, 'outputs', {
    get: () => {
      throw new Error('no outputs');
    }
  });
  scan.visit(unreadable);
  assert.deepEqual(scan.candidates, []);
  assert.deepEqual(scan.findings, [{ code: 'PARSE_ERROR', hash: payment.txid, reason: 'no outputs' }]);
});

test('a bare key is no source; a transaction that was read once is not asked for again', async () => {
  const paid = transaction({ outputs: [output(Buffer.concat([writePush(KEY), Buffer.from('ac', 'hex')]))] });
  const first = transaction({ inputs: [spend(paid.txid)], outputs: [say(paid.txid, 'SEND|0')] });
  const change = transaction({
    inputs: [spend(wallet.txid)],
    outputs: [say(wallet.txid, 'SEND|1'), output(keyScript('ee'))]
  });
  const next = transaction({ inputs: [spend(change.txid, 1)], outputs: [say(change.txid, 'SEND|2')] });
  const { transactions, asked } = await decode([first, change, next], [paid, wallet]);
  assert.deepEqual(
    transactions.map(({ data, source }) => [data, source]),
    [
      ['SEND|1', address(OWN)],
      ['SEND|2', address(keyScript('ee'))]
    ]
  );
  assert.deepEqual(asked, [paid.txid, wallet.txid]);
});

test('NODE_REFUSED: a transaction that lacks the output which another spends', async () => {
  const payment = transaction({ inputs: [spend(wallet.txid, 9)], outputs: [say(wallet.txid, 'SEND|0')] });
  await assert.rejects(decode([payment], [wallet]), (caught) => {
    assert.ok(caught instanceof PlatformError && caught.code === 'NODE_REFUSED');
    assert.match(caught.message, /lacks an output/);
    return true;
  });
});

test('spent transactions are read, and held, for some of those that spend them at a time', async () => {
  const paid = Array.from({ length: 100 }, (_, at) => transaction({ outputs: [output(OWN), output(OWN, BigInt(at))] }));
  const known = new Map(paid.map(({ txid, bytes }) => [txid, bytes]));
  const saying = (txid: string, vout: number, text: string) =>
    transaction({
      inputs: [spend(txid, vout)],
      outputs: [output(returnScript(encodePayload(txid, `BROADCAST|0|${text}`, { magic: 'TEST' })))]
    });
  const scan = new TransactionScan(1, RULES);
  for (const vout of [0, 1])
    for (const { txid } of paid) scan.visit(readRawTransaction(saying(txid, vout, `${vout} of ${txid}`).bytes));
  const asked: number[] = [];
  const read = async (txids: readonly string[]) => {
    asked.push(txids.length);
    return txids.map((txid) => known.get(txid)!);
  };
  const nothingKept = { get: () => undefined, set: () => undefined };
  const [block] = await resolveSources([scan], read, nothingKept, RULES);
  assert.deepEqual(
    block!.transactions.map(({ data, source }) => [data, source]),
    [0, 1].flatMap((vout) => paid.map(({ txid }) => [`BROADCAST|0|${vout} of ${txid}`, addressOf(OWN, addresses)]))
  );
  assert.ok(Math.max(...asked) <= 32, `${asked.join()} transactions at once`);
});
