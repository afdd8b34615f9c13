import assert from 'node:assert/strict';
import fc from 'fast-check';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { RawChain } from '../../../src/coin/node/raw-chain.ts';
import { PlatformError } from '../../../src/errors.ts';
import { writeTransaction } from '../../../test/support/coin/raw-writer.ts';
import { hostileAnswer } from '../support/hostile-answer.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { outcome, target } from '../support/target.ts';

const { bytes: transaction, txid: TXID } = writeTransaction({
  inputs: [{ txid: 'ab'.repeat(32), vout: 1, script: Buffer.from('02abcd', 'hex') }],
  outputs: [{ amount: 5n, script: Buffer.from('6a0101', 'hex') }],
  witnesses: []
});
const HASH = 'ee'.repeat(32);
const INFO = { chain: 'regtest', blocks: 5, bestblockhash: 'ee'.repeat(32), verificationprogress: 0.5 };

interface Ask {
  readonly specimen: unknown;
  readonly ask: (chain: NodeChain, raw: RawChain) => Promise<void>;
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
  hashes: {
    specimen: [{ id: 0, result: HASH, error: null }],
    ask: async (_, raw) => {
      for (const hash of await raw.hashes(5, 1)) assert.match(hash, /^[0-9a-f]{64}$/);
    }
  },
  block: {
    specimen: [{ id: 0, result: '0011', error: null }],
    ask: async (_, raw) => assert.ok((await raw.smallBlocks([HASH]))?.every(({ length }) => length > 0))
  },
  transaction: {
    specimen: [{ id: 0, result: transaction.toString('hex'), error: null }],
    ask: async (_, raw) => assert.deepEqual(await raw.transactions([TXID]), [transaction])
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
  return { peer, rpc, chain: new NodeChain(rpc), raw: new RawChain(rpc, { blocks: false, spentOutputs: false }) };
};
let line: ReturnType<typeof open> | undefined;

const httpAnswer = (to: string, text: string): Answer => ({
  to,
  bytes: Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
});
const answer = (to: string, result: string) => httpAnswer(to, `{"result":${result},"error":null,"id":1}`);
const batched = (to: string, answers: readonly object[]) => httpAnswer(to, JSON.stringify(answers));

export const nodeAnswers = target<Answer>({
  name: 'node-answers',
  promise: 'an answer of a coin node is refused with NODE_*, or is what was asked for',
  runs: 2_500,
  shortRuns: 250,
  inputs: fc.constantFrom(...Object.keys(ASKS)).chain((to) =>
    fc
      .constantFrom<unknown>(
        { result: ASKS[to]!.specimen, error: null, id: 1 },
        { result: ASKS[to]!.specimen },
        ASKS[to]!.specimen,
        { error: { code: -8, message: 'x' } }
      )
      .chain(hostileAnswer)
      .map((bytes) => ({ to, bytes }))
  ),
  check: async ({ to, bytes }) => {
    line ??= open();
    const { peer, chain, raw } = await line;
    peer.answer = bytes;
    const found = await outcome(() => ASKS[to]!.ask(chain, raw), ['NODE_UNREACHABLE', 'NODE_REFUSED']);
    if ('refused' in found) assert.ok(!(found.refused.cause instanceof PlatformError));
  },
  growing: {
    nesting: (length) => answer('tip', '['.repeat(length)),
    answers: (length) =>
      batched(
        'hashes',
        Array.from({ length: length / 20 }, (_, id) => ({ id }))
      ),
    hex: (length) => batched('block', [{ id: 0, result: '00'.repeat(length / 2) }]),
    digits: (length) => answer('tip', JSON.stringify(INFO).replace('0.5', '1'.repeat(length)))
  },
  close: async () => {
    if (!line) return;
    const { peer, rpc } = await line;
    line = undefined;
    await rpc.close();
    await peer.close();
  }
});
