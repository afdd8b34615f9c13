import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isQuorum, signedWeight } from '../../../src/consensus/quorum.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import { askHashes } from '../../../src/replication/client/ask-hashes.ts';
import { readLoggedHashes } from '../../../src/replication/client/logged-hashes.ts';
import { SourceClient } from '../../../src/replication/client/source-client.ts';
import { parseCreateTable } from '../../../src/replication/ddl/create-table-parser.ts';
import { planSchema } from '../../../src/replication/ddl/schema-writer.ts';
import { DIGEST_ALGORITHM } from '../../../src/wire/data/digest.ts';
import { hostileAnswer } from '../support/hostile-answer.ts';
import { beyondGrammar } from '../support/printed-grammar.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { outcome, target } from '../support/target.ts';

const HASHES = { ledger_hash: 'aa', actions_hash: 'bb', contract_hash: null };
const KEY = 'ab'.repeat(16);
const HEAD = { block_height: 9, ...HASHES, fingerprint: 'ff', algorithm: DIGEST_ALGORITHM, key: KEY };
const TYPED = parseCreateTable('t', 'CREATE TABLE `t` (`a` int(11) NOT NULL, `b` text, PRIMARY KEY (`a`))');
const TABLE = 'CREATE TABLE `u` (`a` int(11) DEFAULT 5) ENGINE=InnoDB';
const SCHEMA = { chain: 'c', network: 'n', dbType: 'indexer', tables: { u: TABLE } };
const CHECKPOINT = {
  chain: 'bitcoin',
  network: 'regtest',
  block_index: 9,
  block_hash: 'dd',
  ...HASHES,
  checkpoint_seq: 1,
  snapshot_block: null,
  state_root: 'ee',
  state_root_version: 1,
  block_merkle_root: null,
  block_merkle_version: null,
  validator_signatures: [{ pubkey: 'ab'.repeat(32), sig: 'cd'.repeat(64) }]
};
const VALIDATORS = [{ pubkey: 'ab'.repeat(32), weight: 2, source: 'a' }];
const RANGE = { from: 0, to: 9, block: null };

/** A question to a source, an answer to it as it should be, and what is true of all that is taken. */
interface Ask {
  readonly specimen: unknown;
  readonly ask: (source: SourceClient, signal: AbortSignal) => Promise<unknown>;
}

const isHeight = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

const ASKS: Readonly<Record<string, Ask>> = {
  status: {
    specimen: { ...HEAD, index_map: { max_id: 5, sha256: 'ab'.repeat(32) } },
    ask: async (source, signal) => {
      const { height } = await source.status(signal);
      assert.ok(height === null || isHeight(height));
    }
  },
  statusTree: {
    specimen: { bitcoin: { regtest: { indexer: HEAD } } },
    ask: (source, signal) => source.statusTree(signal)
  },
  size: {
    specimen: {
      databases: [{ coin: 'bitcoin', network: 'regtest', dbType: 'indexer', total_bytes: 5, row_estimate: 6 }]
    },
    ask: async (source, signal) => {
      const size = await source.size(signal);
      assert.ok(size === null || isHeight(size.bytes));
    }
  },
  schema: {
    specimen: { ...SCHEMA, typed: [{ ...TYPED, class: 'mutable' }], fingerprint: 'ff' },
    ask: async (source, signal) => plan(await source.schema(signal))
  },
  texts: { specimen: SCHEMA, ask: async (source, signal) => plan(await source.schema(signal)) },
  hashes: { specimen: { block_height: 8, ...HASHES }, ask: (source, signal) => askHashes(source, 9, signal) },
  logPage: {
    specimen: { results: [{ block_index: 5, ...HASHES }] },
    ask: (source, signal) => readLoggedHashes(source, 5, signal)
  },
  dispensers: {
    specimen: { schema_version: 3, max_tx: 5, max_addr: '9007199254740993', has_more: false, rows: [{ a: 1 }] },
    ask: async (source, signal) => {
      const { height, rows } = await source.dispensers(signal);
      assert.ok(Array.isArray(rows) && (height === null || isHeight(height)));
    }
  },
  checkpoint: {
    specimen: CHECKPOINT,
    ask: async (source, signal) => {
      const found = await source.latestCheckpoint(signal);
      if (found === null) return;
      const { validator_signatures: signatures, ...record } = found;
      assert.equal(isQuorum(signedWeight(record, signatures, VALIDATORS)), false);
    }
  },
  digestKey: { specimen: HEAD, ask: (source, signal) => source.digestKey(signal) },
  digest: {
    specimen: { ...HEAD, tables: [{ table: 't', class: 'mutable', rows: 5, digest: '12' }] },
    ask: async (source, signal) => {
      for (const { rows, digest } of (await source.digest(KEY, signal)).tables)
        assert.ok(isHeight(rows) && BigInt(digest) >= 0n);
    }
  },
  ranges: {
    specimen: { ...HEAD, table: 't', rows: 5, digest: '12', ranges: [{ from: -1, to: 3, rows: 5, digest: '12' }] },
    ask: (source, signal) => source.digestRanges('t', null, KEY, signal)
  },
  rows: {
    specimen: { ...HEAD, table: 't', rows: 5, digest: '12', data: [{ a: 1 }] },
    ask: (source, signal) => source.digestRows('t', RANGE, KEY, signal)
  },
  hashesAt: { specimen: {}, ask: (source, signal) => source.hashesAt(5, signal) },
  heartbeat: {
    specimen: { ok: true },
    ask: (source, signal) =>
      source.heartbeat({ validator_id: 'v', applied_height: 1, applied_block_time: null }, signal)
  }
};

function plan(record: Parameters<typeof planSchema>[0]): void {
  for (const { table, ddl } of planSchema(record, 'indexer', []).tables)
    for (const statement of [ddl.create, ...ddl.afterLoad]) assert.equal(beyondGrammar(table.name, statement), null);
}

interface Answer {
  readonly to: string;
  readonly bytes: Uint8Array;
}

const REFUSALS: readonly ErrorCode[] = [
  'SOURCE_INVALID',
  'SOURCE_REFUSED',
  'SOURCE_UNREACHABLE',
  'SCHEMA_REFUSED',
  'RANGE_TOO_LARGE',
  'DIGEST_KEY_UNKNOWN'
];

const opened = async () => {
  const peer = await RawPeer.open();
  const id = { dbType: 'indexer', chain: 'bitcoin', network: 'regtest' } as const;
  return { peer, source: new SourceClient(`http://127.0.0.1:${peer.port}`, undefined, id) };
};
let line: ReturnType<typeof opened> | undefined;

const answer = (to: string, text: string): Answer => ({
  to,
  bytes: Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
});

export const sourceAnswers = target<Answer>({
  name: 'source-answers',
  promise: 'an HTTP answer of a source is refused by code, or is what was asked for',
  runs: 3_000,
  shortRuns: 350,
  inputs: fc
    .constantFrom(...Object.keys(ASKS))
    .chain((to) => hostileAnswer(ASKS[to]!.specimen).map((bytes) => ({ to, bytes }))),
  check: async ({ to, bytes }) => {
    line ??= opened();
    const { peer, source } = await line;
    peer.answer = bytes;
    const signal = AbortSignal.timeout(20_000);
    await outcome(() => ASKS[to]!.ask(source, signal), REFUSALS);
    assert.equal(signal.aborted, false, 'it was still being asked after 20 seconds');
  },
  growing: {
    'a checkpoint': (length) => answer('checkpoint', JSON.stringify({ ...CHECKPOINT, more: 'x'.repeat(length) })),
    'a nested checkpoint': (length) =>
      answer('checkpoint', JSON.stringify(CHECKPOINT).replace('"dd"', '['.repeat(length))),
    signatures: (length) => {
      const signatures = Array.from({ length: length / 100 }, () => CHECKPOINT.validator_signatures[0]);
      return answer('checkpoint', JSON.stringify({ ...CHECKPOINT, validator_signatures: signatures }));
    },
    'what an error says': (length) => ({
      to: 'status',
      bytes: Buffer.from(`HTTP/1.1 500 x\r\ncontent-length: ${length}\r\n\r\n${'"error" '.repeat(length / 8)}`)
    }),
    tables: (length) => {
      const texts = Array.from({ length: length / 100 }, (_, at) => [`t${at}`, TABLE.replace('u', `t${at}`)]);
      return answer('texts', JSON.stringify({ ...SCHEMA, tables: Object.fromEntries(texts) }));
    }
  },
  close: async () => {
    if (!line) return;
    const { peer, source } = await line;
    line = undefined;
    await source.close();
    await peer.close();
  }
});
