import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../../../src/devnet/processes/free-port.ts';
import { compareDatabases } from '../../../../src/verify/compare.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import type { DatabaseReport } from '../../../../src/wire/state/report.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { appendBlocks, createDecoder, reorg } from '../../../support/sync/generated-decoder.ts';
import { startLyingSource } from '../../../support/sync/lying-source.ts';
import { ReplicaThread } from '../../../support/sync/replica-thread.ts';
import { differences, PAIR_KEY, startTestHub } from '../../../support/sync/sync-pair.ts';
import { startSyncProcess, temporaryDirectory } from '../../../support/sync/sync-process.ts';

type Body = Record<string, unknown>;

const source = await createDatabase('council');
let tip = 129;
await createDecoder(source, { seed: 'council', blocks: 30, rows: 600 });
const server = await startServer(source);
/** Another way to the same blocks. */
const second = (await startLyingSource(server.url)).url;
const SILENT = 'http://127.0.0.1:9';

async function startServer(of: DatabaseCoordinates, pollMs = 30) {
  const hubPort = await startTestHub([['decoder', of]]);
  return startSyncProcess({
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hubPort,
    SYNC_API_KEY: PAIR_KEY,
    SYNC_MODE: 'server',
    SYNC_API_PORT: await freePort(),
    SYNC_STATE_DIR: temporaryDirectory('server-state'),
    BLOCK_POLL_INTERVAL: pollMs,
    SNAPSHOT_RATE_FULL: 1000,
    SNAPSHOT_RATE_INCR: 100_000
  });
}

async function follow(sources: readonly string[], options = {}) {
  const to = await createDatabase('council_replica');
  return { to, replica: new ReplicaThread(to, 'decoder', sources, options) };
}

const append = async (count = 1) => {
  tip = await appendBlocks(source, count, `block after ${tip}`);
};

async function assertEqual(to: DatabaseCoordinates): Promise<void> {
  const verdict = await compareDatabases(source, to);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
}

/** The same message or answer, about a block that does not exist. */
function falsify(body: Body): Body {
  const hash = body['block_hash'];
  return typeof hash === 'string' ? { ...body, block_hash: hash.replace(/^...../, 'false') } : body;
}

type Live = (message: Body) => readonly Body[];

/** A way to the server on which every answer and message is changed alike. */
async function liar(change: (body: Body) => Body): Promise<string> {
  return (
    await startLyingSource(
      server.url,
      (_, body) => change(body),
      undefined,
      (body) => [change(body)]
    )
  ).url;
}

/** A way to the server on which only the stream is changed. */
async function perverter(live: Live): Promise<string> {
  return (await startLyingSource(server.url, undefined, undefined, live)).url;
}

function dropsEveryOther(): Live {
  let count = 0;
  return (body) => (body['type'] === 'block' && count++ % 2 === 0 ? [] : [body]);
}

function swaps(): Live {
  let held: Body | undefined;
  return (body) => {
    if (body['type'] !== 'block') return [body];
    const sent = held ? [body, held] : [];
    held = held ? undefined : body;
    return sent;
  };
}

const raises: Live = (body) =>
  typeof body['block_index'] === 'number' ? [{ ...body, block_index: body['block_index'] + 1_000 }] : [body];
const inventsReorgs: Live = (body) =>
  body['type'] === 'block' ? [body, { ...body, type: 'reorg', block_index: Number(body['block_index']) - 4 }] : [body];
const changesEnvelope: Live = (body) => [body['type'] === 'block' ? falsify(body) : body];
const claimsHeight = (body: Body) => (body['block_height'] ? falsify({ ...body, block_height: 1e9 }) : body);

let isStuck = false;
let lastStatus: Body = {};
const sticks = (path: string, body: Body) => {
  if (!path.startsWith('/status')) return body;
  if (!isStuck) lastStatus = body;
  return lastStatus;
};
const stuck = (await startLyingSource(server.url, sticks, undefined, (body) => (isStuck ? [] : [body]))).url;

/** The source that breaks the contract, which comes first and is followed, or comes last; with two honest ones. */
const OFFENDERS: readonly (readonly [title: string, offender: string, place: 'first' | 'last'])[] = [
  ['the third of three sources is silent', SILENT, 'last'],
  ['the third of three sources changes every hash', await liar(falsify), 'last'],
  ['the source that is followed changes every hash', await liar(falsify), 'first'],
  [
    'the source that is followed changes the hash of a block and not its row',
    await perverter(changesEnvelope),
    'first'
  ],
  ['the source that is followed drops every other block', await perverter(dropsEveryOther()), 'first'],
  ['the source that is followed repeats every block', await perverter((body) => [body, body]), 'first'],
  ['the source that is followed sends blocks in the wrong order', await perverter(swaps()), 'first'],
  ['the source that is followed says that its blocks are higher than they are', await perverter(raises), 'first'],
  ['the source that is followed claims a height that it does not have', await liar(claimsHeight), 'first'],
  ['the source that is followed invents reorgs', await perverter(inventsReorgs), 'first'],
  ['the source that is followed stays behind the others', stuck, 'first']
];

const followers = await Promise.all(
  OFFENDERS.map(([, offender, place]) =>
    follow(place === 'first' ? [offender, server.url, second] : [server.url, second, offender])
  )
);
const waiting = await follow([server.url, SILENT]);
const grown = Promise.all(followers.map(({ replica }) => replica.isLiveAt(tip))).then(async () => {
  isStuck = true;
  await append(4);
});

for (const [index, [title, offender]] of OFFENDERS.entries()) {
  test(`${title}: the replica goes on, and is equal`, async () => {
    const { to, replica } = followers[index]!;
    await grown;
    await replica.isLiveAt(tip);
    await assertEqual(to);
    const { replica: standing } = replica.report!;
    assert.deepEqual([standing!.reorgs, standing!.repairs, standing!.halt], [0, 0, null]);
    if (title.includes('changes every hash')) {
      await replica.until('the liar is counted', () => replica.source(offender)!.dissents > 0);
      assert.notEqual(replica.source(offender)!.state, 'followed');
    }
    if (offender === stuck) assert.notEqual(replica.source(stuck)!.state, 'followed');
    for (const honest of [server.url, second]) assert.equal(replica.source(honest)!.dissents, 0);
    await replica.end();
  });
}

test('silence is not consent: of two sources, what one says alone is neither loaded nor complete, and no halt', async () => {
  await grown;
  const { phase, replica } = waiting.replica.report!;
  assert.equal(phase, 'bootstrapping.downloading');
  assert.deepEqual([replica!.complete, replica!.halt], [false, null]);
  await waiting.replica.end();
});

/** The same server by another name. */
const alias = server.url.replace('127.0.0.1', 'localhost');

test('one server under two names, and two servers of one database, are no majority of three; with the third one they are', async () => {
  await grown;
  const sibling = await startServer(source);
  for (const name of [alias, sibling.url]) {
    const { replica } = await follow([server.url, name, SILENT]);
    await replica.until('the two are known to be one', () => replica.source(name)?.same_as?.[0] === server.url);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const { phase, replica: standing } = replica.report!;
    assert.deepEqual([phase, standing!.complete, standing!.halt], ['bootstrapping.downloading', false, null]);
    await replica.end();
    const confirmed = await follow([server.url, name, second]);
    await confirmed.replica.isLiveAt(tip);
    await assertEqual(confirmed.to);
    await confirmed.replica.end();
  }
  await sibling.end();
});

test('a source that claims to be an honest one neither silences it nor speaks for it', async () => {
  await grown;
  // What it is asked of itself it has the honest one sign.
  const impostor = (
    await startLyingSource(
      server.url,
      (path, body) => (path.includes('challenge=') ? body : falsify(body)),
      undefined,
      (body) => [falsify(body)],
      undefined,
      true
    )
  ).url;
  const { to, replica } = await follow([impostor, server.url, second]);
  await replica.isLiveAt(tip);
  await append(2);
  await replica.isLiveAt(tip);
  await assertEqual(to);
  assert.deepEqual(replica.source(impostor)!.same_as, [server.url]);
  assert.ok(replica.source(impostor)!.dissents > 0);
  assert.equal(replica.source(server.url)!.dissents, 0);
  await replica.end();
});

test('two sources that disagree: nothing more is applied, and the halt stays until an operator clears it', async () => {
  await grown;
  let lies = false;
  const other = await liar((body) => (lies ? falsify(body) : body));
  const options = { stateDirectory: temporaryDirectory('halted-state') };
  const sources = [server.url, other];
  const { to, replica } = await follow(sources, options);
  await replica.isLiveAt(tip);
  lies = true;
  await append();
  await replica.until('halted', ({ phase }) => phase === 'halted');
  const { height, replica: standing } = replica.report!;
  const halt = standing!.halt!;
  assert.equal(height, tip - 1);
  assert.deepEqual([halt.block_index, halt.reason, halt.sources], [tip, 'hash-mismatch', sources]);
  assert.deepEqual(Object.keys(halt.mismatches as object).sort(), sources.toSorted());
  await replica.end();

  const file = join(options.stateDirectory, 'decoder-litecoin-regtest.halt.json');
  writeFileSync(file, JSON.stringify(halt)); // where a halt goes that the database did not take
  const restarted = new ReplicaThread(to, 'decoder', sources, options);
  await restarted.until('halted', ({ phase }) => phase === 'halted');
  assert.deepEqual(restarted.report!.replica!.halt, halt);
  assert.deepEqual(await restarted.handle.ask('halt.clear', {}), { was: halt });
  assert.equal(existsSync(file), false);
  const isHaltedAnew = ({ replica: now }: DatabaseReport) =>
    now!.halt !== null && now!.halt.detected_at > halt.detected_at;
  await restarted.until('halted anew, as they still disagree', isHaltedAnew);
  lies = false;
  await restarted.handle.ask('halt.clear', {});
  await restarted.isLiveAt(tip);
  assert.deepEqual(await restarted.handle.ask('halt.clear', {}), { was: null });
  await assertEqual(to);
  await restarted.end();
});

test('a reorg that two sources see at different moments is no halt, whichever is followed', async () => {
  await grown;
  const late = await startServer(source, 400);
  const options = { hashConfirmTimeoutMs: 10_000 };
  const pair = [server.url, late.url];
  const both = await Promise.all([follow(pair, options), follow(pair.toReversed(), options)]);
  await Promise.all(both.map(({ replica }) => replica.isLiveAt(tip)));
  tip = await reorg(source, 3, 3, 'seen at different moments');
  await Promise.all(
    both.map(async ({ to, replica }) => {
      await replica.until('reorganised', (report) => report.replica!.reorgs > 0);
      await replica.isLiveAt(tip);
      await assertEqual(to);
      await replica.end();
    })
  );
  await late.end();
});

test('two sources on different forks: nothing is loaded, nothing is complete, and replication halts', async () => {
  const fork = await createDatabase('council_fork');
  await createDecoder(fork, { seed: 'another chain', blocks: tip - 99, rows: 600 });
  const other = await startServer(fork);
  const { replica } = await follow([server.url, other.url], { hashConfirmTimeoutMs: 300 });
  await replica.until('halted', ({ phase }) => phase === 'halted');
  assert.equal(replica.report!.replica!.complete, false);
  assert.equal(replica.report!.replica!.halt!.block_index, tip);
  await replica.end();
  await other.end();
});
