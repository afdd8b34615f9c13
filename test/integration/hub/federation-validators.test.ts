import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { rows } from '../../../src/db/connection.ts';
import { isWellFormed } from '../../../src/hub/federation/journal/set-state.ts';
import { validatorListState } from '../../../src/hub/federation/journal/validator-list-state.ts';
import { type ListChange, listBodyOf, readListChanges } from '../../../src/hub/federation/matters/validator-list.ts';
import { type JournalDatabase, openJournal } from '../../support/federation/database.ts';

const [ONE, TWO] = ['0e', '0f'].map((seed) => signingKey(seed.repeat(32)).pubkey) as [string, string];
const HUBS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const TIME = 1_767_225_600_000;

const opened: JournalDatabase[] = [];
after(() => {
  for (const { connection } of opened) connection.destroy();
});

/** The list of a set of seven, of which two may lie. */
async function openList() {
  const journal = await openJournal();
  opened.push(journal);
  const { connection } = journal;
  const machine = validatorListState({ keys: HUBS, faulty: 2 });
  let number = 0;
  const say = async (hub: string, changes: readonly ListChange[], time = TIME) => {
    number += 1;
    await connection.query('START TRANSACTION');
    const operation = { submitter: hub, number, body: listBodyOf(changes), sig: '' };
    const reason = await machine.apply(connection, operation, time);
    await connection.query(reason === null ? 'COMMIT' : 'ROLLBACK');
    return reason;
  };
  const listed = async (status = 'active') =>
    (
      await rows(connection, 'SELECT signing_pubkey, addr FROM validators WHERE status = ? ORDER BY addr', [status])
    ).map((row) => `${row['addr']} ${row['signing_pubkey'] === ONE ? 'one' : 'two'}`);
  return { connection, machine, say, listed };
}

test('two of seven that lie list nobody, take nobody out and give nobody another key; three hubs do', async () => {
  const { connection, machine, say, listed } = await openList();
  const one = { pubkey: ONE, addr: 'one:1' };
  for (const hub of ['a', 'b', 'a', 'b']) assert.equal(await say(hub, [one]), null);
  await say('c', [{ ...one, addr: 'other:1' }]);
  assert.deepEqual(await listed(), []);
  await say('c', [one]);
  assert.deepEqual(await listed(), ['one:1 one']);
  assert.match((await say('z', [one])) ?? '', /not of the set/);

  // The words are gone with the change: those of before count for nothing else.
  for (const change of [
    { pubkey: ONE, addr: null },
    { pubkey: ONE, addr: 'other:1' },
    { pubkey: TWO, addr: 'one:1' }
  ])
    for (const hub of ['a', 'b']) await say(hub, [change]);
  assert.deepEqual(await listed(), ['one:1 one']);
  // A hub that wants it as it is has no other wish any more.
  await say('b', [one]);
  await say('c', [{ pubkey: ONE, addr: 'other:1' }]);
  assert.deepEqual(await listed(), ['one:1 one']);
  await say('g', [{ pubkey: TWO, addr: 'one:1' }], TIME + 5_000);
  assert.deepEqual([await listed(), await listed('removed')], [['one:1 two'], ['one:1 one']]);
  const [stamps] = await rows(connection, 'SELECT created_at, updated_at FROM validators WHERE signing_pubkey = ?', [
    ONE
  ]);
  assert.deepEqual(stamps, { created_at: '2026-01-01 00:00:00', updated_at: '2026-01-01 00:00:05' });

  const dumped = await machine.dump(connection);
  const other = await openList();
  await other.machine.replace(other.connection, dumped);
  assert.deepEqual(await other.machine.dump(other.connection), dumped);
  await other.machine.replace(other.connection, []);
  assert.deepEqual(await other.machine.dump(other.connection), []);
  const kept = await rows(other.connection, "SELECT COUNT(*) AS n FROM matters_before_set WHERE name = 'validators'");
  assert.equal(Number(kept[0]!['n']), 2);
});

test('a hub that lies fills no table: its own wishes are bounded, and hold up no other hub', async () => {
  const { connection, say, listed } = await openList();
  const keyOf = (n: number) => signingKey(n.toString(16).padStart(64, '0')).pubkey;
  const all = Array.from({ length: 1_001 }, (_, n) => ({ pubkey: keyOf(n + 1), addr: `v${n}:1` }));
  assert.equal(await say('a', all.slice(0, 1_000)), null);
  assert.match((await say('a', all.slice(1_000))) ?? '', /1000 changes of this hub wait/);
  const [count] = await rows(connection, 'SELECT COUNT(*) AS n FROM consensus_approvals');
  assert.equal(Number(count!['n']), 1_000);
  for (const hub of ['b', 'c', 'd']) assert.equal(await say(hub, [{ pubkey: ONE, addr: 'one:1' }]), null);
  assert.deepEqual(await listed(), ['one:1 one']);
});

test('an operation on the list has one form', () => {
  const good = [
    { pubkey: ONE, addr: 'host:1' },
    { pubkey: TWO, addr: null }
  ];
  assert.deepEqual(readListChanges(listBodyOf(good)), good);
  assert.ok(isWellFormed(listBodyOf(good)));
  const wrong = [
    [],
    [{ pubkey: ONE.toUpperCase(), addr: 'host:1' }],
    [{ pubkey: '0'.repeat(64), addr: 'host:1' }],
    [{ pubkey: ONE, addr: 'host:65536' }],
    [{ pubkey: ONE, addr: 'host' }],
    [{ pubkey: ONE, addr: 5 }],
    [{ pubkey: ONE }],
    [{ pubkey: ONE, addr: 'host:1', more: 1 }],
    [good[0]!, good[0]!],
    Array.from({ length: 1_001 }, () => good[0]!)
  ];
  for (const changes of wrong)
    assert.equal(readListChanges(JSON.stringify({ validators: changes })), null, JSON.stringify(changes).slice(0, 200));
  assert.equal(readListChanges(JSON.stringify({ validators: good, more: 1 })), null);
  assert.equal(readListChanges('{"validators":'), null);
});
