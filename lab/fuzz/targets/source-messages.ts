import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { type WebSocket, WebSocketServer } from 'ws';
import { SourceClient } from '../../../src/replication/client/source-client.ts';
import { Subscription } from '../../../src/replication/client/subscription.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';
import { hostileJson, hostileText, jsonLike, mutated } from '../support/hostile.ts';
import { outcome, target } from '../support/target.ts';

const ID: DatabaseId = { dbType: 'indexer', chain: 'bitcoin', network: 'regtest' };
const HASHES = { ledger_hash: 'aa', actions_hash: 'bb', contract_hash: null };
const BLOCK = {
  type: 'block',
  ...ID,
  schema_version: 7,
  block_index: 5,
  block_time: 1_700_000_000,
  ...HASHES,
  group: { first: 5, last: 5 },
  previous_hash: HASHES,
  balances_root: 'cc',
  data: { blocks: [{ block_index: 5, note: { deep: [1, null] } }], sends: [] },
  updated_rows: { balances: [{ id: 1 }] },
  deleted_rows: { orders: [{ id: 2 }] },
  ranges: { sends: { column: 'block_index', spans: [[3, 4], null], rows: [{ block_index: 3 }] } },
  schema_fingerprint: 'ff'
};
const STATUS = { type: 'status', ...ID, block_height: 5, block_time: null, ...HASHES };
const REORG = { type: 'reorg', ...ID, block_index: 4 };

interface Message {
  readonly bytes: Uint8Array;
  readonly binary: boolean;
}

interface Line {
  readonly server: WebSocketServer;
  readonly peer: WebSocket;
  readonly source: SourceClient;
  readonly stream: Subscription;
}
let line: Promise<Line> | undefined;

async function open(): Promise<Line> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const connected = once(server, 'connection');
  const source = new SourceClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, undefined, ID);
  const stream = await Subscription.open(source);
  return { server, peer: ((await connected) as [WebSocket])[0], source, stream };
}

const specimens = fc.oneof(
  fc.constantFrom<object>(BLOCK, BLOCK, STATUS, REORG),
  fc
    .tuple(hostileText, hostileText, fc.constantFrom<unknown>([], {}, null, 5, [5], [[]]))
    .map(([one, other, rows]) => ({
      ...BLOCK,
      data: { [one]: rows, blocks: [] },
      ranges: { [other]: [], [one]: { column: other, spans: [[5, 5]], rows } }
    }))
);
const isHeight = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const message = (text: string): Message => ({ bytes: Buffer.from(text), binary: false });

export const sourceMessages = target<Message>({
  name: 'source-messages',
  promise: 'a message of a source is refused with SOURCE_INVALID, or is one of the contract about this database',
  runs: 5_000,
  shortRuns: 750,
  inputs: fc.oneof(
    { weight: 6, arbitrary: jsonLike(specimens).map(message) },
    { weight: 1, arbitrary: hostileJson.map((text) => message(JSON.stringify(BLOCK).replace('null', text))) },
    {
      weight: 1,
      arbitrary: mutated(specimens.map((value) => Buffer.from(JSON.stringify(value)))).map((bytes) => ({
        bytes,
        binary: true
      }))
    }
  ),
  check: async ({ bytes, binary }) => {
    line ??= open();
    const { peer, stream } = await line;
    peer.send(bytes, { binary });
    const found = await outcome(() => stream.next(10_000, AbortSignal.timeout(20_000)), ['SOURCE_INVALID']);
    assert.equal(stream.fault, undefined);
    if ('refused' in found) return;
    const { value } = found;
    assert.ok(value, 'no message came');
    assert.deepEqual([value.dbType, value.chain, value.network], [ID.dbType, ID.chain, ID.network]);
    if (value.type === 'status') return;
    assert.ok(isHeight(value.block_index));
    if (value.type === 'reorg' || value.type === 'settled') return;
    for (const rows of [value.type === 'block' ? value.data : {}, value.updated_rows ?? {}, value.deleted_rows ?? {}])
      for (const [table, list] of Object.entries(rows)) assert.ok(Array.isArray(list), table);
    for (const { spans, rows } of Object.values(value.ranges ?? {})) {
      assert.ok(Array.isArray(rows));
      assert.ok(spans.flat().every((bound) => bound === null || Number.isInteger(bound)));
    }
  },
  growing: {
    nesting: (length) => message(JSON.stringify(BLOCK).replace('null', `${'['.repeat(length)}${']'.repeat(length)}`)),
    'open nesting': (length) => message('['.repeat(length)),
    rows: (length) =>
      message(JSON.stringify({ ...BLOCK, data: { t: Array.from({ length: length / 10 }, () => ({ a: 1 })) } })),
    tables: (length) => {
      const tables = Array.from({ length: length / 10 }, (_, at) => [`t${at}`, []]);
      return message(JSON.stringify({ ...BLOCK, data: Object.fromEntries(tables) }));
    },
    'a head without an end': (length) => message(`{"type":"block"${' '.repeat(length)}`),
    'a text': (length) => message(JSON.stringify({ ...BLOCK, ledger_hash: '\\'.repeat(length) }))
  },
  close: async () => {
    if (!line) return;
    const { server, peer, source, stream } = await line;
    line = undefined;
    stream.close();
    peer.terminate();
    await source.close();
    server.close();
    await once(server, 'close');
  }
});
