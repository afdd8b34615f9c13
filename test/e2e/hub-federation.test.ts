import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { signingKey } from '../../src/consensus/auth-signature.ts';
import { connect } from '../../src/db/connection.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { applyConfigEdits } from '../../src/hub/store/configs.ts';
import { createMissing } from '../../src/hub/store/tables.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { runCommandLine } from '../support/command-line.ts';
import { krakenAnswer, startPriceService } from '../support/hub/price-service.ts';
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
/** Times of rounds of prices: settings that all hubs of the set have alike. */
const ROUNDS = {
  ORACLE_EPOCH_START: '1767225600000',
  ORACLE_ROUND_INTERVAL: '4000',
  ORACLE_SUBMISSION_WINDOW: '2000'
};
const members: Member[] = [];
let file: string;
let capabilities: string;
/** Address of a source of prices, and of an indexer of Bitcoin. */
let world: string;

function start(member: Member, ...options: readonly string[]): void {
  const { seed, port, addr, database } = member;
  const variables = {
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
    ...ROUNDS,
    HUB_FEDERATION: file,
    HUB_CAPABILITY_CONFIG: capabilities,
    CAPABILITY_INDEXERS: `BTC=${world}`,
    CAPABILITY_NODES: `BTC=${world.replace('//', '//u:p@')}`,
    PRICE_SOURCES: 'kraken',
    PRICE_SOURCE_KRAKEN_URL: world
  };
  member.process = startServiceProcess('hub', variables, options);
}

/** Writes an entry as a standalone hub does. */
async function writeAlone({ database }: Member, module: string): Promise<void> {
  const connection = await connect(database);
  try {
    await applyConfigEdits(connection, [{ coin: 'LTC', network: 'regtest', module, param: 'host', value: 'h' }]);
    await connection.query(
      "INSERT INTO consensus_state (key_name, value) VALUES ('last_seq', '1') ON DUPLICATE KEY UPDATE value = value + 1"
    );
  } finally {
    connection.destroy();
  }
}

async function end(member: Member, signal: NodeJS.Signals): Promise<void> {
  member.process!.child.kill(signal);
  await member.process!.exited;
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
async function awaitConsensus(member: Member, isMet: (consensus: Answer) => boolean): Promise<Answer> {
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
  let states: readonly Answer[] = [];
  await eventually('all have applied the same', async () => {
    states = await Promise.all(hubs.map(stateOf));
    return new Set(states.map(({ seq }) => seq)).size === 1;
  });
  const [first, ...others] = states;
  for (const other of others) assert.deepEqual(other, first);
  return first;
}

/** Hashes of the block with the action that is attested: before a reorg of the coin node, and after it. */
const [OLD_HASH, NEW_HASH] = ['ab'.repeat(32), 'cd'.repeat(32)];
let isReorganised = false;
/** Requests to the services that a lying member named in the configuration. */
let ofLiar: readonly unknown[] = [];

/** Results of an indexer of Bitcoin that knows one action, and of a coin node, by method. */
const OF_CHAIN: Readonly<Record<string, (param: unknown) => Answer>> = {
  getactionconfirmations: (param) => {
    const exists = (param as { action_index: number }).action_index === 5;
    const more = exists ? { action: 'SEND', block_index: 800, confirmations: 3 } : { action: null, confirmations: 0 };
    return { coin: 'BTC', network: 'mainnet', exists, ...more };
  },
  getblockhashes: () => ({ coin: 'BTC', block_index: 800, block_hash: isReorganised ? NEW_HASH : OLD_HASH }),
  getblockhash: () => (isReorganised ? NEW_HASH : OLD_HASH),
  getblockcount: () => 805,
  getblockheader: () => ({ hash: OLD_HASH, height: 800, confirmations: isReorganised ? -1 : 6 })
};

/** Answers for a source of prices, a chain, and an indexer that knows the stakes: that of the fourth hub is too low. */
function answerOfWorld({ path }: { readonly path: string }, response: ServerResponse): void {
  if (path !== '/') {
    response.end(JSON.stringify(krakenAnswer(64_000)));
    return;
  }
  response.req.on('data', (asked: Buffer) => {
    const { id, method, params } = JSON.parse(String(asked));
    const isPoor = asked.includes(signingKey(members[3]!.seed).pubkey);
    const stake = { stake: isPoor ? '999.99999999' : '1000', block_index: 800_000 };
    const result = OF_CHAIN[method]?.(params) ?? stake;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ jsonrpc: '2.0', id, result, ...(method.startsWith('getblockh') && { error: null }) })
    );
  });
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
  capabilities = join(temporaryDirectory('federation'), 'capabilities.json');
  writeFileSync(
    capabilities,
    JSON.stringify({ CAPABILITIES: { price: { MIN_STAKE: '1000' }, cross_chain: { MIN_STAKE: '1000' } } })
  );
  world = (await startPriceService(answerOfWorld)).url;
  // The third one was a standalone hub before, and has a configuration.
  await createMissing(members[2]!.database);
  await writeAlone(members[2]!, 'before');
  for (const member of members) start(member);
  await joined(members, 3);
});

test('the configuration of a standalone hub is that of all hubs of its set', async () => {
  await eventually('all have it', async () => (await agreed(members)).configs.LTC?.regtest?.before?.host === 'h');
});

test('four hubs over sockets and MariaDB decide what any of them is told, and each reads what another took', async () => {
  for (const [at, member] of members.entries())
    assert.deepEqual((await write(member, `m-${at}`, `h${at}`)).result, { status: 'success' });
  const { seq } = await stateOf(members[3]!);
  for (const member of members) {
    const { result } = await call(member, 'getallconfigs', { min_seq: seq });
    assert.deepEqual(Object.keys(result.configs.LTC.regtest), ['before', 'm-0', 'm-1', 'm-2', 'm-3']);
  }
  const state = await agreed(members);
  assert.equal(state.entries, 5);
  // Hubs also write what they are capable of: view and place go on.
  await eventually('the hub that leads says so', async () => {
    const { view } = (await call(members[0]!, 'health')).result.consensus;
    const { seq, ...leader } = (await call(members[view % 4]!, 'health')).result.consensus;
    const leading = { phase: 'leading', view, members: 4, peers: 3, safe: true };
    return seq >= state.seq && isDeepStrictEqual(leader, leading);
  });
});

test('a wrong write is refused and leaves nothing at any hub', async () => {
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
  assert.equal(await refused(call(second, 'getallconfigs', { min_seq: 1_000_000 })), 'SEQUENCE_NOT_REACHED');
  const { result: inactive } = await call(second, 'getslashproposals');
  assert.deepEqual(inactive, { error: 'not active: the hubs of this set do not do that' });
  assert.equal((await agreed(members)).entries, entries);
});

test('the list of validators changes at all hubs when two of four want the same, and for none alone', async () => {
  const [first, second, third, fourth] = members as [Member, Member, Member, Member];
  const [one, other] = ['0e', '0f'].map((seed) => signingKey(seed.repeat(32)).pubkey) as [string, string];
  const addr = 'validator.example:10001';
  const listed = (keys: readonly string[]) =>
    alike('getvalidators', {}, (found) => keys.join() === found.map((row: Answer) => row.signing_pubkey).join());
  const done = async (answer: Promise<Answer>) => assert.equal((await answer).result?.status, 'success');
  await done(call(first, 'registervalidator', { signing_pubkey: one, addr }));
  await done(call(first, 'registervalidator', { signing_pubkey: one, addr }));
  await agreed(members);
  await listed([]);
  await done(call(second, 'syncvalidators', { validators: [{ signing_pubkey: one.toUpperCase(), addr }, { addr }] }));
  await listed([one]);
  for (const member of [third, fourth])
    await done(call(member, 'rotatevalidator', { addr, new_signing_pubkey: other }));
  await listed([other]);
  assert.equal((await call(third, 'getvalidatorstatus', { signing_pubkey: one })).result.validator.status, 'removed');
  assert.equal((await call(third, 'deregistervalidator', { signing_pubkey: one })).result?.code, 'RECORD_UNKNOWN');
  for (const member of [first, third]) await done(call(member, 'deregistervalidator', { addr }));
  await listed([]);
});

test('the leader is killed between two writes of three hubs: no answered write is lost, and it is there again', async () => {
  const { view: before } = await awaitConsensus(members[0]!, () => true);
  const leader = members[before % 4]!;
  const rest = members.filter((member) => member !== leader);
  const answered: string[] = [];
  let isOver = false;
  const writing = rest.map(async (member, at) => {
    for (let number = 0; !isOver; number++) {
      const { result } = await write(member, `k-${at}-${number}`, 'h');
      if (result?.status === 'success') answered.push(`k-${at}-${number}`);
    }
  });
  await eventually('some are written', async () => answered.length > 10);
  await end(leader, 'SIGKILL');
  const count = answered.length;
  await eventually('others go on', async () => answered.length > count + 10);
  isOver = true;
  await Promise.all(writing);
  start(leader);
  await joined(members, 3);
  const { configs } = await agreed(members);
  for (const module of answered) assert.ok(configs.LTC.regtest[module], module);
  assert.deepEqual((await write(leader, 'after', 'h')).result, { status: 'success' });
  await awaitConsensus(leader, ({ view }) => view > before);
});

test('a hub that lost its database has all again after a start with an empty one, and writes', async () => {
  const lost = members[3]!;
  await end(lost, 'SIGKILL');
  lost.database = await createDatabase('member_again');
  start(lost);
  await joined(members, 3);
  await agreed(members);
  assert.deepEqual((await write(lost, 'again', 'h')).result, { status: 'success' });
  assert.equal((await agreed(members)).configs.LTC.regtest.again.host, 'h');
});

test('the command line shows a set, and checks the logs of two hubs without them', async () => {
  const run = (...args: readonly string[]) => runCommandLine(['federation', ...args], { HUB_API_KEY: API_KEY });
  const hubs = members.flatMap(({ port }) => ['--hub', `http://127.0.0.1:${port}`]);
  const status = await run('status', '--json', ...hubs);
  assert.equal(status.code, 0, status.stderr);
  const words = JSON.parse(status.stdout) as { answer: Answer }[];
  assert.deepEqual(
    words.map(({ answer }) => answer.self),
    members.map(({ seed }) => signingKey(seed).pubkey)
  );
  const evidence = await run('evidence', ...hubs);
  assert.match(evidence.stdout, /^no hub has signed two/, evidence.stderr);

  await agreed(members);
  const paths = members.slice(0, 2).map((_, at) => join(temporaryDirectory('federation'), `${at}.log`));
  for (const [at, path] of paths.entries()) {
    const variables = { ...databaseEnv('HUB', members[at]!.database), ...ROUNDS, HUB_FEDERATION: file };
    const { code, stderr } = await runCommandLine(['federation', 'export', path], variables);
    assert.equal(code, 0, stderr);
  }
  const { code, stdout } = await run('verify', ...paths);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /batches 1 to \d+, each with the commits of a quorum/);
  writeFileSync(paths[1]!, readFileSync(paths[1]!, 'utf8').replace('m-0', 'm-9'));
  const changed = await run('verify', ...paths);
  assert.deepEqual([changed.code, /1\.log: line \d+: batch \d+ has not the commits/.test(changed.stdout)], [1, true]);
});

test('LOG_OUT_OF_ORDER: a hub that was written to in standalone mode is back by --rejoin, and keeps what it wrote aside', async () => {
  const changed = members[2]!;
  await end(changed, 'SIGTERM');
  await writeAlone(changed, 'alone');
  start(changed);
  await eventually('it says so', async () => /start it once with --rejoin/.test(changed.process!.output()));
  assert.deepEqual((await write(members[0]!, 'without', 'h')).result, { status: 'success' });
  assert.ok((await write(changed, 'refused', 'h')).error);
  await end(changed, 'SIGTERM');
  start(changed, '--rejoin');
  await joined(members, 3);
  const { configs } = await agreed(members);
  assert.deepEqual([configs.LTC.regtest.without?.host, configs.LTC.regtest.alone], ['h', undefined]);
  assert.deepEqual((await write(changed, 'with it', 'h'.repeat(2))).error?.data.code, 'REQUEST_INVALID');
  assert.deepEqual((await write(changed, 'with-it', 'h')).result, { status: 'success' });
  const [kept] = await sql(changed.database, "SELECT COUNT(*) AS count FROM configs_before_set WHERE module = 'alone'");
  assert.equal(Number((kept as { count: unknown }).count), 1);
});

test('hubs whose own indexer tells enough stake agree on prices, and sign what the ledger takes', async () => {
  const keys = members.map(({ seed }) => signingKey(seed).pubkey);
  for (const member of members)
    await call(member, 'pushchaintip', { coin: 'bitcoin', block_height: 800_000, block_time: 1_700_000_000 });
  // One that lies names services of its own for all: nobody signs what they say.
  const lying = await startPriceService((_, response) => response.end());
  const place = { host: '127.0.0.1', port: new URL(lying.url).port, service_port: new URL(lying.url).port };
  const { result } = await call(members[0]!, 'updateconfig', {
    config: { BTC: { mainnet: { 'x-indexer': place, 'x-node': place } } }
  });
  assert.deepEqual(result, { status: 'success' });
  ofLiar = lying.requests;
  let round: Answer;
  await eventually('a round of three can be published', async () => {
    const { result: rounds } = await call(members[3]!, 'getpricerounds');
    round = rounds.find((one: Answer) => one.publishable && one.counted.length === 3);
    return round !== undefined;
  });
  assert.deepEqual(round.qualified, keys.slice(0, 3));
  assert.equal(round.pairs.find((one: Answer) => one.pair === 'BTC/USD').price, '64000.00000000');
  assert.match(
    round.action,
    /^PRICE\|0\|\d+\|\d+\|800000\|1\|BTC\/USD\|64000.00000000\|3(?:\|[0-9a-f]{64}\|[0-9a-f]{128}){3}$/
  );
  const ownCapabilities = await call(members[1]!, 'getvalidatorcapabilities', { capability: 'price' });
  assert.deepEqual(
    ownCapabilities.result.map((one: Answer) => [
      one.signing_pubkey,
      one.qualified,
      one.self_test_ok,
      one.qualified_at_block
    ]),
    keys.slice(0, 3).map((key) => [key, 1, 1, 800_000])
  );
  const path = join(temporaryDirectory('federation'), 'rounds.log');
  const variables = { ...databaseEnv('HUB', members[3]!.database), ...ROUNDS, HUB_FEDERATION: file };
  await runCommandLine(['federation', 'export', path], variables);
  const { code, stdout } = await runCommandLine(['federation', 'verify', path], {});
  assert.equal(code, 0, stdout);
  const { result: set } = await call(members[2]!, 'getfederation');
  assert.ok(set.tests.some((one: Answer) => one.pubkey === keys[3] && one.capability === 'price' && one.ok));
});

/** Waits until hubs answer a read alike, as it is to be. @returns the answer */
async function alike(method: string, params: object, isMet: (result: Answer) => boolean): Promise<Answer> {
  let found: Answer;
  await eventually(`${method} is the same at all hubs`, async () => {
    const answers = await Promise.all(members.map(async (member) => (await call(member, method, params)).result));
    [found] = answers;
    return isMet(found) && answers.every((answer) => JSON.stringify(answer) === JSON.stringify(found));
  });
  return found;
}

test('hubs attest what their own indexers find, take it back when their coin nodes were reorganised, and attest it anew', async () => {
  const [, second, third, poor] = members as [Member, Member, Member, Member];
  await alike('getvalidatorcapabilities', { capability: 'cross_chain' }, (found) => found.length === 3);
  const action = { source_chain: 'BTC', source_action_index: 5, dest_chain: 'LTC' };
  const attestation = { attestation_id: 'BTC:5:LTC' };
  assert.deepEqual((await call(poor, 'initiateswap', action)).result, { status: 'success' });
  const asked = await call(poor, 'requestattestation', action);
  assert.equal(asked.result?.attestation_id, 'BTC:5:LTC', JSON.stringify(asked));
  const attested = await alike('getattestation', attestation, ({ status }) => status === 'attested');
  const proof = JSON.parse(attested.consensus_proof);
  assert.deepEqual([proof.statement.hash, proof.validators.length, proof.turn], [OLD_HASH, 3, 1]);
  assert.ok(attested.validator_count >= 2 && proof.signatures.length === attested.validator_count);
  await alike('getswap', action, ({ status }) => status === 'attested');
  const other = await call(second, 'initiateswap', { ...action, dest_chain: 'DOGE' });
  assert.equal(other.result?.code, 'SWAP_DIFFERS', JSON.stringify(other));
  const same = await call(second, 'requestattestation', { ...action, dest_chain: 'BTC' });
  assert.equal(same.error?.data.code, 'REQUEST_INVALID');

  isReorganised = true;
  const report = { chain: 'BTC', reorg_height: 800, timestamp: 7, old_hash: OLD_HASH, new_hash: NEW_HASH };
  assert.deepEqual((await call(third, 'reportreorg', report)).result, { status: 'success' });
  const [reorg] = await alike('getreorghistory', {}, ([newest]) => newest?.status === 'confirmed');
  assert.deepEqual([reorg.affected_chains, reorg.reorg_height], ['LTC', 800]);
  const again = await alike(
    'getattestation',
    attestation,
    ({ status, consensus_proof }) => status === 'attested' && JSON.parse(consensus_proof).turn === 2
  );
  assert.deepEqual(JSON.parse(again.consensus_proof).statement.hash, NEW_HASH);
  assert.deepEqual(ofLiar, [], 'the services that a member named are not asked');
});

test('a parameter is proposed at one hub, and passes with the votes of three', async () => {
  const [first, second, third, fourth] = members as [Member, Member, Member, Member];
  const propose = (member: Member, proposed_value: string) =>
    call(member, 'propose', { parameter: 'ORACLE_ROUND_INTERVAL', proposed_value });
  assert.equal((await propose(first, '6001')).result?.code, 'PROPOSAL_REFUSED');
  const { result } = await propose(first, '6000');
  assert.equal(result?.status, 'voting');
  const { proposal_id } = result;
  assert.equal((await propose(second, '5000')).result?.code, 'PROPOSAL_REFUSED');
  const vote = (member: Member) => call(member, 'vote', { proposal_id, vote: 'approve' });
  for (const member of [first, second]) assert.equal((await vote(member)).result?.vote, 'approve');
  assert.equal((await vote(second)).result?.code, 'PROPOSAL_REFUSED');
  await alike('getproposal', { proposal_id }, ({ status, approvals }) => status === 'voting' && approvals === 2);
  await vote(fourth);
  const passed = await alike('getproposal', { proposal_id }, ({ status }) => status === 'passed');
  const keys = members.map(({ seed }) => signingKey(seed).pubkey);
  assert.deepEqual([passed.current_value, passed.proposer_pubkey], ['4000', keys[0]]);
  assert.deepEqual(JSON.parse(passed.validator_snapshot), keys);
  const votes = await alike('getvotes', { proposal_id }, (found) => found.length === 3);
  assert.deepEqual(
    votes.map((one: Answer) => one.voter_pubkey),
    [keys[0], keys[1], keys[3]]
  );
  assert.equal((await vote(third)).result?.code, 'PROPOSAL_REFUSED');
  assert.equal((await call(third, 'vote', { proposal_id: 'gov:x:1', vote: 'reject' })).result?.code, 'RECORD_UNKNOWN');

  const path = join(temporaryDirectory('federation'), 'matters.log');
  const variables = { ...databaseEnv('HUB', members[2]!.database), ...ROUNDS, HUB_FEDERATION: file };
  await runCommandLine(['federation', 'export', path], variables);
  const { code, stdout } = await runCommandLine(['federation', 'verify', path], {});
  assert.equal(code, 0, stdout);
});

test('a hub whose votes an operator pauses says so, takes no write, goes on with all else and votes again', async () => {
  const paused = members[3]!;
  const press = async (action: string) => {
    const url = `http://127.0.0.1:${paused.port}/debug/actors/validator/all/all/${action}`;
    const { status } = await fetch(url, { method: 'POST', headers: { 'x-api-key': API_KEY } });
    assert.equal(status, 202, action);
  };
  await press('pause');
  await awaitConsensus(paused, ({ phase, peers }) => phase === 'starting' && peers === 0);
  assert.ok((await write(paused, 'paused', 'h')).error);
  // Meanwhile it finds prices for rounds, and questions, for an actor that takes none.
  await sleep(2.5 * Number(ROUNDS.ORACLE_ROUND_INTERVAL));
  assert.equal((await call(paused, 'getprice', { pair: 'BTC/USD' })).result.price, '64000.00000000');
  assert.equal(paused.process!.child.exitCode, null, paused.process!.output().slice(-2_000));
  await press('restart');
  await joined(members, 3);
  assert.deepEqual((await write(paused, 'again', 'h2')).result, { status: 'success' });
});
