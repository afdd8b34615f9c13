import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows, type SqlRow } from '../../src/db/connection.ts';
import { selectList } from '../../src/db/row-codec.ts';
import { readTopology } from '../../src/db/topology.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/database.ts';
import { type Body, CompatibleClient } from '../support/compatible-client.ts';
import * as decoder from '../support/generated-decoder.ts';
import * as indexer from '../support/generated-indexer.ts';
import { createDatabase } from '../support/mariadb.ts';
import { differences, PAIR_KEY, startPair } from '../support/sync-pair.ts';
import { eventually } from '../support/sync-process.ts';

const GENERATORS = {
  indexer: { ...indexer, create: indexer.createIndexer },
  decoder: { ...decoder, create: decoder.createDecoder }
} as const;
const SIZE = { seed: 'served', blocks: 30, rows: 1500 };
/** Rows of these vanish, or change in older blocks without a key of their own, which the specification has no words for. */
const BEYOND = {
  indexer: new Set(['markets', 'capabilities', 'credits', 'delegations', 'validator_rewards']),
  decoder: new Set(['dispensers'])
} as const;
const VERSION = { indexer: 7, decoder: 3 } as const;
const HASHES = { indexer: ['ledger_hash', 'actions_hash', 'contract_hash'], decoder: ['block_hash'] } as const;
const SPECIFIED = ['type', 'chain', 'network', 'block_index', 'block_time', 'data'];
const ADDED = new Set(
  `dbType schema_version group previous_hash state_hash balances_root block_merkle_root state_root updated_rows
   deleted_rows whole rescoped schema_fingerprint`.split(/\s+/)
);
const MAX_MESSAGE_BYTES = 2 ** 20;

const asJson = (row: SqlRow): string =>
  JSON.stringify(row, (_, value: unknown) => {
    const bytes = value as { type?: unknown; data?: unknown } | null;
    return bytes?.type === 'Buffer' ? { __xbin__: Buffer.from(bytes.data as number[]).toString('base64') } : value;
  });

/** Tables in which the client does not hold what the source holds. */
async function differing(client: CompatibleClient, dbType: DbType, source: DatabaseCoordinates): Promise<string[]> {
  const schema = (await (await client.get('schema')).json()) as { tables: Record<string, string> };
  const connection = await connect(source);
  const found: string[] = [];
  const { tables } = await readTopology(connection);
  for (const { name, columns } of tables.filter(
    (table) => table.name in schema.tables && !BEYOND[dbType].has(table.name)
  )) {
    const theirs = await rows<SqlRow>(connection, `SELECT ${selectList(columns)} FROM ${name}`);
    const ours = client.rows(name).map((row) => JSON.stringify(row));
    if (JSON.stringify(theirs.map(asJson).sort()) !== JSON.stringify(ours.sort())) found.push(name);
  }
  await connection.end();
  return found;
}

for (const dbType of ['indexer', 'decoder'] as const satisfies readonly DbType[]) {
  test(`${dbType}: a client that knows only the specification is served: bodies, blocks >= N, 404 above the tip, live`, async (t) => {
    const { create, appendBlocks } = GENERATORS[dbType];
    const source = await createDatabase('served');
    await create(source, SIZE);
    const pair = await startPair(dbType, source, { SYNC_SINCE_INCLUSIVE: 1 });
    const client = new CompatibleClient(pair.server.url, `${dbType}/litecoin/regtest`, PAIR_KEY);
    await eventually('the server knows its tip', 20_000, async () => (await client.get('status')).status === 200);
    const settled = async (height: number) => {
      let left: string[] = [];
      await eventually(`the client is equal at ${height}`, 20_000, async () => {
        if (client.height !== height) return false;
        left = await differing(client, dbType, source);
        return left.length === 0;
      }).catch((fault: Error) => {
        throw new Error(`${fault.message}; it is at ${client.height}, and differs in ${left}`);
      });
    };
    let height = 129;
    await t.test('a full body has its keys in order', async () => {
      const text = await client.bootstrap();
      assert.ok(
        text.startsWith(`{"schema_version":${VERSION[dbType]},"block_height":${height},"tables":{`),
        text.slice(0, 90)
      );
      assert.deepEqual(Object.keys(JSON.parse(text) as Body), ['schema_version', 'block_height', 'tables']);
      await settled(height);
    });
    await t.test('above the tip it is told so by the words that it knows', async () => {
      const response = await client.get('snapshot', `/since/${height + 1}`);
      assert.equal(response.status, 404);
      const { error } = (await response.json()) as { error: string };
      assert.equal(error, `No data available after block ${height + 1}`);
    });
    await t.test('since N holds block N, and all that changed', async () => {
      const from = height + 1;
      height = await appendBlocks(source, 6, 'since');
      await eventually('the server has seen them', 20_000, async () => {
        const { block_height } = (await (await client.get('status')).json()) as { block_height: number };
        return block_height === height;
      });
      const text = (await client.catchUp()) ?? '';
      const head = `{"schema_version":${VERSION[dbType]},"block_height":${height},"since_block":${from},"tables":{`;
      assert.ok(text.startsWith(head), text.slice(0, 110));
      const { tables } = JSON.parse(text) as Body;
      assert.deepEqual(
        tables['blocks']!.map((row) => row['block_index']),
        [0, 1, 2, 3, 4, 5].map((offset) => from + offset)
      );
      await settled(height);
    });
    await t.test('live messages hold what is specified, small enough; the rest are additions', async () => {
      await client.subscribe();
      height = await appendBlocks(source, 15, 'live', 20);
      await settled(height);
      const blocks = client.messages.filter((text) => text.includes('"type":"block"'));
      assert.ok(blocks.length >= 15);
      for (const text of blocks) {
        assert.ok(text.length < MAX_MESSAGE_BYTES);
        const message = JSON.parse(text) as Record<string, unknown>;
        const specified = [...SPECIFIED, ...HASHES[dbType]];
        for (const name of specified) assert.ok(name in message, name);
        const further = Object.keys(message).filter((name) => !specified.includes(name) && !ADDED.has(name));
        assert.deepEqual(further, []);
        assert.equal(message['schema_version'], VERSION[dbType]);
      }
    });
    await t.test('a client of this project follows the same server', async () => {
      const own = await pair.startClient();
      assert.ok((await pair.settle(own, height)).equal);
      await own.end();
      height = await appendBlocks(source, 4, 'away');
      const again = await pair.startClient();
      const verdict = await pair.settle(again, height);
      assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
      await again.end();
    });
    client.close();
    await pair.server.end();
  });
}
