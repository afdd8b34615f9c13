import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { runCommandLine } from '../support/command-line.ts';
import { createDatabase, dropAfterwards } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { createDecoder } from '../support/sync/generated-decoder.ts';
import { startHostileSource } from '../support/sync/hostile-source.ts';
import { PAIR_KEY, REPLICA_PREFIX, type SyncPair, startPair, startTestHub } from '../support/sync/sync-pair.ts';
import { eventually, replicasAt, temporaryDirectory } from '../support/sync/sync-process.ts';

let pair: SyncPair;
let unserved: DatabaseCoordinates;
let hubPort = 0;
before(async () => {
  const source = await createDatabase('startup');
  await createDecoder(source, { seed: 'startup', blocks: 10, rows: 500 });
  pair = await startPair('decoder', source);
  unserved = await createDatabase('unserved');
  hubPort = await startTestHub([
    ['decoder', source],
    ['indexer', unserved]
  ]);
});

function clientEnv(state: string): Record<string, string> {
  return {
    SYNC_MODE: 'client',
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: String(hubPort),
    SYNC_API_HOST: '127.0.0.1',
    SYNC_API_PORT: '0',
    SYNC_API_KEY: PAIR_KEY,
    SYNC_STATE_DIR: state,
    SYNC_SOURCES: pair.server.url,
    ...replicasAt(pair.source),
    REPLICA_DB_PREFIX: REPLICA_PREFIX
  };
}

test('--dry-run says rows, bytes and minutes, and what cannot begin; it makes no database and no directory', async () => {
  const state = join(temporaryDirectory('dry-run'), 'state');
  const { code, stdout, stderr } = await runCommandLine(['sync', '--dry-run', '--no-guardian'], clientEnv(state));
  assert.equal(code, 69, stderr);
  const line = new RegExp(
    `decoder/litecoin/regtest -> ${pair.replica.name}: bootstrap to block 109, about [\\d,]+ rows, [\\d,]+ MB in MariaDB, 1 min`
  );
  assert.match(stdout, line);
  assert.match(stdout, /indexer\/litecoin\/regtest -> \w+: waits: no source serves it \(http:\S+ answered 404\)/);
  assert.match(stdout, /nothing was changed\n$/);
  assert.equal(existsSync(state), false);
  const [made] = await sql(pair.source, `SHOW DATABASES LIKE '${pair.replica.name}'`);
  assert.equal(made, undefined);
});

test('78: a bootstrap depth that matches no database stops the start-up, by name', async () => {
  const env = {
    ...clientEnv(temporaryDirectory('depth')),
    SYNC_BOOTSTRAP_DEPTH_LTC_TESTNET: '5',
    VERIFY_STATE_COMMITMENT: 'false'
  };
  const { code, stderr } = await runCommandLine(['sync', '--no-guardian'], env);
  assert.equal(code, 78, stderr);
  assert.match(
    stderr,
    /SYNC_BOOTSTRAP_DEPTH_LTC_TESTNET matches no chain and network that the hub names \(litecoin regtest\)/
  );
});

test('a database that no source serves: one line, its state, and tries again; the others are live', async () => {
  dropAfterwards(pair.source, `${REPLICA_PREFIX}${unserved.name}`);
  const client = await pair.startClient({ HUB_PORT: hubPort });
  await eventually('the served one is live', async () => (await pair.status(client))['phase'] === 'live');
  const words = `no source serves indexer/litecoin/regtest: ${pair.server.url} answered 404`;
  await eventually('the other says why it waits, and tries', async () => {
    const { body } = await client.get('/status/indexer/litecoin/regtest');
    const { last_error, poll_error_count, sources } = body as Record<string, never>;
    return (
      String(last_error).startsWith(words) && Number(poll_error_count) > 2 && sources?.[0]?.['state'] === 'unserved'
    );
  });
  const lines = client
    .log()
    .split('\n')
    .filter((line) => line.includes(words) && line.includes('"level":40'));
  assert.equal(lines.length, 1, 'the same reason is told once');
  await client.end();
});

test('a source that answers 429 is left alone as long as it says, visibly', async () => {
  await pair.server.end();
  const source = await startHostileSource((_request, response) =>
    response.writeHead(429, { 'retry-after': '2' }).end('{"error":"slow down"}')
  );
  const client = await pair.startClient({ SYNC_SOURCES: source.url });
  await eventually('it waits', async () => client.log().includes('asks the client to wait'));
  const [first] = source.requests;
  assert.ok(first);
  const asked = source.requests.length;
  await eventually('status says why', async () => {
    const { body } = await client.get('/status/decoder/litecoin/regtest');
    return /answered 429 /.test(String(body['last_error']));
  });
  await eventually('it asks again', async () => source.requests.length > asked);
  const [one, two] = client
    .log()
    .split('\n')
    .filter((line) => line.includes('asks the client to wait'))
    .map((line) => Date.parse((JSON.parse(line) as { time: string }).time));
  assert.ok(two === undefined || two - one! >= 2_000);
  await client.end();
});
