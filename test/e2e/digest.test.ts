import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { runCommandLine } from '../support/command-line.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { appendBlocks, createIndexer, reorg } from '../support/sync/generated-indexer.ts';
import { startLyingSource } from '../support/sync/lying-source.ts';
import { differences, PAIR_KEY, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync/sync-process.ts';

const KEY = 'key-of-the-pair';
const EPOCH = 5;

/** Changes of a replica by hand, by the classes of the tables. */
const BY_HAND: readonly [what: string, ...statements: string[]][] = [
  [
    'scoped: a changed, a missing and a doubled row, and a parent that is gone',
    'UPDATE credits SET amount = amount + 1 ORDER BY action_index LIMIT 2',
    'DELETE FROM debits ORDER BY action_index DESC LIMIT 3',
    'DELETE FROM actions ORDER BY action_index LIMIT 1'
  ],
  [
    'lookup, mutable, derived',
    "UPDATE index_addresses SET address = CONCAT(address, 'x') WHERE id NOT IN (SELECT address_id FROM balances) ORDER BY id DESC LIMIT 1",
    'DELETE FROM index_transactions ORDER BY id LIMIT 2',
    'DELETE FROM tokens ORDER BY id DESC LIMIT 1',
    'UPDATE tokens SET supply = supply + 1 ORDER BY id LIMIT 20', // a block may well set some of them anew
    'UPDATE balances SET amount = amount + 1 ORDER BY id LIMIT 5'
  ],
  [
    'keyless, the log',
    "INSERT INTO notes VALUES (1, 'a'), (9, 'z')",
    'DELETE FROM notes WHERE n = 2 LIMIT 1',
    'DELETE FROM sync_meta ORDER BY block_index DESC LIMIT 2',
    "UPDATE sync_meta SET ledger_hash = 'x' ORDER BY block_index LIMIT 1"
  ]
];

async function createPair(): Promise<SyncPair> {
  const source = await createDatabase('digest_e2e');
  await createIndexer(source, { seed: 'digest', blocks: 20, rows: 2_000 });
  await sql(
    source,
    'CREATE TABLE notes (n INT NULL, t VARCHAR(10) NULL) ENGINE=InnoDB CHARSET=utf8mb4',
    "INSERT INTO notes VALUES (1, 'a'), (1, 'a'), (2, NULL), (2, NULL), (3, 'b')"
  );
  return startPair('indexer', source, { MERKLE_EPOCH_SIZE: EPOCH });
}

async function verifiedAt(pair: SyncPair, client: SyncProcess, height: number): Promise<Record<string, unknown>> {
  let status: Record<string, unknown> = {};
  await eventually(`the replica is verified at ${height}`, async () => {
    status = await pair.status(client);
    return status['phase'] === 'live' && status['verified_height'] === height;
  }).catch((fault: Error) =>
    assert.fail(
      `${fault.message}: ${JSON.stringify(status)}\n${client.log().slice(-4000)}\n${pair.server.log().slice(-1500)}`
    )
  );
  return status;
}

/** Adds blocks up to the end of the epoch. @returns the new height */
async function fillEpoch(source: DatabaseCoordinates): Promise<number> {
  const [tip] = await sql(source, 'SELECT MAX(block_index) AS h FROM blocks');
  const height = Number(tip?.['h']);
  return appendBlocks(source, EPOCH - (height % EPOCH), `epoch ${height}`, 20);
}

async function assertEqual(pair: SyncPair, what: string): Promise<void> {
  const verdict = await pair.compare();
  assert.ok(verdict.equal, `${what}: ${JSON.stringify(differences(verdict))}`);
}

test('rows of a replica changed by hand are found at the next epoch and repaired, in tables of every class', async (t) => {
  const pair = await createPair();
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH });
  const status = await verifiedAt(pair, client, await fillEpoch(pair.source));
  assert.equal(status['repairs'], 0, 'after a bootstrap nothing differs');
  assert.equal(status['verification'], 'verified');
  assert.match(String(status['verified_at']), /^\d{4}-/);
  let repairs = 0;
  for (const [what, ...statements] of BY_HAND) {
    await t.test(what, async () => {
      await sql(pair.replica, 'SET foreign_key_checks = 0', ...statements);
      assert.equal((await pair.compare()).equal, false, 'the test itself must change something');
      const after = await verifiedAt(pair, client, await fillEpoch(pair.source));
      await assertEqual(pair, what);
      assert.ok(Number(after['repairs']) > repairs, 'counted');
      repairs = Number(after['repairs']);
    });
  }
  assert.match(client.log(), /table notes differed from its source: repaired/);
  await t.test('a reorg over repaired blocks ends equal and verified', async () => {
    await reorg(pair.source, 7, 9, 'over repairs');
    await verifiedAt(pair, client, await fillEpoch(pair.source));
    await assertEqual(pair, 'after the reorg');
  });
  await client.end();
  await pair.server.end();
});

test('verify over the network says what differs, refuses beside a running client, and repairs', async (t) => {
  const pair = await createPair();
  const { user, pass, host, port, name } = pair.replica;
  const verify = (...options: string[]) =>
    runCommandLine([
      'verify',
      '--source',
      pair.server.url,
      '--key',
      KEY,
      '--replica',
      `mysql://${user}:${pass}@${host}:${port}/${name}`,
      ...options
    ]);
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH });
  await verifiedAt(pair, client, await fillEpoch(pair.source));
  await t.test('beside a running client', async () => {
    assert.equal((await verify()).code, 0);
    const refused = await verify('--repair');
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /another client writes to .*stop it first/s);
  });
  await client.end();
  for (const [, ...statements] of BY_HAND) await sql(pair.replica, 'SET foreign_key_checks = 0', ...statements);
  await t.test('dry run', async () => {
    const { code, stdout } = await verify('--dry-run', '--json', '--database', 'indexer/litecoin/regtest');
    assert.equal(code, 1);
    const { differences: found } = JSON.parse(stdout) as {
      differences: { table: string; missing: number; bytes: number }[];
    };
    assert.ok(
      found.some(({ table, missing, bytes }) => table === 'index_transactions' && missing === 2 && bytes > 100),
      stdout
    );
    assert.equal((await pair.compare()).equal, false);
  });
  await t.test('one table', async () => {
    const { code, stdout } = await verify('--table', 'notes');
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^DIFFERENT at block \d+: 1 table, 5 rows\n {2}notes: 2 rows to remove, 1 to add, \d+ bytes to move, in \d ranges?\n$/
    );
    assert.equal((await verify('--table', 'blocks')).code, 0);
  });
  await t.test('repair', async () => {
    const { code, stdout, stderr } = await verify('--repair');
    assert.equal(code, 0, `${stdout}${stderr}`);
    assert.match(
      stdout,
      /^REPAIRED, now EQUAL at block \d+: \d+ tables, \d+ rows[\s\S]*\n {2}tokens: \d+ rows? removed, \d+ added, \d+ bytes moved/
    );
    await assertEqual(pair, 'after --repair');
    assert.equal((await verify()).code, 0);
  });
  await pair.server.end();
});

test('a source whose digest lies halts the replica after one repair, until an operator clears it', async () => {
  const pair = await createPair();
  let honest = false;
  const liar = await startLyingSource(pair.server.url, (path, body) => {
    if (honest || !path.startsWith('/digest/')) return body;
    const tables = body['tables'] as { table: string; digest: string }[] | undefined;
    const lie = (figures: { digest: string }) => ({ ...figures, digest: String(BigInt(figures.digest) + 1n) });
    if (tables) return { ...body, tables: tables.map((each) => (each.table === 'tokens' ? lie(each) : each)) };
    const [first, ...rest] = (body['ranges'] ?? []) as { digest: string }[];
    return first ? { ...body, ranges: [lie(first), ...rest] } : body;
  });
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH, SYNC_SOURCES: liar.url });
  await eventually('the replica is halted', async () => (await pair.status(client))['halted'] === true);
  const status = await pair.status(client);
  assert.equal(status['reason'], 'digest-mismatch');
  assert.equal(status['verified_height'], null);
  assert.equal(status['repairs'], 1);
  await assertEqual(pair, 'a lie changes no row');
  honest = true;
  const halt = (...words: string[]) => runCommandLine(['halt', ...words, '--url', client.url, '--key', PAIR_KEY]);
  assert.match((await halt('list')).stdout, /indexer\/litecoin\/regtest +digest-mismatch; find the program/);
  const name = 'indexer/litecoin/regtest';
  const cleared = await halt('clear', name, '--confirm', name, '--reason', 'the source is mended');
  assert.equal(cleared.stdout, `cleared: digest-mismatch (${name})\n`, cleared.stderr);
  await verifiedAt(pair, client, await fillEpoch(pair.source));
  await client.end();
  await pair.server.end();
});

test('a source whose digests are of no algorithm, or of another one, leaves the replica unverified: there is no weaker one', async () => {
  const pair = await createPair();
  let isNamed = false;
  const old = await startLyingSource(pair.server.url, (path, body) => {
    if (!path.startsWith('/digest/')) return body;
    isNamed = !isNamed;
    return { ...body, algorithm: isNamed ? 'crc32-product/1' : undefined };
  });
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH, SYNC_SOURCES: old.url });
  await eventually('it is unverified', async () => (await pair.status(client))['verification'] === 'unverified');
  await sql(pair.replica, 'UPDATE tokens SET supply = supply + 1 ORDER BY id LIMIT 1');
  await fillEpoch(pair.source);
  await eventually('it is asked again', async () => old.paths.filter((path) => path.startsWith('/digest/')).length > 2);
  const { verification, verified_height, repairs } = await pair.status(client);
  assert.deepEqual([verification, verified_height, repairs], ['unverified', null, 0]);
  assert.deepEqual(
    old.paths.filter((path) => path.startsWith('/digest/') && !path.endsWith('/key')),
    []
  );
  await client.end();
  await pair.server.end();
});

test('a source without digests is followed unverified, and asked once', async () => {
  const pair = await createPair();
  const plain = await startLyingSource(
    pair.server.url,
    (_, body) => body,
    (path) => path.startsWith('/digest/')
  );
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH, SYNC_SOURCES: plain.url });
  await eventually('the replica is live', async () => (await pair.status(client))['phase'] === 'live');
  await fillEpoch(pair.source);
  const verdict = await pair.settle(client, await fillEpoch(pair.source));
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  const status = await pair.status(client);
  assert.deepEqual([status['verification'], status['verified_height']], ['unverified', null]);
  assert.equal(plain.paths.filter((path) => path.startsWith('/digest/')).length, 1);
  await client.end();
  await pair.server.end();
});
