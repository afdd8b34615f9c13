import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROUND_BEHAVIOURS, RoundsSimulation } from '../../../lab/federation/rounds.ts';
import { decideRound, NO_ROUNDS, type RoundsBefore } from '../../../src/hub/federation/rounds/decide.ts';
import { type GatheringEvent, NOTHING_GATHERED, stepGathering } from '../../../src/hub/federation/rounds/gathering.ts';
import { isGatheredRound, isSeen, isSubmission } from '../../../src/hub/federation/rounds/reading.ts';
import type { GatheredRound, RoundRules, Seen, Submission } from '../../../src/hub/federation/rounds/statements.ts';
import { formatPrice, readPrice } from '../../../src/hub/oracle/price.ts';
import fc from '../../support/fast-check.ts';

const KEYS = ['a', 'b', 'c', 'd'];
const RULES: RoundRules = {
  keys: KEYS,
  quorum: 3,
  faulty: 1,
  epochStartMs: 1_000_000,
  intervalMs: 600_000,
  windowMs: 180_000,
  minSubmissions: 3,
  hashOf: ({ submitter, round, prices }) => `${submitter} ${round} ${prices.join()}`,
  isSigned: ({ sig }) => sig !== 'forged'
};
/** End of the window of round 0. */
const ENDED = 1_180_000;

const submissionOf = (submitter: string, price: string, more: Partial<Submission> = {}): Submission => ({
  submitter,
  round: 0,
  height: 800_000,
  prices: [['BTC/USD', price]],
  sig: 'good',
  ...more
});
const listOf = (hub: string, submissions: readonly Submission[], more: Partial<Seen> = {}): Seen => ({
  hub,
  round: 0,
  held: submissions.map(RULES.hashOf).toSorted(),
  sig: 'good',
  ...more
});
/** A round of which hubs list all submissions. */
const roundOf = (submissions: readonly Submission[], hubs = ['a', 'b', 'c']): GatheredRound => ({
  round: 0,
  seen: hubs.map((hub) => listOf(hub, submissions)),
  submissions
});
const decide = (gathered: GatheredRound, before: RoundsBefore = NO_ROUNDS, qualified = KEYS, time = ENDED) =>
  decideRound(RULES, before, qualified, gathered, time);
const decided = (...given: Parameters<typeof decide>) => {
  const found = decide(...given);
  assert.ok(typeof found !== 'string', String(found));
  return found;
};
const priceOf = (submissions: readonly Submission[], before: RoundsBefore = NO_ROUNDS) =>
  decided(roundOf(submissions), before).decided.pairs[0]!.price;
const FOUR = ['100', '101', '102', '103'].map((price, at) => submissionOf(KEYS[at]!, `${price}.00000000`));

test('a round has the median of what stands in more lists than hubs may lie, and the height in the middle', () => {
  const submissions = FOUR.map((one, at) => ({ ...one, height: 800_000 + at }));
  const { decided: round, after } = decided(roundOf(submissions));
  assert.deepEqual(round.pairs[0], { pair: 'BTC/USD', price: '101.50000000', submissions: 4 });
  assert.deepEqual(round.pairs[1], { pair: 'BTC/CAD', price: null, submissions: 0 });
  assert.equal(round.pairs.length, 36);
  assert.deepEqual([round.timestamp, round.height, round.counted], [1_180, 800_001, KEYS]);
  assert.deepEqual(after, { round: 0, prices: { 'BTC/USD': '101.50000000' }, missed: {} });
});

test('a round that is not as the rules say is refused by name', () => {
  const good = roundOf(FOUR);
  const other = submissionOf('a', '1.00000000');
  const refused = (gathered: Partial<GatheredRound>, time = ENDED, before = NO_ROUNDS) =>
    decide({ ...good, ...gathered }, before, KEYS, time);
  assert.match(String(refused({}, ENDED - 1)), /has not ended/);
  assert.match(String(refused({}, 7_000_000)), /too long ago/);
  assert.equal(typeof refused({}, 6_999_999), 'object');
  assert.match(String(refused({}, ENDED, { ...NO_ROUNDS, round: 0 })), /is decided/);
  assert.match(String(refused({ seen: good.seen.slice(1) })), /2 of 3 needed lists/);
  assert.match(String(refused({ seen: [...good.seen, good.seen[0]!] })), /two lists/);
  const listFault = /a list is not of this round/;
  for (const more of [{ round: 1 }, { sig: 'forged' }, { hub: 'e' }])
    assert.match(String(refused({ seen: [...good.seen.slice(1), listOf('a', FOUR, more)] })), listFault);
  const oneFault = /a submission is not of this round/;
  for (const more of [{ round: 1 }, { sig: 'forged' }, { submitter: 'e' }])
    assert.match(String(refused({ submissions: [...FOUR.slice(1), { ...FOUR[0]!, ...more }] })), oneFault);
  assert.match(String(refused({ submissions: FOUR.slice(1) })), /was left out/);
  assert.match(String(refused({ submissions: [...FOUR, FOUR[0]!] })), /twice/);
  assert.match(String(refused({ submissions: [...FOUR, other] })), /was slipped in/);
  assert.match(String(refused({ submissions: [...FOUR.slice(1), other] })), /was slipped in/);
});

test('a submission that one hub alone lists is none of the round, one that two list must be in it', () => {
  const late = submissionOf('d', '900.00000000');
  const three = FOUR.slice(0, 3);
  const listedBy = (...hubs: string[]) =>
    ['a', 'b', 'c'].map((hub) => listOf(hub, hubs.includes(hub) ? [...three, late] : three));
  assert.deepEqual(decided({ round: 0, seen: listedBy('a'), submissions: three }).decided.counted, ['a', 'b', 'c']);
  assert.match(String(decide({ round: 0, seen: listedBy('a'), submissions: [...three, late] })), /slipped in/);
  assert.match(String(decide({ round: 0, seen: listedBy('a', 'b'), submissions: three })), /left out/);
});

test('prices: too few, too far apart, a made-up first one, and a step of a quarter', () => {
  const of = (...prices: string[]) => prices.map((price, at) => submissionOf(KEYS[at]!, `${price}.00000000`));
  assert.equal(priceOf(of('100', '101')), null);
  assert.equal(priceOf(of('100', '100', '200', '200')), null);
  assert.equal(priceOf(of('100', '100', '109', '109')), '104.50000000');
  assert.equal(priceOf(of('1', '100', '102', '9000000000')), '101.00000000');
  const tiny = KEYS.map((key) => submissionOf(key, '0.50000000'));
  assert.equal(priceOf(tiny), null);
  const before = (price: string) => ({ ...NO_ROUNDS, prices: { 'BTC/USD': price } });
  assert.equal(priceOf(tiny, before('0.50000000')), '0.50000000');
  assert.equal(priceOf(of('200', '200', '200'), before('100.00000000')), '125.00000000');
  assert.equal(priceOf(of('1', '1', '1'), before('100.00000000')), '75.00000000');
  const { after } = decided(roundOf(of('100', '101')), before('7.00000000'));
  assert.equal(after.prices['BTC/USD'], '7.00000000');
});

test('property: hubs that lie, as many as may, move no price beyond those of honest hubs', () => {
  const price = fc.bigInt({ min: 10n ** 8n, max: 10n ** 18n });
  for (const faulty of [1, 2, 3]) {
    const keys = Array.from({ length: 3 * faulty + 1 }, (_, at) => `hub${at}`);
    const rules = { ...RULES, keys, faulty, quorum: 2 * faulty + 1, minSubmissions: 2 * faulty + 1 };
    const run = (honest: readonly bigint[], lies: readonly bigint[]) => {
      const all = [...honest, ...lies].map((one, at) => submissionOf(keys[at]!, formatPrice(one)));
      const found = decideRound(rules, NO_ROUNDS, keys, roundOf(all, keys), ENDED);
      assert.ok(typeof found !== 'string', String(found));
      const text = found.decided.pairs[0]!.price;
      if (text === null) return;
      const [low, ...sorted] = honest.toSorted((a, b) => (a < b ? -1 : Number(a > b)));
      assert.ok(readPrice(text)! >= low! && readPrice(text)! <= (sorted.at(-1) ?? low!));
    };
    const some = (least: number, most: number) => fc.array(price, { minLength: least, maxLength: most });
    fc.assert(fc.property(some(faulty + 1, 2 * faulty + 1), some(0, faulty), run));
  }
});

test('the set may change how far a price is taken for honest', () => {
  const off = [...FOUR.slice(0, 3), submissionOf('d', '113.00000000')];
  const far = (offPercent: string) => {
    const found = decideRound(RULES, NO_ROUNDS, KEYS, roundOf(off), ENDED, { offPercent });
    assert.ok(typeof found !== 'string', String(found));
    return found.decided.far;
  };
  // The price in the middle is 101.5.
  assert.deepEqual([far('10'), far('11.33'), far('11.34'), far('12.5')], [['d'], ['d'], [], []]);
});

test('a hub without the stake does not count; one that misses a round, is far off or signs two is named', () => {
  const second = submissionOf('c', '105.00000000');
  const far = submissionOf('d', '112.00000000');
  const all = [...FOUR.slice(0, 3), second, far];
  const { decided: round, after } = decided(roundOf(all), { ...NO_ROUNDS, missed: { c: 4, b: 2 } }, ['c', 'b', 'd']);
  assert.deepEqual(round.counted, ['b', 'd']);
  assert.deepEqual(round.qualified, ['b', 'c', 'd']);
  assert.deepEqual(round.split, ['c']);
  assert.deepEqual(after.missed, { c: 5 });
  const three = [...FOUR.slice(0, 3), far];
  assert.deepEqual(decided(roundOf(three)).decided.far, ['d']);
  // A price that is bound to the last one says nothing of who found it.
  const jump = KEYS.map((key) => submissionOf(key, '200.00000000'));
  assert.deepEqual(decided(roundOf(jump), { ...NO_ROUNDS, prices: { 'BTC/USD': '100.00000000' } }).decided.far, []);
});

test('the order of lists and submissions changes nothing', () => {
  const [one, other] = [roundOf(FOUR), roundOf(FOUR.toReversed(), ['c', 'a', 'b'])];
  assert.deepEqual(decide(one), decide(other));
});

/** A hub that takes events. */
class OneGatherer {
  state = NOTHING_GATHERED;
  readonly self: string;
  constructor(self: string) {
    this.self = self;
    this.take({ type: 'capability.changed', isOn: true, isReady: true });
  }
  take(event: GatheringEvent) {
    const { state, effects } = stepGathering(this.state, event, { self: this.self, rules: RULES });
    this.state = state;
    return effects;
  }
  at(now: number) {
    return this.take({ type: 'clock.ticked', now });
  }
  find(at: number) {
    return this.take({ type: 'prices.found', at, height: 1, prices: [['BTC/USD', '100.00000000']] });
  }
  receive(...submissions: readonly Submission[]) {
    return submissions.flatMap((submission) => this.take({ type: 'submission.received', submission }));
  }
  hear(...lists: readonly Seen[]) {
    return lists.flatMap((seen) => this.take({ type: 'list.received', seen }));
  }
}
const START = RULES.epochStartMs;
const typesOf = (effects: readonly { readonly type: string }[]) => effects.map(({ type }) => type);

test('a hub submits what it found in the round, once; older prices from the middle of the window on', () => {
  const hub = new OneGatherer('a');
  assert.deepEqual(hub.at(START - 1), []);
  assert.deepEqual(hub.find(START - 10), []);
  assert.deepEqual(hub.at(START + 5), []);
  assert.deepEqual(typesOf(hub.find(START + 6)), ['submit']);
  assert.deepEqual(hub.find(START + 7), []);
  const other = new OneGatherer('b');
  other.find(START - 10);
  assert.deepEqual(other.at(START + 89_999), []);
  assert.deepEqual(typesOf(other.at(START + 90_000)), ['submit']);
  const late = new OneGatherer('c');
  late.at(START + 180_000);
  assert.ok(!typesOf(late.find(START + 180_001)).includes('submit'));
  const old = new OneGatherer('d');
  old.find(START - 600_001);
  assert.deepEqual(old.at(START + 90_000), []);
});

test('a hub that is not ready submits nothing, and lists; where nobody qualifies nothing is done', () => {
  const hub = new OneGatherer('a');
  hub.take({ type: 'capability.changed', isOn: true, isReady: false });
  hub.at(START);
  assert.deepEqual(hub.find(START + 1), []);
  assert.deepEqual(typesOf(hub.at(ENDED)), ['list']);
  const off = new OneGatherer('b');
  off.take({ type: 'capability.changed', isOn: false, isReady: true });
  off.at(START);
  assert.deepEqual([...off.find(START + 1), ...off.at(ENDED)], []);
});

test('a list has the first submission of each hub that came in time; a second one is kept, a third is not', () => {
  const hub = new OneGatherer('a');
  hub.at(START);
  const more = ['200', '300'].map((price) => submissionOf('b', `${price}.00000000`));
  hub.receive(FOUR[1]!, ...more, FOUR[2]!, { ...FOUR[3]!, sig: 'forged' }, { ...FOUR[3]!, submitter: 'e' });
  const listed = hub.at(ENDED)[0]!;
  assert.deepEqual(listed.type === 'list' && listed.list.held, [FOUR[1]!, FOUR[2]!].map(RULES.hashOf).toSorted());
  assert.equal(hub.state.open.get(0)!.submissions.size, 3);
  // Other hubs list the third: it is needed.
  hub.hear(listOf('b', [more[1]!]), listOf('c', [more[1]!]));
  hub.receive(more[1]!);
  assert.equal(hub.state.open.get(0)!.submissions.size, 4);
});

test('hubs propose in turn, when a quorum has listed, with what is needed; who lacks a submission asks those who list it', () => {
  const lists = ['b', 'c', 'd'].map((hub) => listOf(hub, FOUR));
  const first = new OneGatherer('a');
  first.at(START);
  first.receive(...FOUR);
  first.at(ENDED);
  assert.deepEqual(first.hear(...lists.slice(0, 2)), []);
  assert.ok(!typesOf(first.at(ENDED + 2_000)).includes('propose'));
  const [proposed] = first.hear(lists[2]!);
  assert.ok(proposed?.type === 'propose');
  assert.equal(typeof decide(proposed.gathered), 'object');
  assert.ok(!typesOf(first.at(ENDED + 3_000)).includes('propose'), 'once');

  const second = new OneGatherer('b');
  second.at(START);
  second.receive(...FOUR.slice(1));
  second.at(ENDED);
  second.hear(...lists);
  const asked = second.at(ENDED + 12_000).filter(({ type }) => type === 'ask');
  assert.deepEqual(asked, [
    { type: 'ask', to: 'c', round: 0, hash: RULES.hashOf(FOUR[0]!) },
    { type: 'ask', to: 'd', round: 0, hash: RULES.hashOf(FOUR[0]!) }
  ]);
  assert.deepEqual(typesOf(second.receive(FOUR[0]!)), ['propose']);
  const third = new OneGatherer('c');
  third.at(START);
  third.receive(...FOUR);
  third.at(ENDED);
  third.hear(...lists);
  assert.ok(!typesOf(third.at(ENDED + 21_999)).includes('propose'), 'not its turn');
  assert.deepEqual(third.take({ type: 'submission.asked', from: 'b', round: 0, hash: RULES.hashOf(FOUR[0]!) }), [
    { type: 'send', to: 'b', submission: FOUR[0]! }
  ]);
  third.take({ type: 'round.decided', round: 0 });
  assert.deepEqual(third.at(ENDED + 30_000), []);
  assert.equal(third.state.open.size, 0);
});

test('rounds of other times than the present and the next one are not kept', () => {
  const hub = new OneGatherer('a');
  hub.at(START + 600_000);
  const of = (round: number) => ({ ...FOUR[1]!, round });
  hub.receive(of(0), of(1), of(2), of(3));
  hub.hear(listOf('b', [], { round: 0 }), listOf('b', [], { round: 3 }));
  assert.deepEqual([...hub.state.open.keys()], [1, 2]);
});

test('a statement of another form is none', () => {
  const key = 'ab'.repeat(32);
  const sig = 'cd'.repeat(64);
  const submission = {
    submitter: key,
    round: 1,
    height: 0,
    prices: [
      ['BTC/USD', '1.00000000'],
      ['LTC/USD', '2.00000000']
    ],
    sig
  };
  const seen = { hub: key, round: 1, held: ['0'.repeat(40), '1'.repeat(40)], sig };
  assert.ok(isSubmission(submission));
  assert.ok(isSeen(seen));
  assert.ok(isGatheredRound({ round: 1, seen: [seen], submissions: [submission] }));
  const [usd, ltc] = submission.prices;
  const wrong = [
    { submitter: 'AB'.repeat(32) },
    { round: -1 },
    { height: 0.5 },
    { sig: '' },
    { more: 1 },
    { prices: [] },
    { prices: [ltc, usd] },
    { prices: [usd, usd] },
    { prices: [['BTC/XYZ', '1.00000000']] },
    { prices: [['BTC/USD', '1.0']] },
    { prices: [['BTC/USD', '01.00000000']] },
    { prices: [['BTC/USD', '0.00000000']] },
    { prices: [['BTC/USD', 1]] },
    { prices: [['BTC/USD', '1.00000000', '']] }
  ];
  for (const more of wrong) assert.equal(isSubmission({ ...submission, ...more }), false, JSON.stringify(more));
  for (const more of [
    { held: ['0'] },
    { held: seen.held.toReversed() },
    { held: [seen.held[0], seen.held[0]] },
    { hub: '' }
  ])
    assert.equal(isSeen({ ...seen, ...more }), false, JSON.stringify(more));
  assert.equal(isGatheredRound({ round: 1, seen: [{}], submissions: [] }), false);
  assert.equal(isGatheredRound({ round: 1, seen: Array(65).fill(seen), submissions: [] }), false);
  assert.equal(isGatheredRound(null), false);
});

for (const behaviour of ROUND_BEHAVIOURS)
  test(`one hub of four or seven ${behaviour}: each round has a price of honest hubs, and leaves none out`, () => {
    let notified = 0;
    for (const seed of [1, 2, 3]) {
      const { decided: rounds, lies } = new RoundsSimulation({
        seed,
        hubs: seed === 3 ? 7 : 4,
        rounds: 6,
        behaviour
      }).run();
      assert.equal(rounds.length, 6);
      notified += lies;
    }
    assert.ok(notified > 0, 'it did not lie');
  });

test('lost messages delay rounds, and break no promise', () => {
  const runs = [1, 2, 3].map((seed) => new RoundsSimulation({ seed, hubs: 4, rounds: 8, loss: 0.3 }).run());
  assert.ok(runs.every(({ decided: rounds }) => rounds.length >= 6));
});

test('a hub that signs two submissions is named where they stand in enough lists', () => {
  const behaviour = 'submits to each another price';
  const runs = [1, 2, 3, 4, 5, 6].map((seed) => new RoundsSimulation({ seed, hubs: 7, rounds: 6, behaviour }).run());
  for (const { decided: rounds, liar } of runs)
    assert.ok(rounds.every(({ split }) => split.every((key) => key === liar)));
});
