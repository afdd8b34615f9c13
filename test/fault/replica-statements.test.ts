import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect } from '../../src/db/connection.ts';
import type { WriterContext } from '../../src/replication/replica/apply/block-writer.ts';
import { planRollback, rollBack } from '../../src/replication/replica/apply/rollback.ts';
import {
  type ReplicaState,
  readReplicaState,
  writeReplicaState
} from '../../src/replication/replica/database/state.ts';
import { openWriter } from '../../src/replication/replica/database/writer-connection.ts';
import { type Fault, FaultyLink } from '../support/faulty-link.ts';
import {
  apply,
  content,
  context,
  createReplica,
  FIRST,
  laterSource,
  readyForSnapshot,
  readyToApply,
  SECOND
} from '../support/sync/small-replica.ts';

/** After a deadlock the transaction is gone, after a lock wait it is not; a cut after COMMIT hides whether it took effect. */
const FAULTS: readonly Fault[] = [
  ...[1205, 1213, 2013, 1040, 1317, 1969, null].map((errno) => ({ when: 'before', errno }) as const),
  { when: 'after', errno: 1317 },
  { when: 'after', errno: null }
];
const MOST_STATEMENTS = 200;

/** One transaction of the writer. */
interface Step {
  /** Reads what it needs; the transaction begins with the call of what it returns. */
  ready(writer: Connection, known: WriterContext): Promise<() => Promise<unknown>>;
  /** Brings the replica from height 1, or from where the step ends, to where it begins. */
  prepare(writer: Connection, known: WriterContext): Promise<void>;
}

/** Surrogates that the replica deals may have gaps after an attempt that failed: only their order is compared. */
function withoutDealtIds(found: Record<string, string[]>): Record<string, string[]> {
  const list = Object.entries(found).map(([name, rows]) => {
    if (name !== 'notes' && name !== 'tokens') return [name, rows] as const;
    const inOrder = rows.map((text) => JSON.parse(text)).sort((a, b) => a.id - b.id);
    return [name, inOrder.map(({ id: _dealt, ...rest }) => JSON.stringify(rest))] as const;
  });
  return Object.fromEntries(list);
}

async function readyToRollBack(writer: Connection, known: WriterContext): Promise<() => Promise<void>> {
  const plan = await planRollback(writer, 3, 1);
  const state = await readReplicaState(writer);
  return () => rollBack(writer, known, state, plan!);
}

/** Back at height 1, where it was. */
async function toHeightOne(writer: Connection, known: WriterContext): Promise<void> {
  if ((await readReplicaState(writer)).height === 1) return;
  await (await readyToRollBack(writer, known))();
  await writeReplicaState(writer, { complete: true, phase: 'following' });
}

const essence = ({ height, complete, phase, hashes }: ReplicaState) => ({ height, complete, phase, hashes });

async function look(writer: Connection) {
  return { rows: await content(writer), state: essence(await readReplicaState(writer)) };
}

/**
 * Lets each statement of a step meet each fault, and goes on as the replica's actor does: another connection reads the
 * height. Whatever failed before, the attempt that meets no fault is the retry, and all rows are compared.
 */
async function everyStatement({ ready, prepare }: Step): Promise<void> {
  const { to, writer: maker } = await createReplica();
  await apply(maker, [FIRST]);
  const known = await context(maker);
  await prepare(maker, known);
  await (await ready(maker, known))();
  const after = await look(maker);
  await maker.end();

  const observer = await connect(to);
  const link = await FaultyLink.open(to);
  const open = () => openWriter(link.through(to), { generation: 1 });
  for (const fault of FAULTS) {
    let writer = await open();
    await prepare(writer, known);
    const before = await look(observer);
    for (let nth = 1, failed: string | undefined = ''; failed !== undefined; nth++) {
      const attempt = await ready(writer, known);
      link.fail(nth, fault);
      const failure = await attempt().then(
        () => undefined,
        (caught: { code?: string }) => caught
      );
      failed = link.statements[nth - 1];
      link.watch();
      const place = `${fault.errno ?? 'a cut'} ${fault.when} statement ${nth}: ${failed}`;
      assert.ok(nth < MOST_STATEMENTS, place);
      if (failed !== undefined) {
        assert.equal(failure?.code, 'DATABASE_UNAVAILABLE', place);
        await assert.rejects(writer.query('SELECT 1'), `${place}: the connection is used again`);
        writer = await open();
      }
      const now = await look(observer);
      const mayStand = failed === undefined || (fault.when === 'after' && failed.endsWith('COMMIT'));
      const expected = mayStand ? after : before;
      assert.deepEqual(now.state, expected.state, place);
      assert.deepEqual(withoutDealtIds(now.rows), withoutDealtIds(expected.rows), place);
      if (mayStand) await prepare(writer, known);
    }
    await writer.end();
  }
  await observer.end();
  assert.ok(link.faults > 20 * FAULTS.length, `${link.faults} faults`);
}

test('whichever statement of a group fails, and however: no half group, none twice, equal rows after the retry', () =>
  everyStatement({ ready: (writer, known) => readyToApply(writer, SECOND, known), prepare: toHeightOne }));

test('whichever statement of a since-snapshot fails, and however: all of it or nothing, equal rows after the retry', () =>
  everyStatement({
    ready: (writer, known) => readyForSnapshot(writer, 3, laterSource(), known),
    prepare: toHeightOne
  }));

test('whichever statement of a rollback fails, and however: all groups are undone or none', () =>
  everyStatement({
    ready: readyToRollBack,
    prepare: async (writer, known) => {
      if ((await readReplicaState(writer)).height === 1) await (await readyToApply(writer, SECOND, known))();
    }
  }));
