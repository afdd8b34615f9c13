import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readBlockRows } from '../../../src/coin/block-rows.ts';
import { NodeChain } from '../../../src/coin/node-chain.ts';
import { NodeRpc } from '../../../src/coin/node-rpc.ts';
import { encodePayload } from '../../../src/coin/payload.ts';
import { writePush } from '../../../src/coin/script.ts';
import { PlatformError } from '../../../src/errors.ts';
import { hostileAnswer } from '../support/hostile-answer.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { outcome, target } from '../support/target.ts';

const PARENT = 'ab'.repeat(32);
const script = Buffer.from(writePush(encodePayload(PARENT, 'COINPAY|1'))).toString('hex');
const output = { value: 1.5, n: 1, scriptPubKey: { hex: '0014', type: 'witness_v0_keyhash', address: 'rltc1q' } };
const TRANSACTION = {
  txid: 'cd'.repeat(32),
  vin: [{ txid: PARENT, vout: 1, scriptSig: { hex: '02abcd' }, txinwitness: ['30', `02${'11'.repeat(32)}`] }],
  vout: [{ value: '0.00000000', n: 0, scriptPubKey: { hex: `6a${script}`, type: 'nulldata' } }, output]
};
const BLOCK = {
  hash: 'ee'.repeat(32),
  height: 7,
  time: 1_700_000_000,
  previousblockhash: 'dd'.repeat(32),
  tx: [TRANSACTION]
};
const INFO = { chain: 'regtest', blocks: 5, bestblockhash: 'ee'.repeat(32), verificationprogress: 0.5 };

interface Ask {
  readonly specimen: unknown;
  readonly ask: (chain: NodeChain) => Promise<void>;
}

const ASKS: Readonly<Record<string, Ask>> = {
  tip: {
    specimen: INFO,
    ask: async (chain) => {
      const { height, hash } = await chain.tip();
      assert.ok(Number.isSafeInteger(height) && height >= 0 && /^[0-9a-f]{64}$/.test(hash));
    }
  },
  hash: { specimen: 'ee'.repeat(32), ask: async (chain) => assert.match(await chain.hashAt(5), /^[0-9a-f]{64}$/) },
  output: {
    specimen: TRANSACTION,
    ask: async (chain) => {
      const { value } = await chain.output(PARENT, 1);
      assert.ok(['string', 'number', 'undefined'].includes(typeof value));
    }
  },
  block: {
    specimen: BLOCK,
    ask: async (chain) => {
      const block = await chain.block(BLOCK.hash);
      const { transactions, quarantined } = await readBlockRows(block, async () => output);
      assert.ok(transactions.length + quarantined.length <= block.tx.length);
      for (const { data, pubkey, rawData, outputs } of transactions) {
        assert.match(data, /^[A-Z]+(?:\||$)/);
        assert.ok(pubkey === null || /^(?:[0-9a-f]{66}|[0-9a-f]{130})$/.test(pubkey));
        assert.ok((rawData?.length ?? 0) <= 8_192);
        for (const { amount, address } of outputs) assert.ok(amount >= 0n && address.length <= 120);
      }
      for (const { reason } of quarantined) assert.ok(reason.length < 1_000, reason);
    }
  }
};

interface Answer {
  readonly to: string;
  readonly bytes: Uint8Array;
}

const open = async () => {
  const peer = await RawPeer.open();
  const rpc = new NodeRpc({
    url: `http://127.0.0.1:${peer.port}`,
    user: 'u',
    password: 'p',
    retries: 0,
    timeoutMs: 20_000
  });
  return { peer, rpc, chain: new NodeChain(rpc) };
};
let line: ReturnType<typeof open> | undefined;

const answer = (to: string, result: string): Answer => {
  const text = `{"result":${result},"error":null,"id":1}`;
  return { to, bytes: Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`) };
};

export const nodeAnswers = target<Answer>({
  name: 'node-answers',
  promise: 'an answer of a coin node is refused with NODE_*, or its transactions are rows or quarantined',
  runs: 2_500,
  shortRuns: 500,
  inputs: fc.constantFrom(...Object.keys(ASKS), 'block', 'block', 'block').chain((to) =>
    fc
      .constantFrom<unknown>(
        { result: ASKS[to]!.specimen, error: null, id: 1 },
        { result: ASKS[to]!.specimen },
        { error: { code: -8, message: 'x' } }
      )
      .chain(hostileAnswer)
      .map((bytes) => ({ to, bytes }))
  ),
  check: async ({ to, bytes }) => {
    line ??= open();
    const { peer, chain } = await line;
    peer.answer = bytes;
    const found = await outcome(() => ASKS[to]!.ask(chain), ['NODE_UNREACHABLE', 'NODE_REFUSED']);
    if ('refused' in found) assert.ok(!(found.refused.cause instanceof PlatformError));
  },
  growing: {
    nesting: (length) => answer('tip', '['.repeat(length)),
    transactions: (length) =>
      answer('block', JSON.stringify({ ...BLOCK, tx: Array.from({ length: length / 500 }, () => TRANSACTION) })),
    'malformed inputs': (length) =>
      answer(
        'block',
        JSON.stringify({
          ...BLOCK,
          tx: [{ ...TRANSACTION, vin: Array.from({ length: length / 10 }, () => ({ txid: 5 })) }]
        })
      ),
    'a script': (length) => {
      const hex = `6a${'00'.repeat(length / 2)}`;
      return answer(
        'block',
        JSON.stringify({ ...BLOCK, tx: [{ ...TRANSACTION, vout: [{ scriptPubKey: { hex, type: 'x' } }] }] })
      );
    },
    payloads: (length) => {
      const vout = Array.from({ length: length / 100 }, () => TRANSACTION.vout[0]);
      return answer('block', JSON.stringify({ ...BLOCK, tx: [{ ...TRANSACTION, vout }] }));
    },
    digits: (length) => answer('block', JSON.stringify(BLOCK).replace('1.5', '1'.repeat(length)))
  },
  close: async () => {
    if (!line) return;
    const { peer, rpc } = await line;
    line = undefined;
    await rpc.close();
    await peer.close();
  }
});
