import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { connect, rows } from '../../src/db/connection.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import { type Fault, FaultyLink } from '../support/faulty-link.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { bootstrapper } from '../support/sync/bootstrapper.ts';
import { appendBlocks, createDecoder } from '../support/sync/generated-decoder.ts';
import { differences, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, replicasAt } from '../support/sync/sync-process.ts';

const FAULTS: readonly Fault[] = [
  { when: 'before', errno: 1213 },
  { when: 'after', errno: null },
  { when: 'before', errno: 1969 },
  { when: 'after', errno: 1317 }
];
const MOST_STATEMENTS = 1_000;
/** Distance of the places of faults: an attempt leaves out what it finds done, so that the places move on between attempts too. */
const STRIDE = 2;
async function createPair(rowCount: number): Promise<SyncPair> {
  const source = await createDatabase('bootstrap');
  await createDecoder(source, { seed: 'bootstrap', blocks: 20, rows: rowCount });
  return startPair('decoder', source);
}

test('statements all over a bootstrap fail, on whichever connection: never complete before it is equal, and equal in the end', async () => {
  const pair = await createPair(100);
  const link = await FaultyLink.open(pair.source);
  const { attempt, close, open } = bootstrapper(pair.server.url, link.through(pair.replica));
  await open();
  close();
  link.watch();
  await open();
  const opening = link.statements.length;
  close();
  const control = await connect(pair.replica);
  for (let nth = opening + 1, failed: string | undefined = ''; failed !== undefined; nth += STRIDE) {
    const fault = FAULTS[(nth >> 1) % FAULTS.length]!;
    link.fail(nth, fault);
    const outcome = await attempt().then(
      () => 'done',
      (caught: Error & { code?: string }) => caught
    );
    failed = link.statements[nth - 1];
    link.watch();
    const place = `${fault.errno ?? 'a cut'} ${fault.when} statement ${nth}: ${failed}`;
    assert.ok(nth < MOST_STATEMENTS, place);
    assert.equal(outcome === 'done', failed === undefined, `${place}; ${inspect(outcome)}`);
    const [marker] = await rows(control, 'SELECT complete FROM sync_state');
    if (marker && Number(marker['complete']) === 1) break;
  }
  const verdict = await compareDatabases(pair.source, pair.replica);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  assert.ok(link.faults > 15, `${link.faults} faults`);
  await control.end();
  await pair.server.end();
});

test('a replica server without local_infile is filled by INSERT, says so once, and is equal', async () => {
  const pair = await createPair(2_000);
  const { root } = await startOwnServer(['--local-infile=0']);
  const client = await pair.startClient(replicasAt(root));
  const replica = { ...root, name: pair.replica.name };
  await eventually('the replica is live', async () => (await pair.status(client))['phase'] === 'live');
  const verdict = await compareDatabases(pair.source, replica);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  assert.equal(client.log().split('local_infile is off at the replica server').length, 2);
  await client.end();
  await pair.server.end();
});

test('REPLICA_LOCKED: a second process on one replica halts with one line that names the holder; the first goes on', async () => {
  const pair = await createPair(100);
  const first = await pair.startClient();
  await eventually('the replica is live', async () => (await pair.status(first))['phase'] === 'live');
  const second = await pair.startClient();
  await eventually('the second is refused', async () => second.log().includes('one writer at a time'));
  await sleep(1_000);
  const lines = second
    .log()
    .split('\n')
    .filter((line) => line.includes('one writer at a time'));
  assert.equal(lines.length, 1, lines.join('\n'));
  assert.match(lines[0]!, new RegExp(`${pair.replica.name}: connection \\d+ of its server .* holds the lock`));
  const height = await appendBlocks(pair.source, 3, 'after');
  const verdict = await pair.settle(first, height);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  await second.end();
  await first.end();
  await pair.server.end();
});
