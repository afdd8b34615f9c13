import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import nacl from 'tweetnacl';
import { WebSocket } from 'ws';
import { runHub } from '../support/hub/run-hub.ts';
import { faultsOf, readFacts } from '../support/shape.ts';
import { sql } from '../support/sql.ts';
import { eventually } from '../support/sync/sync-process.ts';

/** A caller on another machine: what a proxy on this one passes on. */
const STRANGER = { 'x-forwarded-for': '203.0.113.7' };
const SECRET = 'a-password-of-a-database';
const METHODS = readFacts<Readonly<Record<string, { readonly params?: object; readonly key?: true }>>>('hub');

/** Fields of rows by their tables, and of frames by their types. */
const ROWS = readFacts<{
  readonly tables: Readonly<Record<string, string>>;
  readonly frames: Readonly<Record<string, string>>;
  readonly registry: string;
}>('hub_rows');

test('a stranger is refused every method that needs the key in use, and no other one tells a password', async () => {
  const hub = await runHub({ HUB_API_KEY: 'k' });
  const config = { LTC: { regtest: { 'platform-indexer': { host: '127.0.0.1', user: 'u', pass: SECRET } } } };
  const written = await hub.call('updateconfig', { config }, { 'x-api-key': 'k' });
  assert.equal(written.json.result.status, 'success', JSON.stringify(written.json));
  const own = JSON.stringify((await hub.call('getallconfigs', {}, { ...STRANGER, 'x-api-key': 'k' })).json);
  assert.match(own, new RegExp(SECRET));
  for (const [method, { params = {}, key = false }] of Object.entries(METHODS)) {
    const { status, json } = await hub.call(method, params, STRANGER);
    assert.equal(status === 401, key, `${method} ${status} ${JSON.stringify(json)}`);
    assert.doesNotMatch(JSON.stringify(json), new RegExp(SECRET), method);
  }
  await hub.stop();
});

test("a wallet's question about networks counts as a request, and tells a stranger no address of the deployment", async () => {
  const hub = await runHub({ HUB_API_KEY: 'k', HUB_RATE_LIMIT_RPM: '3' });
  const statuses: number[] = [];
  let text = '';
  for (let n = 0; n < 4; n++) {
    const answer = await fetch(`${hub.url}/api/v1/chain-registry`, { headers: STRANGER });
    statuses.push(answer.status);
    text += await answer.text();
  }
  assert.deepEqual(statuses, [200, 200, 200, 429]);
  assert.doesNotMatch(text, /127\.0\.0\.1|localhost/);
  const [first = ''] = text.split(/(?<=\})(?=\{"schema_version")/);
  assert.deepEqual(faultsOf(JSON.parse(first), ROWS.registry), []);
  await hub.stop();
});

test('each row that a hub has is as clients in use read it: of methods, of snapshots, and of frames', async (t) => {
  const hub = await runHub();
  t.after(hub.stop);
  const result = async (method: string, params: object = {}) => {
    const { json } = await hub.call(method, params);
    assert.ok(json.result !== undefined && json.result.error === undefined, `${method} ${JSON.stringify(json)}`);
    return json.result;
  };
  const socket = new WebSocket(`ws://127.0.0.1:${hub.port}/hub-db/subscribe`);
  t.after(() => socket.terminate());
  const frames: (object & { readonly type: string; readonly table?: string; readonly row?: object })[] = [];
  socket.on('message', (data) => frames.push(JSON.parse(String(data))));
  await once(socket, 'open');
  await eventually('ready', async () => frames.length > 0);

  const { publicKey, secretKey } = nacl.sign.keyPair();
  const pubkey = Buffer.from(publicKey).toString('hex');
  await result('registervalidator', { signing_pubkey: pubkey, addr: 'validator.example:1' });
  const reward = { round: 3, reward_type: 'oracle', block_index: 9, rewards: [{ pubkey, amount: '1.5' }] };
  await result('pushvalidatorrewards', reward);
  const round = {
    round: 7,
    timestamp: 1_700_000_000,
    btc_block_height: 800_000,
    pairs: [{ pair: 'BTC/USD', price: '65000.5' }]
  };
  const sig = Buffer.from(nacl.sign.detached(Buffer.from(JSON.stringify(round)), secretKey)).toString('hex');
  const place = { source_chain: 'DOGE', action_index: 3, block_index: 9, push_generation: 0 };
  await result('pushpriceround', { ...round, ...place, sigs: [{ pubkey, sig }] });
  const params = { ...METHODS['pushoracleprice']!.params, push_generation: 1 };
  assert.deepEqual(await result('pushoracleprice', params), { accepted: true });
  const { reason } = await result('pushoracleprice', { ...params, value: '2', push_generation: 0 });
  assert.equal(reason, 'stale (retracted generation)');
  assert.deepEqual(await result('pushoracleprice', { ...params, value: '2', push_generation: 2 }), { accepted: true });
  const { proposal_id } = await result('propose', METHODS['propose']!.params);
  await result('vote', { proposal_id, vote: 'approve' });
  await result('requestattestation', METHODS['requestattestation']!.params);
  await result('initiateswap', METHODS['initiateswap']!.params);
  await result('reportreorg', METHODS['reportreorg']!.params);

  await sql(
    hub.database,
    `INSERT INTO validator_capabilities VALUES ('${pubkey}', 'price', 1, 1, 1, CURRENT_TIMESTAMP, 'passed', 800000)`
  );
  for (const [method, table] of Object.entries({
    getvalidators: 'validators',
    getpricesnapshots: 'price_snapshots',
    getproposals: 'governance_proposals',
    getvotes: 'governance_votes',
    getattestations: 'attestations',
    getswaps: 'swap_records',
    getreorghistory: 'reorg_attestations',
    getvalidatorcapabilities: 'validator_capabilities'
  })) {
    const rows = (await result(method, { limit: 5 })) as readonly object[];
    assert.ok(rows.length > 0, method);
    for (const row of rows)
      assert.deepEqual(faultsOf(row, ROWS.tables[table]!), [], `${method} ${JSON.stringify(row)}`);
  }
  const { validator, ...fields } = await result('getvalidatorstatus', { signing_pubkey: pubkey });
  assert.deepEqual(faultsOf(validator, ROWS.tables['validators']!), []);
  assert.deepEqual(faultsOf(fields, 'unclaimedRewards:decimal! recentRewards:list! slashProposals:list!'), []);
  assert.equal(fields.recentRewards.length, 1);
  for (const table of ['price_snapshots', 'oracle_prices']) {
    const answer = await fetch(`${hub.url}/hub-db/snapshot/${table}`);
    const { rows } = (await answer.json()) as { rows: object[] };
    assert.ok(rows.length > 0, table);
    for (const row of rows) assert.deepEqual(faultsOf(row, ROWS.tables[table]!), [], JSON.stringify(row));
  }
  await eventually('a watermark', async () => frames.some(({ type }) => type === 'watermark'));
  assert.deepEqual([...new Set(frames.map(({ type }) => type))].sort(), Object.keys(ROWS.frames).sort());
  for (const frame of frames) {
    const { type, table, row } = frame;
    assert.deepEqual(faultsOf(frame, ROWS.frames[type]!), [], JSON.stringify(frame));
    if (row) assert.deepEqual(faultsOf(row, ROWS.tables[table!]!), [], JSON.stringify(frame));
    if ('schema_version' in frame) assert.equal(frame.schema_version, 4);
    if ('watermark_interval_ms' in frame) assert.equal(frame.watermark_interval_ms, 10_000);
  }
});
