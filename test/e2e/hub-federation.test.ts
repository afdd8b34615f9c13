import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { signingKey } from '../../src/consensus/auth-signature.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase } from '../support/mariadb.ts';
import { databaseEnv, type StartedProcess, startServiceProcess } from '../support/service-process.ts';
import { sql } from '../support/sql.ts';
import { eventually, temporaryDirectory } from '../support/sync/sync-process.ts';

/** A hub in validator mode, in a process of its own with a database of its own. */
interface Member {
  readonly seed: string;
  readonly port: number;
  readonly addr: string;
  database: DatabaseCoordinates;
  process: StartedProcess | null;
}

// biome-ignore lint/suspicious/noExplicitAny: each test says what it expects
type Answer = any;

const API_KEY = 'key-of-all';
const members: Member[] = [];
let file: string;

function start(member: Member): void {
  const { seed, port, addr, database } = member;
  member.process = startServiceProcess('hub', {
    ...databaseEnv('HUB', database),
    HUB_HOST: '127.0.0.1',
    HUB_PORT: String(port),
    HUB_API_KEY: API_KEY,
    HUB_RATE_LIMIT_RPM: '100000',
    P2P_VALIDATOR_ADDR: addr,
    P2P_PORT: addr.split(':')[1]!,
    P2P_RECONNECT_BASE: '200',
    P2P_RECONNECT_MAX: '1000',
    SIGNING_PRIVKEY_HEX: seed,
    ORACLE_EPOCH_START: '1767225600000',
    HUB_FEDERATION: file
  });
}

async function call({ port }: Member, method: string, params: object = {}): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headers: { 'content-type': 'application/json', 'x-api-key': API_KEY }
  });
  return await response.json();
}

const write = (member: Member, module: string, host: string | null) =>
  call(member, 'updateconfig', { config: { LTC: { regtest: { [module]: { host } } } } });

/** Waits until hubs are of their set, and each has so many peers. */
async function joined(hubs: readonly Member[], peers: number): Promise<void> {
  for (const member of hubs)
    await eventually('it is in its set', async () => {
      const { result } = await call(member, 'health').catch(() => ({ result: null }));
      return result?.consensus?.peers === peers && result.consensus.phase !== 'starting';
    });
}

/** Waits until a hub tells a state of its set; it tells one up to half a second after it changed. @returns it */
async function told(member: Member, isMet: (consensus: Answer) => boolean): Promise<Answer> {
  let consensus: Answer;
  await eventually('it tells the state', async () => {
    consensus = (await call(member, 'health')).result.consensus;
    return isMet(consensus);
  });
  return consensus;
}

/** Returns all that a hub has, passwords included, and the place of its log. */
async function stateOf(member: Member): Promise<Answer> {
  return (await call(member, 'getallconfigs')).result;
}

/** Waits until hubs have applied equally much, and compares their configurations. @returns it */
async function agreed(hubs: readonly Member[]): Promise<Answer> {
  await eventually('all have applied the same', async () => {
    const places = await Promise.all(hubs.map(async (member) => (await stateOf(member)).seq));
    return new Set(places).size === 1;
  });
  const [first, ...others] = await Promise.all(hubs.map(stateOf));
  for (const other of others) assert.deepEqual(other, first);
  return first;
}

before(async () => {
  for (let at = 0; at < 4; at++) {
    const addr = `127.0.0.1:${await freePort()}`;
    const seed = `0${at + 1}`.repeat(32);
    members.push({ seed, addr, port: await freePort(), database: await createDatabase('member'), process: null });
  }
  // In the order of their keys: the first one leads.
  members.sort((a, b) => (signingKey(a.seed).pubkey < signingKey(b.seed).pubkey ? -1 : 1));
  file = join(temporaryDirectory('federation'), 'federation.json');
  const named = members.map(({ seed, addr }) => ({ pubkey: signingKey(seed).pubkey, addr }));
  writeFileSync(file, JSON.stringify({ members: named, quorum: 'byzantine' }));
  for (const member of members) start(member);
  await joined(members, 3);
});

test('four hubs over sockets and MariaDB decide what any of them is told, and each reads what another took', async () => {
  for (const [at, member] of members.entries())
    assert.deepEqual((await write(member, `m-${at}`, `h${at}`)).result, { status: 'success' });
  const { seq } = await stateOf(members[3]!);
  for (const member of members) {
    const { result } = await call(member, 'getallconfigs', { min_seq: seq });
    assert.deepEqual(Object.keys(result.configs.LTC.regtest), ['m-0', 'm-1', 'm-2', 'm-3']);
  }
  const state = await agreed(members);
  assert.equal(state.entries, 4);
  const leader = await told(members[0]!, ({ seq }) => seq === state.seq);
  assert.deepEqual(leader, { phase: 'leading', view: 0, seq: state.seq, members: 4, peers: 3 });
});

test('a wrong write is refused and leaves nothing at any hub, and so is one that the set does not order', async () => {
  const refused = async (answer: Promise<Answer>) => (await answer).error?.data.code;
  const [, second] = members as [Member, Member];
  const { entries } = await agreed(members);
  assert.equal(
    await refused(call(second, 'updateconfig', { config: { LTC: { regtest: { m: { hots: 'x' } } } } })),
    'REQUEST_INVALID'
  );
  assert.equal(
    await refused(call(second, 'updateconfig', { config: { ltc: { regtest: { m: { host: 'x' } } } } })),
    'REQUEST_INVALID'
  );
  const member = { signing_pubkey: 'e'.repeat(64), addr: 'validator.example:10001' };
  assert.equal(await refused(call(second, 'registervalidator', member)), 'WRITE_NOT_ORDERED');
  assert.equal(await refused(call(second, 'getallconfigs', { min_seq: 1_000_000 })), 'SEQUENCE_NOT_REACHED');
  assert.equal((await agreed(members)).entries, entries);
});

test('the leader is killed between two writes of three hubs: no answered write is lost, and it is there again', async () => {
  const [leader, ...rest] = members as [Member, ...Member[]];
  const answered: string[] = [];
  let isOver = false;
  const writing = rest.map(async (member, at) => {
    for (let number = 0; !isOver; number++) {
      const { result } = await write(member, `k-${at}-${number}`, 'h');
      if (result?.status === 'success') answered.push(`k-${at}-${number}`);
    }
  });
  await eventually('some are written', async () => answered.length > 10);
  leader.process!.child.kill('SIGKILL');
  await leader.process!.exited;
  const before = answered.length;
  await eventually('others go on', async () => answered.length > before + 10);
  isOver = true;
  await Promise.all(writing);
  start(leader);
  await joined(members, 3);
  const { configs } = await agreed(members);
  for (const module of answered) assert.ok(configs.LTC.regtest[module], module);
  assert.deepEqual((await write(leader, 'after', 'h')).result, { status: 'success' });
  await told(leader, ({ view }) => view >= 1);
});

test('a hub that lost its database has all again after a start with an empty one, and writes', async () => {
  const lost = members[3]!;
  lost.process!.child.kill('SIGKILL');
  await lost.process!.exited;
  lost.database = await createDatabase('member_again');
  start(lost);
  await joined(members, 3);
  await agreed(members);
  assert.deepEqual((await write(lost, 'again', 'h')).result, { status: 'success' });
  assert.equal((await agreed(members)).configs.LTC.regtest.again.host, 'h');
});

test('LOG_OUT_OF_ORDER: a hub that was written to in standalone mode does not vote, and says why', async () => {
  const changed = members[2]!;
  changed.process!.child.kill('SIGTERM');
  await changed.process!.exited;
  await sql(changed.database, "UPDATE consensus_state SET value = value + 1 WHERE key_name = 'last_seq'");
  start(changed);
  await eventually('it says so', async () => /it was written to in standalone mode/.test(changed.process!.output()));
  assert.deepEqual((await write(members[0]!, 'without', 'h')).result, { status: 'success' });
  assert.ok((await write(changed, 'refused', 'h')).error);
});
