import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeze, thaw } from '../../support/freeze.ts';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { createDatabase, startOwnServer } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

/** The database hangs until it is told to go on, so any answer shows that nothing waited for it. */
const PROMPT_MS = 5_000;
const KEY = 'key-of-the-hub-operator';
const WRITE = { config: { bitcoin: { mainnet: { m: { host: 'kept' } } } } };

const HUB = { kind: 'hub', chain: 'all', network: 'all' };

interface Actor {
  readonly id: typeof HUB;
  readonly state: string;
  readonly reason: { readonly code: string } | null;
  readonly restarts: { readonly inWindow: number };
}

async function actorsOf(hub: RunningHub): Promise<readonly Actor[]> {
  return (await (await fetch(`${hub.url}/debug/actors`, { headers: { 'x-api-key': KEY } })).json()) as Actor[];
}

test('a database that hangs stalls no probe: /livez and the console answer, and writes go on afterwards', async (t) => {
  const server = await startOwnServer();
  const database = await createDatabase('hub', server.root);
  const hub = await runHub({ HUB_API_KEY: KEY }, { database });
  t.after(hub.stop);
  const headers = { 'x-api-key': KEY };
  await freeze(server.pid);
  try {
    const stuck = Array.from({ length: 50 }, () => hub.call('updateconfig', WRITE, headers));
    for (const path of ['/livez', '/metrics', '/debug/live', '/']) {
      const began = performance.now();
      const { status } = await fetch(hub.url + path, { headers });
      assert.equal(status, 200, path);
      assert.ok(performance.now() - began < PROMPT_MS, path);
    }
    thaw(server.pid);
    for (const answer of await Promise.all(stuck)) assert.deepEqual(answer.json.result, { status: 'success' });
  } finally {
    thaw(server.pid);
  }
});

test('an actor that is killed is started again: the hub is degraded meanwhile, and keeps what was written', async (t) => {
  const hub = await runHub({ HUB_API_KEY: KEY });
  t.after(hub.stop);
  const headers = { 'x-api-key': KEY };
  assert.deepEqual((await hub.call('updateconfig', WRITE, headers)).json.result, { status: 'success' });
  const killed = await fetch(`${hub.url}/debug/actors/hub/all/all/kill`, { method: 'POST', headers });
  assert.equal(killed.status, 202);
  const configs = async () => (await hub.call('getallconfigs')).json.result?.configs;
  await eventually('it answers again', async () => (await configs()) !== undefined);
  assert.deepEqual(await configs(), WRITE.config);
  const [actor] = await actorsOf(hub);
  assert.deepEqual([actor?.id, actor?.state, actor?.restarts.inWindow], [HUB, 'running', 1]);
});

test('DATABASE_REFUSED: an account that is taken away later parks the actor, and an operator starts it again', async (t) => {
  const database = await createDatabase('hub');
  const account = { ...database, user: `u_${database.name}`, pass: 'hub-account-secret' };
  const user = `'${account.user}'@'%'`;
  const grant = [
    `CREATE USER ${user} IDENTIFIED BY '${account.pass}'`,
    `GRANT ALL ON \`${database.name}\`.* TO ${user}`
  ];
  await sql(database, ...grant);
  const hub = await runHub({ HUB_API_KEY: KEY }, { database: account });
  t.after(hub.stop);
  const headers = { 'x-api-key': KEY };
  const act = async (action: string) =>
    (await fetch(`${hub.url}/debug/actors/hub/all/all/${action}`, { method: 'POST', headers })).status;
  await sql(database, `DROP USER ${user}`);
  assert.equal(await act('kill'), 202);
  const actor = async () => (await actorsOf(hub))[0]!;
  await eventually('the actor is parked', async () => (await actor()).state === 'parked');
  assert.equal((await actor()).reason?.code, 'DATABASE_REFUSED');
  assert.deepEqual([(await fetch(`${hub.url}/livez`)).status, (await hub.call('health')).status], [200, 503]);
  assert.equal((await hub.call('getallconfigs')).json.error.code, -32603);
  await sql(database, ...grant);
  assert.equal(await act('restart'), 202);
  await eventually('it answers again', async () => (await hub.call('health')).status === 200);
});
