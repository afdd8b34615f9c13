import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { MatterBook } from '../../../lab/federation/matter-book.ts';
import { wantedBy } from '../../../src/hub/federation/matters/decide.ts';
import { type MatterStep, matterBodyOf, readMatter } from '../../../src/hub/federation/matters/operations.ts';
import type { ActionPlace, Reorg } from '../../../src/hub/federation/matters/records.ts';
import {
  ATTESTATION_MS,
  actionStatement,
  BOUNDS,
  DAY_MS,
  KEPT_FOR_MS,
  KEPT_MATTERS,
  type MatterRules,
  REPORT_PAUSE_MS,
  reorgStatement,
  SETTLE_MS,
  type Statement
} from '../../../src/hub/federation/matters/rules.ts';
import { dueStep } from '../../../src/hub/federation/matters/swaps.ts';

const KEYS = ['a', 'b', 'c', 'd'] as const;
const START = 1_767_225_600_000;
const HASHES = ['1', '2', '3'].map((digit) => digit.repeat(64)) as [string, string, string];
const signatureOf = (hub: string, statement: Statement) =>
  createHash('sha512')
    .update(`${hub} ${JSON.stringify(statement)}`)
    .digest('hex');
const RULES: MatterRules = {
  keys: KEYS,
  faulty: 1,
  votingPeriodMs: 7 * DAY_MS,
  settings: new Map([['ORACLE_ROUND_INTERVAL', '600000']]),
  isSigned: (statement, hub, sig) => sig === signatureOf(hub, statement)
};
const ATTEST = { type: 'attest', chain: 'BTC', index: 5, destination: 'LTC' } as const;
const ID = 'BTC:5:LTC';
const PLACE: ActionPlace = { action: 'SEND', height: 800, hash: HASHES[0] };
const REORG = {
  type: 'reorg',
  chain: 'BTC',
  height: 800,
  timestamp: 7,
  oldHash: HASHES[0],
  newHash: HASHES[1]
} as const;

/** A set of four, its log, and its clock. */
class Log {
  time = START;
  readonly book: MatterBook;

  constructor(qualified: readonly string[] = KEYS, rules: Partial<MatterRules> = {}) {
    this.book = new MatterBook({ ...RULES, ...rules }, qualified);
  }

  /** @returns why a step changes nothing; null: it is done */
  take(submitter: string, step: MatterStep): string | null {
    this.time += 1;
    const read = readMatter(matterBodyOf(step));
    assert.ok(read, `hubs take no ${JSON.stringify(step)}`);
    return this.book.take({ submitter, sig: `${submitter} signs`, step: read }, this.time);
  }

  /** A hub says where it found the action of `ATTEST`; null: nowhere. */
  say(hub: string, place: ActionPlace | null, turn = 1): string | null {
    const { chain, index, destination } = ATTEST;
    const sig = place && signatureOf(hub, actionStatement({ id: ID, chain, index, destination }, place));
    return this.take(hub, { type: 'action-word', id: ID, turn, place, sig });
  }

  sayReorg(hub: string, isSeen: boolean): string | null {
    const reorg = this.book.matters.find((matter) => matter.kind === 'reorg')!;
    const sig = isSeen ? signatureOf(hub, reorgStatement(reorg)) : null;
    return this.take(hub, { type: 'reorg-word', id: reorg.id, isSeen, sig });
  }

  get attestation() {
    return this.book.find('attestation', ID)!;
  }

  get reorg() {
    return this.book.matters.find((matter) => matter.kind === 'reorg')!;
  }
}

test('an action is attested with the words of a quorum of those that qualify, each about the same place', () => {
  const log = new Log();
  assert.equal(log.take('a', ATTEST), null);
  assert.deepEqual([log.attestation.status, log.attestation.validators], ['pending', KEYS]);
  log.say('a', PLACE);
  log.say('b', { ...PLACE, hash: HASHES[1] });
  log.say('c', PLACE);
  assert.equal(log.attestation.status, 'pending');
  log.say('d', PLACE);
  assert.deepEqual([log.attestation.status, log.attestation.decidedAt], ['attested', log.time]);
  assert.match(log.say('b', PLACE)!, /is attested/);
  assert.equal(log.take('b', ATTEST), null, 'the same again is no change');
  assert.deepEqual([log.attestation.turn, log.attestation.submitter], [1, 'a']);
});

test('an action is rejected when a quorum is out of reach, and can be asked for again; a word of another turn does not count', () => {
  const log = new Log();
  log.take('a', ATTEST);
  log.say('a', null);
  assert.equal(log.attestation.status, 'pending');
  log.say('b', null);
  assert.equal(log.attestation.status, 'rejected');
  log.take('c', ATTEST);
  assert.deepEqual([log.attestation.status, log.attestation.turn, log.attestation.words], ['pending', 2, []]);
  assert.match(log.say('a', PLACE)!, /in turn 2, not 1/);
  for (const hub of ['a', 'b', 'c']) assert.equal(log.say(hub, PLACE, 2), null);
  assert.equal(log.attestation.status, 'attested');
});

test('a word counts once, from a hub that qualified, and with its own signature of just this', () => {
  const log = new Log(['a', 'b', 'c']);
  log.take('a', ATTEST);
  const { chain, index, destination } = ATTEST;
  const statement = actionStatement({ id: ID, chain, index, destination }, PLACE);
  const word = { type: 'action-word', id: ID, turn: 1, place: PLACE } as const;
  assert.match(log.say('d', PLACE)!, /did not qualify/);
  assert.match(log.take('e', { ...word, sig: signatureOf('e', statement) })!, /not of the set/);
  const wrong: readonly Statement[] = [
    { ...statement, attestation: 'BTC:6:LTC' } as Statement,
    { ...statement, hash: HASHES[1] } as Statement,
    { ...statement, height: 801 } as Statement
  ];
  for (const other of wrong) assert.match(log.take('a', { ...word, sig: signatureOf('a', other) })!, /is none/);
  assert.match(log.take('a', { ...word, sig: signatureOf('b', statement) })!, /is none/);
  assert.equal(log.say('a', PLACE), null);
  assert.match(log.say('a', PLACE)!, /has said something/);
  assert.match(log.say('a', null)!, /has said something/);
  assert.equal(log.say('b', PLACE), null);
  assert.equal(log.attestation.status, 'attested', 'two of three decide');
});

test('nothing is attested where those that decide could all lie', () => {
  assert.match(new Log([]).take('a', ATTEST)!, /no hub of the set qualifies/);
  assert.match(new Log(['d']).take('a', ATTEST)!, /all 1 that decide could lie/);
  assert.match(new Log(['d']).take('a', REORG)!, /all 1 that decide could lie/);
  assert.equal(new Log(['c', 'd']).take('a', ATTEST), null);
  const seven = { keys: ['a', 'b', 'c', 'd', 'e', 'f', 'g'], faulty: 2 };
  assert.match(new Log(['e', 'f', 'g'], seven).take('a', ATTEST)!, /all 2 that decide could lie/);
  assert.equal(new Log(['d', 'e', 'f', 'g'], seven).take('a', ATTEST), null);
});

test('a question that is open too long expires by the clock of the log, whatever operation comes then', () => {
  const log = new Log();
  log.take('a', ATTEST);
  log.take('a', REORG);
  const { endsAt } = log.attestation;
  assert.match(log.take('b', { type: 'close', endsAt: endsAt! })!, /not there yet/);
  log.time = START + ATTESTATION_MS + 10;
  assert.equal(log.take('b', { type: 'close', endsAt: endsAt! }), null);
  assert.deepEqual([log.attestation.status, log.reorg.status], ['expired', 'expired']);
  assert.match(log.say('a', PLACE)!, /is expired/);
});

test('a reorg that a quorum has seen takes back what was attested at its height and above', () => {
  for (const [height, status] of [
    [800, 'pending'],
    [801, 'attested']
  ] as const) {
    const log = new Log();
    log.take('a', ATTEST);
    for (const hub of ['a', 'b', 'c']) log.say(hub, PLACE);
    log.take('d', { ...REORG, height });
    for (const hub of ['a', 'b']) log.sayReorg(hub, true);
    assert.deepEqual([log.reorg.status, log.attestation.status], ['reported', 'attested']);
    log.sayReorg('c', true);
    assert.deepEqual([log.reorg.status, log.attestation.status], ['confirmed', status]);
    assert.deepEqual(log.reorg.affected, height === 800 ? ['LTC'] : []);
    if (status === 'attested') continue;
    assert.deepEqual([log.attestation.turn, log.attestation.words, log.attestation.reorg], [2, [], log.reorg.id]);
    for (const hub of ['a', 'b', 'd']) log.say(hub, { ...PLACE, hash: HASHES[1] }, 2);
    assert.equal(log.attestation.status, 'attested');
  }
});

test('one reorg takes attestations back once, however often it is reported; a chain that goes back again does so anew', () => {
  const log = new Log();
  const there = { ...REORG, timestamp: 8 } as const;
  const confirm = (hub: string, report: typeof REORG | typeof there) => {
    log.time += 2 * DAY_MS;
    const before = log.book.matters.length;
    assert.equal(log.take(hub, { ...report, timestamp: log.time % 1_000_000 }), null);
    const last = log.book.matters.at(-1)!;
    if (log.book.matters.length === before || last.kind !== 'reorg') return false;
    for (const each of KEYS.slice(0, 3))
      log.take(each, { type: 'reorg-word', id: last.id, isSeen: true, sig: signatureOf(each, reorgStatement(last)) });
    return true;
  };
  const attest = (hash: string, turn: number) => {
    for (const hub of KEYS.slice(0, 3)) log.say(hub, { ...PLACE, hash }, turn);
    assert.deepEqual([log.attestation.status, log.attestation.turn], ['attested', turn]);
  };
  log.take('a', ATTEST);
  attest(HASHES[0], 1);
  assert.ok(confirm('d', REORG));
  attest(HASHES[1], 2);
  // It has begun many others meanwhile, and the oldest of its reports that are over are kept no more.
  for (let at = 0; at < KEPT_MATTERS + 10; at++) {
    log.time += 4 * REPORT_PAUSE_MS;
    assert.equal(log.take('d', { ...REORG, chain: 'LTC', height: at, timestamp: at }), null);
  }
  assert.ok(!confirm('d', REORG) && !confirm('a', there), 'it is the same reorg');
  assert.deepEqual([log.attestation.status, log.attestation.turn], ['attested', 2]);
  const back = { ...REORG, oldHash: HASHES[1], newHash: HASHES[0] } as unknown as typeof REORG;
  assert.ok(confirm('a', back));
  attest(HASHES[0], 3);
  assert.ok(confirm('d', REORG), 'the chain was back at the old block');
  assert.deepEqual([log.attestation.status, log.attestation.turn], ['pending', 4]);
  // One that began lower changed this block as well.
  assert.ok(confirm('a', { ...REORG, height: 799, oldHash: HASHES[2] } as unknown as typeof REORG));
  assert.ok(confirm('d', REORG));
});

test('a reorg that too many have not seen is rejected and takes nothing back; it may be reported again', () => {
  const log = new Log();
  log.take('a', ATTEST);
  for (const hub of ['a', 'b', 'c']) log.say(hub, PLACE);
  log.take('d', REORG);
  assert.match(log.take('a', { type: 'reorg-word', id: log.reorg.id, isSeen: true, sig: 'f'.repeat(128) })!, /is none/);
  log.sayReorg('a', false);
  assert.match(log.sayReorg('a', true)!, /has said something/);
  log.sayReorg('b', false);
  assert.deepEqual([log.reorg.status, log.attestation.status], ['rejected', 'attested']);
  assert.match(log.sayReorg('c', true)!, /is rejected/);
  assert.match(log.take('a', REORG)!, /with another timestamp/);
  assert.equal(log.take('a', { ...REORG, timestamp: 8 }), null);
});

test('a hub reports a chain once a minute, and holds up no report of another hub', () => {
  const log = new Log();
  assert.equal(log.take('d', { ...REORG, oldHash: HASHES[2] }), null);
  assert.match(log.take('d', { ...REORG, height: 1 })!, /less than 60 s ago/);
  assert.equal(log.take('d', { ...REORG, chain: 'LTC' }), null);
  assert.equal(log.take('a', REORG), null, 'the same height and time, other blocks');
  assert.equal(log.take('b', { ...REORG, timestamp: 9 }), null, 'the same blocks are one report');
  assert.equal(log.book.matters.length, 3);
  log.time += REPORT_PAUSE_MS;
  assert.equal(log.take('d', { ...REORG, height: 1 }), null);
});

test('a swap follows the attestation of its source action, and fails with it', () => {
  const swap = { type: 'swap', chain: 'BTC', index: 5, destination: 'LTC', destinationIndex: null } as const;
  const log = new Log();
  const found = () => log.book.find('swap', 'BTC:5')!;
  assert.equal(log.take('a', swap), null);
  assert.match(log.take('b', { ...swap, destination: 'DOGE' })!, /goes to LTC already, not to DOGE/);
  assert.equal(log.take('b', { ...swap, destinationIndex: 9 }), null);
  assert.match(log.take('c', { ...swap, destinationIndex: 8 })!, /goes to action 9 already/);
  assert.deepEqual([found().status, found().destinationIndex, found().attestation], ['initiated', 9, null]);
  log.take('a', ATTEST);
  for (const hub of ['a', 'b']) log.say(hub, null);
  assert.equal(found().status, 'failed');
  assert.equal(log.take('c', swap), null, 'it can be begun again');
  log.take('a', ATTEST);
  for (const hub of ['a', 'b', 'c']) log.say(hub, PLACE, 2);
  assert.deepEqual([found().status, found().attestation], ['attested', ID]);
  // A reorg took the action away.
  log.take('d', REORG);
  for (const hub of ['a', 'b', 'c']) log.sayReorg(hub, true);
  for (const hub of ['a', 'b']) log.say(hub, null, 3);
  assert.deepEqual([log.attestation.status, found().status], ['rejected', 'failed']);
  const late = new Log();
  late.take('a', ATTEST);
  for (const hub of ['a', 'b', 'c']) late.say(hub, PLACE);
  late.take('a', swap);
  assert.equal(late.book.find('swap', 'BTC:5')!.status, 'attested', 'one that comes after its attestation');
});

test('a swap is executed when its destination is attested, and settled when no reorg has shown for six hours', () => {
  const swap = { type: 'swap', chain: 'BTC', index: 5, destination: 'LTC', destinationIndex: 9 } as const;
  const target = { type: 'attest', chain: 'LTC', index: 9, destination: 'BTC' } as const;
  const log = new Log();
  const found = () => log.book.find('swap', 'BTC:5')!;
  const sayTarget = (place: ActionPlace | null, turn = 1) => {
    const { type: _, ...action } = target;
    for (const hub of ['a', 'b', 'c']) {
      const sig = place && signatureOf(hub, actionStatement({ id: 'LTC:9:BTC', ...action }, place));
      log.take(hub, { type: 'action-word', id: 'LTC:9:BTC', turn, place, sig });
    }
  };
  const due = (now = log.time) => {
    const [source, destination] = [ID, 'LTC:9:BTC'].map((id) => log.book.find('attestation', id));
    return dueStep({ swap: found(), source, destination }, now);
  };
  log.take('a', swap);
  assert.equal(due(), null, 'its source is not attested');
  log.take('a', ATTEST);
  for (const hub of ['a', 'b', 'c']) log.say(hub, PLACE);
  assert.deepEqual(due(), target);
  // A hub that lies asks before the action is there: that fails no swap.
  log.take('d', target);
  assert.equal(due(), null, 'it is being asked for');
  sayTarget(null);
  assert.equal(log.book.find('attestation', 'LTC:9:BTC')!.status, 'rejected');
  log.take('d', swap);
  assert.equal(found().status, 'attested');
  assert.equal(due(), null, 'not at once again');
  log.time += 3_600_000;
  assert.deepEqual(due(), target);
  log.take('a', target);
  sayTarget(PLACE, 2);
  assert.deepEqual(due(), swap);
  assert.equal(log.take('d', { ...swap, destinationIndex: null }), null);
  assert.equal(found().status, 'attested', 'the step names no destination');
  log.take('a', swap);
  assert.deepEqual([found().status, found().decidedAt], ['executed', log.time]);
  assert.equal(due(log.time + SETTLE_MS - 1), null);
  assert.equal(log.take('a', swap), null);
  assert.equal(found().status, 'executed');

  // A reorg takes the destination's action back: the swap waits, and fails when it is gone.
  log.take('d', { ...REORG, chain: 'LTC' });
  for (const hub of ['a', 'b', 'c']) log.sayReorg(hub, true);
  log.time += SETTLE_MS - 60_000;
  assert.equal(due(), null);
  sayTarget(PLACE, 3);
  assert.equal(due(), null, 'it stands again since a moment ago');
  log.time += SETTLE_MS;
  assert.deepEqual(due(), swap);
  log.take('b', swap);
  assert.equal(found().status, 'settled');
  assert.equal(due(), null);
  // What is settled stays so.
  log.take('c', REORG);
  const { id, ...report } = log.book.matters.find((one) => one.kind === 'reorg' && one.chain === 'BTC') as Reorg;
  for (const hub of ['a', 'b', 'c'])
    log.take(hub, { type: 'reorg-word', id, isSeen: true, sig: signatureOf(hub, reorgStatement({ id, ...report })) });
  for (const hub of ['a', 'b']) log.say(hub, null, 2);
  assert.deepEqual([log.attestation.status, found().status], ['rejected', 'settled']);
});

test('a swap that is executed fails when a reorg has taken its destination away', () => {
  const swap = { type: 'swap', chain: 'BTC', index: 5, destination: 'LTC', destinationIndex: 9 } as const;
  const target = { type: 'attest', chain: 'LTC', index: 9, destination: 'BTC' } as const;
  const log = new Log();
  log.take('a', swap);
  log.take('a', ATTEST);
  for (const hub of ['a', 'b', 'c']) log.say(hub, PLACE);
  log.take('a', target);
  const sayTarget = (hub: string, place: ActionPlace | null, turn: number) => {
    const { type: _, ...action } = target;
    const sig = place && signatureOf(hub, actionStatement({ id: 'LTC:9:BTC', ...action }, place));
    return log.take(hub, { type: 'action-word', id: 'LTC:9:BTC', turn, place, sig });
  };
  for (const hub of ['a', 'b', 'c']) sayTarget(hub, PLACE, 1);
  log.take('a', swap);
  log.take('d', { ...REORG, chain: 'LTC' });
  for (const hub of ['a', 'b', 'c']) log.sayReorg(hub, true);
  for (const hub of ['a', 'b']) sayTarget(hub, null, 2);
  const [source, destination] = [ID, 'LTC:9:BTC'].map((id) => log.book.find('attestation', id));
  const found = () => log.book.find('swap', 'BTC:5')!;
  assert.deepEqual(dueStep({ swap: found(), source, destination }, log.time), swap);
  log.take('a', swap);
  assert.equal(found().status, 'failed');
});

test('a swap whose actions were attested long ago, and are kept no more, has them attested anew', () => {
  const swap = { type: 'swap', chain: 'BTC', index: 5, destination: 'LTC', destinationIndex: 9 } as const;
  const target = { type: 'attest', chain: 'LTC', index: 9, destination: 'BTC' } as const;
  const log = new Log();
  log.take('a', ATTEST);
  log.take('a', target);
  const sayBoth = (turn: number) => {
    const { type: _, ...action } = target;
    for (const hub of ['a', 'b', 'c']) {
      log.say(hub, PLACE, turn);
      const sig = signatureOf(hub, actionStatement({ id: 'LTC:9:BTC', ...action }, PLACE));
      log.take(hub, { type: 'action-word', id: 'LTC:9:BTC', turn, place: PLACE, sig });
    }
  };
  sayBoth(1);
  log.take('a', swap);
  const found = () => log.book.find('swap', 'BTC:5')!;
  const [source, destination] = [log.attestation, log.book.find('attestation', 'LTC:9:BTC')];
  const now = log.time;
  const gone = undefined;
  assert.deepEqual(dueStep({ swap: found(), source, destination }, now), swap);
  assert.deepEqual(dueStep({ swap: found(), source: gone, destination }, now), ATTEST);
  assert.deepEqual(
    dueStep({ swap: found(), source: gone, destination: gone }, now),
    target,
    'first what may never come'
  );
  const expired = { ...source, status: 'expired' } as const;
  assert.equal(dueStep({ swap: found(), source: expired, destination }, now), null, 'not at once again');
  assert.deepEqual(dueStep({ swap: found(), source: expired, destination }, now + 3_600_000), ATTEST);
  log.take('a', swap);
  assert.equal(found().status, 'executed');
  assert.deepEqual(dueStep({ swap: found(), source, destination: gone }, now), target);
  assert.deepEqual(dueStep({ swap: found(), source: gone, destination }, now), ATTEST);
});

const propose = (proposedValue: string, more: Partial<Extract<MatterStep, { type: 'propose' }>> = {}): MatterStep => ({
  type: 'propose',
  parameter: 'ORACLE_ROUND_INTERVAL',
  currentValue: null,
  proposedValue,
  rationale: null,
  ...more
});

test('a proposal passes with two thirds of the set, within the bounds of what all hubs have', () => {
  const log = new Log();
  assert.match(log.take('a', propose('900001'))!, /by \+50 % or -33 % at most/);
  assert.match(log.take('a', propose('700000', { currentValue: '500000' }))!, /is 600000, not 500000/);
  assert.equal(log.take('a', propose('900000')), null);
  const [proposal] = log.book.matters;
  const { id } = proposal!;
  const find = () => log.book.find('proposal', id)!;
  assert.deepEqual(
    [id, find().electorate, find().currentValue],
    [`gov:ORACLE_ROUND_INTERVAL:${log.time}`, KEYS, '600000']
  );
  assert.match(log.take('b', propose('700000', { parameter: 'oracle_round_interval' }))!, /has an open proposal/);
  const vote = (hub: string, approves: boolean) => log.take(hub, { type: 'vote', id, approves });
  vote('a', true);
  vote('b', true);
  assert.match(vote('a', true)!, /has voted/);
  assert.match(vote('e', true)!, /not of the set/);
  assert.equal(find().status, 'voting');
  vote('d', true);
  assert.deepEqual([find().status, find().decidedAt], ['passed', log.time]);
  assert.deepEqual(find().votes.at(-1), { hub: 'd', approves: true, sig: 'd signs', at: log.time });
  assert.match(vote('c', false)!, /nothing to vote on/);
  assert.match(log.take('a', propose('1350001'))!, /may change from 900000/);
  assert.equal(log.take('a', propose('1350000')), null, 'what has passed is the present value');
});

test('a voting ends with the clock of the log; what was rejected rests for 14 days', () => {
  const log = new Log();
  log.take('a', propose('700000'));
  const [proposal] = log.book.matters;
  const [id, endsAt] = [proposal!.id, proposal!.endsAt!];
  assert.equal(endsAt, log.time + 7 * DAY_MS);
  for (const hub of ['a', 'b']) log.take(hub, { type: 'vote', id, approves: hub === 'a' });
  log.time = endsAt;
  assert.match(log.take('c', { type: 'vote', id, approves: true })!, /is failed/);
  assert.match(log.take('c', propose('700000'))!, /can be proposed again from/);
  log.time += 14 * DAY_MS;
  assert.equal(log.take('c', propose('700000')), null);
  log.time += 7 * DAY_MS;
  assert.equal(log.take('c', propose('700000')), null, 'one that too few voted on has only expired');
});

test('one hub begins so much at once and within an hour, and takes no place from others', () => {
  const log = new Log();
  const { open, lately } = BOUNDS.attestation;
  const ask = (hub: string, index: number) => log.take(hub, { ...ATTEST, index });
  const answerAll = () => {
    for (const hub of ['a', 'b'])
      for (const matter of log.book.matters)
        if (matter.kind === 'attestation' && matter.endsAt !== null && matter.submitter === 'd')
          log.take(hub, { type: 'action-word', id: matter.id, turn: matter.turn, place: null, sig: null });
  };
  for (let index = 1; index <= open; index++) assert.equal(ask('d', index), null);
  assert.match(ask('d', open + 1)!, /100 of 100 matters of this kind that this hub began are open/);
  assert.equal(ask('a', 999), null);
  answerAll();
  for (let index = open + 1; index <= lately; index++) assert.equal(ask('d', index), null);
  answerAll();
  assert.match(ask('d', lately + 1)!, /began 200 matters of this kind within 60 minutes/);
  assert.equal(ask('a', lately + 1), null);
  // It begins more when the hour is over, and its own oldest ones go when no swap can need them.
  for (let index = lately + 1; index <= 2 * lately; index++) {
    if (index % open === 1) log.time += KEPT_FOR_MS;
    assert.equal(ask('d', index), null);
    if (index % open === 0) answerAll();
  }
  log.time += KEPT_FOR_MS;
  assert.equal(ask('d', 2 * lately + 1), null);
  assert.equal(log.book.matters.filter(({ submitter }) => submitter === 'd').length, KEPT_MATTERS + 1);
  assert.deepEqual(
    [log.book.find('attestation', 'BTC:1:LTC'), log.book.find('attestation', 'BTC:999:LTC')?.submitter],
    [undefined, 'a']
  );
});

test('a body of another form is no matter', () => {
  const good: MatterStep[] = [
    ATTEST,
    { type: 'action-word', id: ID, turn: 1, place: PLACE, sig: 'a'.repeat(128) },
    { type: 'action-word', id: ID, turn: 1, place: null, sig: null },
    { type: 'swap', chain: 'BTC', index: 1, destination: 'DOGE', destinationIndex: 0 },
    REORG,
    { type: 'reorg-word', id: 'x', isSeen: false, sig: null },
    propose('1', { rationale: '' }),
    { type: 'vote', id: 'x', approves: true },
    { type: 'close', endsAt: 1 }
  ];
  for (const step of good) assert.deepEqual(readMatter(matterBodyOf(step)), step);
  const bad: unknown[] = [
    null,
    [],
    'attest',
    {},
    { type: 'constructor' },
    { type: 'toString' },
    { ...ATTEST, more: 1 },
    { ...ATTEST, chain: 'btc' },
    { ...ATTEST, destination: 'BTC' },
    { ...ATTEST, index: 0 },
    { ...ATTEST, index: 2 ** 53 },
    { ...ATTEST, index: '5' },
    { type: 'action-word', id: ID, turn: 1, place: PLACE, sig: null },
    { type: 'action-word', id: ID, turn: 1, place: null, sig: 'a'.repeat(128) },
    { type: 'action-word', id: ID, turn: 0, place: null, sig: null },
    { type: 'action-word', id: '', turn: 1, place: null, sig: null },
    { type: 'action-word', id: ID, turn: 1, place: { ...PLACE, action: 'A B' }, sig: 'a'.repeat(128) },
    { type: 'action-word', id: ID, turn: 1, place: { ...PLACE, hash: 'A'.repeat(64) }, sig: 'a'.repeat(128) },
    { ...REORG, newHash: REORG.oldHash },
    { ...REORG, timestamp: 2 ** 32 },
    { type: 'reorg-word', id: 'x', isSeen: true, sig: null },
    { type: 'reorg-word', id: 'x', isSeen: false, sig: 'a'.repeat(128) },
    propose(''),
    propose('x'.repeat(256)),
    propose('\ud800'),
    propose('1', { rationale: 'x'.repeat(2_001) }),
    propose('1', { parameter: 'A B' }),
    { type: 'vote', id: 'x', approves: 'yes' },
    { type: 'close', endsAt: 0 }
  ];
  for (const step of bad) assert.equal(readMatter(JSON.stringify({ matter: step })), null, JSON.stringify(step));
  for (const body of ['', '{"matter":', ' {"matter":{"type":"close","endsAt":1}}', '{"matter":{},"more":1}'])
    assert.equal(readMatter(body), null);
});

test('a word about a reorg costs the reading of attestations only where it may confirm it', () => {
  const log = new Log();
  log.take('a', REORG);
  const isWorth = (hub: string, isSeen = true) => {
    const sig = isSeen ? 'a'.repeat(128) : null;
    return wantedBy({ type: 'reorg-word', id: log.reorg.id, isSeen, sig }, hub).isWorth!([log.reorg]);
  };
  assert.equal(isWorth('a'), false);
  log.sayReorg('a', true);
  log.sayReorg('b', true);
  assert.deepEqual([isWorth('c'), isWorth('c', false), isWorth('b'), isWorth('e')], [true, false, false, false]);
  log.sayReorg('c', true);
  assert.equal(isWorth('d'), false, 'it is confirmed');
});
