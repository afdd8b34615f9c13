import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { MATTER_BEHAVIOURS, MattersSimulation } from '../../../lab/federation/matters.ts';
import { canonicalJson } from '../../../src/consensus/canonical-json.ts';
import { rows } from '../../../src/db/connection.ts';
import { matterRulesOf } from '../../../src/hub/federation/gossip/signatures.ts';
import { matterState, readOpenMatters } from '../../../src/hub/federation/journal/matter-state.ts';
import { readRoundFacts } from '../../../src/hub/federation/journal/round-state.ts';
import type { SubmittedStep } from '../../../src/hub/federation/matters/decide.ts';
import { type MatterStep, matterBodyOf } from '../../../src/hub/federation/matters/operations.ts';
import { KEPT_MATTERS, SWAP_LIFE_MS } from '../../../src/hub/federation/matters/rules.ts';
import { type JournalDatabase, openJournal } from '../../support/federation/database.ts';
import { SET } from '../../support/federation/node.ts';

const opened: JournalDatabase[] = [];
after(() => {
  for (const { connection } of opened) connection.destroy();
});
const open = async (): Promise<JournalDatabase> => {
  const one = await openJournal();
  opened.push(one);
  return one;
};

/** Tables that methods read, with their order. */
const READ = {
  attestations: 'id',
  swap_records: 'id',
  reorg_attestations: 'id',
  governance_proposals: 'id',
  governance_votes: 'id'
} as const;

test('the database decides as the core does, whatever a liar does, and another hub takes all of it over', async () => {
  for (const behaviour of [undefined, ...MATTER_BEHAVIOURS.filter((one) => one !== 'asks all the time')]) {
    const steps: { readonly submitted: SubmittedStep; readonly time: number }[] = [];
    const watch = (submitted: SubmittedStep, time: number) => steps.push({ submitted, time });
    const simulation = new MattersSimulation({ seed: 5, hubs: 4, steps: 15, ...(behaviour && { behaviour }), watch });
    simulation.run();
    const { connection } = await open();
    for (const key of simulation.rules.keys)
      await connection.query(
        `INSERT INTO validator_capabilities (signing_pubkey, capability, qualified, self_test_ok, enabled)
         VALUES (?, 'cross_chain', 1, 1, 1)`,
        [key]
      );
    const machine = matterState(simulation.rules);
    await connection.query('START TRANSACTION');
    for (const [number, { submitted, time }] of steps.entries()) {
      const { submitter, sig, step } = submitted;
      await machine.begin!(connection, time);
      await machine.apply(connection, { submitter, number, body: matterBodyOf(step), sig }, time);
    }
    await connection.query('COMMIT');
    const found = await rows(connection, 'SELECT record FROM consensus_matters');
    assert.deepEqual(
      found.map((row) => String(row['record'])).toSorted(),
      simulation.matters.map(canonicalJson).toSorted(),
      `${behaviour}`
    );
    const dumped = await machine.dump(connection);
    if (behaviour !== undefined) continue;
    const other = await open();
    await machine.replace(other.connection, dumped);
    assert.deepEqual(await machine.dump(other.connection), dumped);
    for (const [table, order] of Object.entries(READ)) {
      const [first, second] = await Promise.all(
        [connection, other.connection].map((one) => rows(one, `SELECT * FROM ${table} ORDER BY ${order}`))
      );
      assert.deepEqual(first, second, table);
      assert.ok(first!.length > 0, table);
    }
  }
});

test('rows that a hub wrote without a set are kept aside, and are not read any more', async () => {
  const { connection } = await open();
  await connection.query(
    `INSERT INTO attestations (attestation_id, source_chain, source_action_index, dest_chain, status, validator_count)
     VALUES ('BTC:5:LTC', 'BTC', 5, 'LTC', 'attested', 0)`
  );
  const machine = matterState(new MattersSimulation({ seed: 1, hubs: 4, steps: 0 }).rules);
  await machine.replace(connection, []);
  assert.deepEqual(await rows(connection, 'SELECT id FROM attestations'), []);
  const [kept] = await rows(connection, 'SELECT name, record FROM matters_before_set');
  assert.deepEqual(
    [kept!['name'], JSON.parse(String(kept!['record']))],
    ['attestations', ['BTC:5:LTC', null, 'attested']]
  );
  await machine.replace(connection, []);
  assert.equal((await rows(connection, 'SELECT name FROM matters_before_set')).length, 1);
});

test('the bounds of evidence are those that the set voted for last, in any case of their names', async () => {
  const { connection } = await open();
  const rules = matterRulesOf(SET);
  const machine = matterState(rules);
  let time = 1_767_225_600_000;
  const take = async (submitter: string, step: MatterStep) => {
    time += 1_000;
    await machine.begin!(connection, time);
    return await machine.apply(
      connection,
      { submitter, number: 0, body: matterBodyOf(step), sig: 'aa'.repeat(64) },
      time
    );
  };
  const propose = (parameter: string, proposedValue: string) =>
    take(SET.keys[0]!, { type: 'propose', parameter, currentValue: null, proposedValue, rationale: null });
  const pass = async (parameter: string, proposedValue: string) => {
    assert.equal(await propose(parameter, proposedValue), null);
    const [proposal] = await readOpenMatters(connection);
    for (const hub of SET.keys.slice(0, 3))
      assert.equal(await take(hub, { type: 'vote', id: proposal!.id, approves: true }), null);
  };
  const bounds = async () => (await readRoundFacts(connection)).bounds;
  assert.deepEqual(await bounds(), { missed: 10, offPercent: '10' });
  assert.match((await propose('SLASH_MISSED_ROUNDS_THRESHOLD', '13'))!, /by \+25 % or -20 % at most/);
  await pass('slash_missed_rounds_threshold', '12.5');
  await pass('SLASH_DEVIATION_THRESHOLD', '8');
  assert.deepEqual(await bounds(), { missed: 12, offPercent: '8' });
  await pass('SLASH_DEVIATION_THRESHOLD', '9.5');
  assert.deepEqual(await bounds(), { missed: 12, offPercent: '9.5' });
  assert.equal(await propose('SLASH_DEVIATION_THRESHOLD', '9'), null);
  assert.deepEqual(await bounds(), { missed: 12, offPercent: '9.5' }, 'one that is open changes nothing');
});

test('swaps under way are all kept, with the attestations of their actions, until they are settled or very old', async () => {
  const { connection } = await open();
  const rules = matterRulesOf(SET);
  const machine = matterState(rules);
  const [hub, second] = SET.keys as [string, string, ...string[]];
  for (const key of SET.keys)
    await connection.query(
      `INSERT INTO validator_capabilities (signing_pubkey, capability, qualified, self_test_ok, enabled)
       VALUES (?, 'cross_chain', 1, 1, 1)`,
      [key]
    );
  let time = 1_767_225_600_000;
  const take = async (submitter: string, step: MatterStep) => {
    await machine.begin!(connection, time);
    const body = matterBodyOf(step);
    assert.equal(await machine.apply(connection, { submitter, number: 0, body, sig: 'aa'.repeat(64) }, time), null);
  };
  const count = async (kind: string) =>
    Number((await rows(connection, 'SELECT COUNT(*) AS n FROM consensus_matters WHERE kind = ?', [kind]))[0]?.['n']);
  const begin = async (index: number) => {
    time += 20_000; // 180 an hour
    await take(hub, { type: 'swap', chain: 'BTC', index, destination: 'LTC', destinationIndex: null });
    const other = 10_000 + index; // an action of no swap
    await take(hub, { type: 'attest', chain: 'BTC', index: other, destination: 'LTC' });
    for (const one of [hub, second])
      await take(one, { type: 'action-word', id: `BTC:${other}:LTC`, turn: 1, place: null, sig: null });
  };
  const begun = KEPT_MATTERS + 20;
  await connection.query('START TRANSACTION');
  for (let index = 1; index <= begun; index++) await begin(index);
  assert.deepEqual([await count('swap'), await count('attestation')], [begun, begun]);
  time += SWAP_LIFE_MS;
  await begin(begun + 1);
  assert.deepEqual([await count('swap'), await count('attestation')], [KEPT_MATTERS + 1, KEPT_MATTERS + 1]);
  await connection.query('COMMIT');
});
