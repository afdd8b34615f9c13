import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../../src/db/connection.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { freeze, thaw } from '../../support/freeze.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase, startOwnServer, testServer } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from '../../support/service-process.ts';

let coin: TestLitecoind;

before(async () => {
  coin = await startTestLitecoind();
  await coin.node.fund(30);
  for (let block = 0; block < 10; block++) {
    await coin.node.pay({ action: `SEND|0|${block}` });
    await coin.node.mine(1);
  }
});
/** Starts `platform-node decoder` as a process of its own. */
async function startDecoder(database: DatabaseCoordinates, env: Record<string, string> = {}) {
  const port = Number(env['DECODER_API_PORT'] ?? (await freePort()));
  const started = startServiceProcess('decoder', {
    ...nodeEnv(coin.node),
    ...databaseEnv('DECODER', database),
    DECODER_API_HOST: '127.0.0.1',
    DECODER_API_PORT: String(port),
    DECODER_POLL_INTERVAL: '20',
    ...env
  });
  const { child, output } = started;
  const url = `http://127.0.0.1:${port}`;
  const probe = async (path: string) => {
    const response = await fetch(url + path);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return {
    ...started,
    port,
    probe,
    async call(method: string) {
      const body = JSON.stringify({ jsonrpc: '2.0', method, id: 5 });
      const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
      return (await response.json()) as { result: Record<string, unknown>; error?: { code: number } };
    },
    async until(path: string, isDone: (body: Record<string, unknown>, status: number) => boolean) {
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        const { status, body } = await probe(path).catch(() => ({ status: 0, body: {} }));
        if (isDone(body, status)) return body;
        assert.ok(Date.now() < deadline && child.exitCode === null, `${JSON.stringify(body)}\n${output()}`);
        await sleep(250); // the probes are limited to 100 requests a minute
      }
    }
  };
}

async function storedHeight(database: DatabaseCoordinates): Promise<unknown> {
  const connection = await connect(database);
  const [row] = await rows(connection, 'SELECT MAX(block_index) AS height, COUNT(*) AS blocks FROM blocks');
  await connection.end();
  assert.equal(row?.['blocks'], Number(row?.['height']) + 1);
  return row?.['height'];
}

test('the service answers as specified, survives kill -9, and stops on SIGTERM', async () => {
  const database = { ...(await createDatabase('decoder_service')) };
  const height = await coin.node.height();
  const first = await startDecoder(database);
  await first.until('/live', (body, status) => status === 200 && body['last_processed_block'] === height);
  assert.deepEqual(await first.call('ping'), { jsonrpc: '2.0', result: { status: 'success' }, id: 5 });
  assert.deepEqual((await first.call('getlatestblock')).result, {
    block_index: height,
    node_block_index: height,
    is_synced: true
  });
  const { result: health } = await first.call('health');
  assert.deepEqual(
    [health['status'], health['phase'], health['lag'], health['error']],
    ['healthy', 'running', 0, null]
  );
  assert.deepEqual(await first.probe('/status'), { status: 200, body: { status: 'healthy', db: true, running: true } });
  const live = { stalled: false, last_processed_block: height, node_height: height, lag: 0, parse_errors: 0 };
  assert.deepEqual((await first.probe('/live')).body, {
    status: 'healthy',
    db: true,
    running: true,
    ...live,
    rpc_errors: 0
  });
  first.child.kill('SIGKILL');
  await first.exited;

  await coin.node.mine(5);
  const second = await startDecoder(database);
  await second.until('/live', (body) => body['last_processed_block'] === height + 5);
  second.child.kill('SIGTERM');
  assert.equal(await second.exited, 0, second.output());
  assert.equal(await storedHeight(database), height + 5);
});

test('a decoder whose node is away keeps its door open and waits', async () => {
  const port = String(await freePort());
  const decoder = await startDecoder(await createDatabase('decoder_away'), { NODE_PORT: port });
  const body = await decoder.until('/status', (status) => status['db'] === true);
  assert.deepEqual(body, { status: 'healthy', db: true, running: true });
  const { result } = await decoder.call('health');
  assert.deepEqual([result['synced'], result['node_height'], result['lag_blocks']], [false, null, null]);
  const large = { method: 'POST', body: ' '.repeat(100_001), headers: { 'content-type': 'application/json' } };
  assert.equal((await fetch(`http://127.0.0.1:${decoder.port}`, large)).status, 413);
  const answers = [];
  for (let request = 0; request < 101; request++) answers.push(await decoder.call('ping'));
  assert.equal(answers.at(-1)?.error?.code, -32_029, 'more than 100 requests a minute');
  decoder.child.kill('SIGINT');
  assert.equal(await decoder.exited, 0, decoder.output());
});

test('a database that is away is unhealthy with 503', async () => {
  const port = await freePort();
  const decoder = await startDecoder({ ...(await testServer()), name: 'any', port });
  await decoder.until('/status', (_, status) => status === 503);
  const { result } = await decoder.call('health');
  assert.deepEqual([result['status'], result['phase'], result['synced']], ['unhealthy', 'starting', false]);
  assert.equal((await decoder.probe('/live')).status, 503);
  decoder.child.kill('SIGTERM');
  assert.equal(await decoder.exited, 0, decoder.output());
});

test('a database that freezes is told at once, and decoding goes on when it answers again', async () => {
  const server = await startOwnServer();
  const decoder = await startDecoder({ ...server.root, name: 'frozen' }, { DB_QUERY_TIMEOUT: '1000' });
  const height = await coin.node.height();
  await decoder.until('/live', (body) => body['last_processed_block'] === height);
  await freeze(server.pid);
  try {
    await coin.node.mine(3);
    await decoder.until(
      '/status',
      (body, status) =>
        status === 503 &&
        body['db'] === false &&
        body['running'] === true &&
        Object(body['alarm']).code === 'DATABASE_UNAVAILABLE'
    );
    const { result } = await decoder.call('health');
    assert.deepEqual([result['status'], result['phase'], result['synced']], ['unhealthy', 'db-unreachable', false]);
    await sleep(2_500); // the statement's time is over by then
  } finally {
    thaw(server.pid);
  }
  await decoder.until('/live', (body, status) => status === 200 && body['last_processed_block'] === height + 3);
  decoder.child.kill('SIGTERM');
  assert.equal(await decoder.exited, 0, decoder.output());
  assert.equal(await storedHeight({ ...server.root, name: 'frozen' }), height + 3);
});

test('DATABASE_REFUSED: wrong credentials end it, and health says why', async () => {
  const decoder = await startDecoder(await createDatabase('decoder_denied'), { DECODER_DB_PASS: 'not-the-password' });
  const deadline = Date.now() + PATIENCE_MS;
  let error: unknown = null;
  while (error === null) {
    assert.ok(Date.now() < deadline, decoder.output());
    await sleep(250);
    error = (await decoder.call('health').catch(() => undefined))?.result['error'] ?? null;
  }
  assert.match(String(error), /Access denied .*DATABASE_REFUSED/);
  assert.equal((await decoder.call('health')).result['phase'], 'db-unreachable');
  const body = { status: 'unhealthy', db: false, running: false };
  assert.deepEqual(await decoder.probe('/status'), { status: 503, body });
  decoder.child.kill('SIGTERM');
  assert.equal(await decoder.exited, 0, decoder.output());
});

test('a started decoder keeps what waits in its node', async () => {
  const { txid } = await coin.node.pay({ action: 'SEND|0|waits' });
  const database = await createDatabase('decoder_waits');
  const decoder = await startDecoder(database);
  await decoder.until('/live', (body) => typeof body['last_processed_block'] === 'number');
  const connection = await connect(database);
  const deadline = Date.now() + PATIENCE_MS;
  for (let waiting: unknown[] = []; waiting.length === 0; ) {
    waiting = await rows(connection, "SELECT tx_hash FROM mempool_transactions WHERE data = 'SEND|0|waits'");
    if (waiting.length > 0) assert.deepEqual(waiting, [{ tx_hash: txid }]);
    assert.ok(Date.now() < deadline);
    await sleep(20);
  }
  await connection.end();
  decoder.child.kill('SIGTERM');
  assert.equal(await decoder.exited, 0);
});

test('the database is made when it is missing', async () => {
  const server = await testServer();
  const name = `${(await createDatabase('decoder_made')).name}_x`;
  const decoder = await startDecoder({ ...server, name });
  const height = await coin.node.height();
  await decoder.until('/live', (body) => body['last_processed_block'] === height);
  decoder.child.kill('SIGTERM');
  await decoder.exited;
  const connection = await connect(server);
  const tables = await rows(connection, 'SELECT table_name FROM information_schema.tables WHERE table_schema = ?', [
    name
  ]);
  await connection.query(`DROP DATABASE ${name}`);
  await connection.end();
  assert.equal(tables.length, 19);
});

for (const [title, env, code, message] of [
  ['NODE_MISMATCH: another chain', { NETWORK: 'bitcoin-regtest' }, 78, /first block is that of another chain/],
  ['NODE_MISMATCH: another network', { NETWORK: 'litecoin-mainnet' }, 78, /node serves the chain "regtest"/],
  [
    'CONFIG_INVALID, ST-08, ST-10, RDD-10: a database name',
    { DECODER_DB_NAME: 'a-b' },
    78,
    /DECODER_DB_NAME="a-b" must be/
  ]
] as const) {
  test(`${title} ends with ${code}`, async () => {
    const decoder = await startDecoder(await createDatabase('decoder_refused'), env);
    assert.equal(await decoder.exited, code, decoder.output());
    assert.match(decoder.output(), message);
  });
}

test('PORT_IN_USE: an occupied port ends with 71; before it listens it warns of the rules about signers that are off', async () => {
  const port = String(coin.node.rpcPort);
  const directory = mkdtempSync(join(tmpdir(), 'decoder-profile-'));
  after(() => rmSync(directory, { recursive: true }));
  const profile = join(directory, 'profile.json');
  writeFileSync(
    profile,
    JSON.stringify({ name: 'late', activations: { REVEAL_KEY_CHECK: 1_000_000, SIGNATURE_CHECK: null } })
  );
  const late = await startDecoder(await createDatabase('decoder_late'), {
    DECODER_API_PORT: port,
    PLATFORM_PROFILE: profile
  });
  assert.equal(await late.exited, 71, late.output());
  for (const rule of ['REVEAL_KEY_CHECK', 'SIGNATURE_CHECK'])
    assert.match(late.output(), new RegExp(`below ${rule} of the profile, anybody who `));
  const decoder = await startDecoder(await createDatabase('decoder_port'), { DECODER_API_PORT: port });
  assert.equal(await decoder.exited, 71, decoder.output());
  assert.match(decoder.output(), new RegExp(`DECODER_API_PORT=${port}: another process listens`));
  assert.doesNotMatch(decoder.output(), /anybody who/);
});
