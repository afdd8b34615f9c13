import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PUBLISHING_BEHAVIOURS, PublishingSimulation } from '../../../lab/federation/publishing.ts';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { PlatformError } from '../../../src/errors.ts';
import { roundRulesOf, signStatement } from '../../../src/hub/federation/gossip/signatures.ts';
import type { RoundJournal } from '../../../src/hub/federation/journal/round-journal.ts';
import {
  PricePublishing,
  type Publication,
  type PublishingDuty
} from '../../../src/hub/federation/node/price-publishing.ts';
import { isPriceAction, publishableAction } from '../../../src/hub/federation/rounds/price-action.ts';
import {
  begunBy,
  judgeAnnounced,
  type LoggedRound,
  NOBODY_WAITED_FOR,
  nextDeed,
  partOf,
  turnMsOf
} from '../../../src/hub/federation/rounds/publishing.ts';
import { priceRoundOf, statementOf } from '../../../src/hub/federation/rounds/statement-text.ts';
import type { PublicationMaker } from '../../../src/hub/publishing/encoder.ts';
import { Publisher } from '../../../src/hub/publishing/publisher.ts';
import fc from '../../support/fast-check.ts';

const RULES = { intervalMs: 600_000, faulty: 1 };
const DECIDED = { round: 6, decidedAt: 1_000_000, publishers: ['a', 'b', 'c', 'd'] };

test('each hub that was ready has one turn, in another order for each round, of which it may use the first part', () => {
  assert.equal(turnMsOf(RULES), 300_000);
  const at = (self: string, sinceMs: number) => {
    const { mayBegin, maySend, isOpen } = partOf(RULES, DECIDED, self, DECIDED.decidedAt + sinceMs);
    return `${isOpen ? 'open' : 'over'}${mayBegin ? ' begin' : ''}${maySend ? ' send' : ''}`;
  };
  assert.deepEqual(
    [-1, 0, 149_999, 150_000, 224_999, 225_000, 300_000, 1_199_999, 1_200_000].map((since) => at('c', since)),
    ['over', 'open begin send', 'open begin send', 'open send', 'open send', 'open', 'open', 'open', 'over']
  );
  assert.deepEqual(
    ['c', 'd', 'a', 'b'].map((self, turn) => at(self, turn * 300_000)),
    Array(4).fill('open begin send')
  );
  assert.equal(at('e', 0), 'open');
  const nobody = { ...DECIDED, publishers: [] };
  assert.deepEqual(partOf(RULES, nobody, 'a', DECIDED.decidedAt), { mayBegin: false, maySend: false, isOpen: false });
  assert.deepEqual(
    [-1, 0, 300_000, 900_000, 9_000_000].map((since) => begunBy(RULES, DECIDED, DECIDED.decidedAt + since).join('')),
    ['', 'c', 'cd', 'cdab', 'cdab']
  );
});

test('property: at any time one hub at most may send, each hub for one turn, and an honest one before the next round is decided', () => {
  const keys = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 16 });
  fc.assert(
    fc.property(keys, fc.nat(1_000), fc.integer({ min: 1_000, max: 86_400_000 }), (numbers, round, intervalMs) => {
      const publishers = numbers.map((number) => String(number).padStart(2, '0')).toSorted();
      const faulty = Math.floor((publishers.length - 1) / 3);
      const rules = { intervalMs, faulty };
      const decided = { round, decidedAt: 5, publishers };
      const begins = publishers.map((_, turn) => 5 + turn * turnMsOf(rules));
      const able = begins.map((now) => publishers.filter((self) => partOf(rules, decided, self, now).maySend));
      assert.ok(able.every(({ length }) => length === 1));
      assert.deepEqual(able.flat().toSorted(), publishers);
      assert.ok(begins[faulty]! < 5 + intervalMs);
    })
  );
});

test('a hub makes transactions for a round once, and none while its own indexer does not say that the round is missing', () => {
  const own = { mayBegin: true, maySend: true, isOpen: true };
  const missing = { isOnLedger: false, isWaiting: false };
  assert.equal(nextDeed(own, false, missing), 'make');
  assert.equal(nextDeed(own, true, missing), 'send');
  assert.equal(nextDeed({ ...own, mayBegin: false }, true, missing), 'send');
  assert.equal(nextDeed({ ...own, mayBegin: false }, false, missing), null);
  assert.equal(nextDeed({ ...own, isOpen: false }, true, missing), null);
  for (const looked of [
    { isOnLedger: null, isWaiting: false },
    { isOnLedger: true, isWaiting: false },
    { isOnLedger: false, isWaiting: true }
  ])
    assert.deepEqual([nextDeed(own, false, looked), nextDeed(own, true, looked)], [null, null]);
});

test('a transaction that waits is waited for; that of a hub whose last one went without a round is not', () => {
  const one = (waits: boolean, hub = 'b') => ({ hub, txid: 'x', waits });
  const first = judgeAnnounced(NOBODY_WAITED_FOR, 1, [one(true), one(false, 'c')]);
  assert.ok(first.isWaiting);
  assert.deepEqual([...first.memory.doubted], [], 'one that nobody has seen is no sign');
  const gone = judgeAnnounced(first.memory, 1, [one(false)]);
  assert.deepEqual([gone.isWaiting, [...gone.memory.doubted]], [false, ['b']]);
  assert.equal(judgeAnnounced(gone.memory, 2, [one(true)]).isWaiting, false);
  assert.equal(judgeAnnounced(gone.memory, 2, [one(true), one(true, 'c')]).isWaiting, true);
});

const KEYS = [1, 2, 3, 4].map((number) => signingKey(`0${number}`.repeat(32)));
const PUBKEYS = KEYS.map(({ pubkey }) => pubkey).toSorted();
const LOGGED: LoggedRound = {
  round: 5,
  timestamp: 1_180,
  height: 800_000,
  pairs: [
    { pair: 'LTC/USD', price: '70.00000000', submissions: 3 },
    { pair: 'BTC/USD', price: '60000.00000000', submissions: 3 },
    { pair: 'BTC/EUR', price: null, submissions: 0 }
  ],
  qualified: PUBKEYS.slice(1),
  counted: PUBKEYS.slice(1),
  far: [],
  split: [],
  decidedAt: 1_000_000,
  publishers: PUBKEYS
};
const SIGNED = KEYS.map((key) => ({ pubkey: key.pubkey, sig: signStatement(statementOf(LOGGED)!, key) })).toSorted(
  (a, b) => (a.pubkey < b.pubkey ? -1 : 1)
);

test('a round is published with the signatures of hubs that qualify for prices: the ledger counts no others', () => {
  const priced = priceRoundOf(LOGGED)!;
  const action = publishableAction(LOGGED, SIGNED, 4)!;
  assert.match(action, /^PRICE\|0\|5\|1180\|800000\|2\|BTC\/USD\|60000\.00000000\|LTC\/USD\|70\.00000000\|3\|/);
  assert.ok(!action.includes(PUBKEYS[0]!));
  assert.equal(publishableAction(LOGGED, SIGNED.slice(0, 3), 4), null, 'two of three that count');
  assert.equal(publishableAction(LOGGED, SIGNED.slice(2), 4), null, 'two of four hubs');
  assert.equal(publishableAction({ ...LOGGED, height: 0 }, SIGNED, 4), null);
  assert.equal(publishableAction({ ...LOGGED, pairs: [] }, SIGNED, 4), null);
  assert.ok(isPriceAction(action, priced, LOGGED.qualified));
  for (const wrong of [
    action.replace('60000', '60001'),
    action.replace('PRICE|0|5|', 'PRICE|0|6|'),
    action.replace('|3|', '|2|'),
    `${action}|`,
    action.replace(SIGNED[1]!.sig, SIGNED[2]!.sig),
    action.slice(0, action.lastIndexOf('|')),
    'PRICE',
    ''
  ])
    assert.equal(isPriceAction(wrong, priced, LOGGED.qualified), false, wrong.slice(0, 60));
});

/** A hub whose journal holds one round. */
function startPublishing(signatures = SIGNED) {
  let now = LOGGED.decidedAt;
  const kept = new Map<number, unknown>();
  const sent: Readonly<Record<string, unknown>>[] = [];
  let writing = Promise.resolve();
  const journal = {
    newest: async () => [LOGGED],
    signatures: async () => new Map(signatures.map(({ pubkey, sig }) => [pubkey, sig])),
    own: async (round: number) => kept.get(round) ?? null,
    keepOwn: async (round: number, _: string, made: unknown) => {
      if (!kept.has(round)) kept.set(round, made);
      return kept.get(round);
    }
  };
  const rounds = { epochStartMs: 0, intervalMs: 600_000, windowMs: 180_000, minSubmissions: 3 };
  // Round 5 begins with the second of four.
  const publishing = new PricePublishing({
    self: PUBKEYS[1]!,
    set: 'set',
    rules: roundRulesOf({ keys: PUBKEYS, quorum: 'byzantine', rounds })!,
    journal: journal as unknown as RoundJournal,
    publish: (type, data) => sent.push({ type, ...data }),
    write: (work) => {
      writing = writing.then(work);
    },
    now: () => now
  });
  const hear = (sender: string, data: object, type = 'ORACLE_PUBLISHED') =>
    publishing.receive({ type, id: 'i', sender, timestamp: 0, sig: '', data: { set: 'set', ...data } });
  return { publishing, kept, sent, hear, passTo: (at: number) => (now = LOGGED.decidedAt + at) };
}
const TXID = 'ab'.repeat(32);
const MADE: Publication = { transactions: ['00', '01'], txid: TXID };

test('a hub has a round to publish in its turn, keeps what it made before it may send it, and the same after a restart', async () => {
  const { publishing, sent, passTo } = startPublishing();
  await publishing.load();
  const [duty] = publishing.duties;
  assert.ok(duty!.action!.startsWith('PRICE|0|5|'));
  passTo(225_000);
  assert.equal(publishing.duties.length, 0);
  assert.equal(await publishing.keep(5, MADE), null, 'its turn is over');
  passTo(224_999);
  assert.deepEqual(await publishing.keep(5, MADE), MADE);
  assert.deepEqual(await publishing.keep(5, { ...MADE, txid: 'cd'.repeat(32) }), MADE);
  assert.equal(await publishing.keep(4, MADE), null, 'no such round');
  assert.deepEqual(publishing.duties[0]!.made, MADE);
  publishing.announce(5);
  publishing.announce(5);
  assert.deepEqual(sent.splice(0), [{ type: 'ORACLE_PUBLISHED', set: 'set', round: 5, txid: TXID }]);
  publishing.tick(1);
  publishing.tick(2);
  publishing.tick(15_001);
  assert.equal(sent.splice(0).length, 2);
  passTo(1_200_000);
  publishing.tick(100_000);
  assert.deepEqual([publishing.duties, sent], [[], []], 'all turns are over');
});

test('a hub keeps the first transaction that each hub announced, and looks at it from the turn of that hub on', async () => {
  const { publishing, hear, passTo } = startPublishing(SIGNED.slice(0, 2));
  await publishing.load();
  const [, , third, fourth] = PUBKEYS as [string, string, string, string];
  assert.ok(hear(third, { round: 5, txid: TXID }));
  assert.ok(hear(third, { round: 5, txid: 'cd'.repeat(32) }));
  assert.ok(hear(fourth, { round: 5, txid: 'no id' }));
  assert.ok(hear('ff'.repeat(32), { round: 5, txid: TXID }));
  assert.ok(hear(fourth, { round: 4, txid: TXID }));
  assert.equal(hear(third, { round: 5, txid: TXID, set: 'another' }), false);
  assert.equal(hear(third, { round: 5, txid: TXID }, 'ORACLE_SEEN'), false);
  assert.deepEqual(publishing.duties, [], 'its turn has not begun');
  passTo(300_000);
  assert.deepEqual(
    publishing.duties.map(({ action, announced }) => [action, announced]),
    [[null, [{ hub: third, txid: TXID }]]]
  );
});

/** A publisher in a world that a test decides. */
function startPublisher(duty: Partial<PublishingDuty>, address = 'bc1own') {
  const log: string[] = [];
  const ids: string[] = [];
  const warnings: string[] = [];
  const world = {
    hasRound: false as boolean | null,
    waiting: new Map<string, { readonly hex: string; readonly feeRate: number }>(),
    keeps: true,
    fault: null as string | null
  };
  const duties: readonly PublishingDuty[] = [
    { priced: priceRoundOf(LOGGED)!, qualified: LOGGED.qualified, action: null, made: null, announced: [], ...duty }
  ];
  const act = (deed: string) => {
    if (world.fault) throw new PlatformError('PUBLISHING_FAILED', { reason: world.fault });
    log.push(deed);
  };
  const maker = {
    address,
    make: async (_: string, id: string) => {
      act('make');
      ids.push(id);
      return MADE;
    },
    send: async ({ txid }: Publication) => act(`send ${txid.slice(0, 2)}`),
    release: async () => act('release'),
    feeRate: async () => 10,
    read: (hex: string) => hex
  };
  const publisher = new Publisher({
    maker: maker as unknown as PublicationMaker,
    facts: {
      hasRound: async () => world.hasRound,
      waitingTransaction: async (txid) => world.waiting.get(txid) ?? null
    },
    duties: () => duties,
    keep: async (_, made) => {
      act('keep');
      return world.keeps ? made : null;
    },
    announce: async () => act('announce'),
    log: {
      info: () => undefined,
      warn: (about: object, text: string) => warnings.push(`${JSON.stringify(about)} ${text}`)
    } as never
  });
  const work = async () => {
    await publisher.work();
    return log.splice(0);
  };
  return { world, work, warnings, ids };
}
const ACTION = publishableAction(LOGGED, SIGNED, 4)!;

test('a publisher keeps before it sends, sends nothing when its turn is over, and nothing that it did not look for', async () => {
  const { world, work, warnings } = startPublisher({ action: ACTION });
  assert.deepEqual(await work(), ['make', 'keep', 'send ab', 'announce']);
  world.keeps = false;
  assert.deepEqual(await work(), ['make', 'keep', 'release']);
  for (const found of [null, true]) {
    world.hasRound = found;
    assert.deepEqual(await work(), []);
  }
  world.hasRound = false;
  world.fault = 'the encoder is down';
  assert.deepEqual(await work(), []);
  assert.match(warnings.at(-1)!, /did not publish a round: the encoder is down/);
});

test('hubs that share an encoder ask it with names of their own, and each with the same one at its next attempt', async () => {
  const hubs = ['bc1one', 'bc1other'].map((address) => startPublisher({ action: ACTION }, address));
  for (const { work } of [...hubs, ...hubs]) await work();
  const [one, other] = hubs.map(({ ids }) => ids) as [string[], string[]];
  assert.deepEqual([one.length, new Set(one).size, other.length, new Set([...one, ...other]).size], [2, 1, 2, 2]);
});

test('a publisher sends again what the node has no more, and tells it after a restart', async () => {
  const { world, work } = startPublisher({ made: MADE });
  assert.deepEqual(await work(), ['send ab', 'announce']);
  world.waiting.set(TXID, { hex: ACTION, feeRate: 10 });
  assert.deepEqual(await work(), ['announce']);
});

test('a publisher waits for the transaction of another hub that its own node has, with the prices and as high a fee, and for nothing else', async () => {
  const { world, work, warnings } = startPublisher({ action: ACTION, announced: [{ hub: 'b', txid: 'other' }] });
  const publishes = ['make', 'keep', 'send ab', 'announce'];
  assert.deepEqual(await work(), publishes, 'the node does not know it');
  world.waiting.set('other', { hex: ACTION.replace('60000', '60001'), feeRate: 10 });
  assert.deepEqual(await work(), publishes, 'other prices');
  world.waiting.set('other', { hex: ACTION.replace(SIGNED[1]!.sig, SIGNED[2]!.sig), feeRate: 10 });
  assert.deepEqual(await work(), publishes, 'too few signatures');
  world.waiting.set('other', { hex: ACTION, feeRate: 7.9 });
  assert.deepEqual(await work(), publishes, 'too low a fee');
  world.waiting.set('other', { hex: ACTION, feeRate: 8 });
  assert.deepEqual(await work(), []);
  world.waiting.clear();
  assert.deepEqual(await work(), publishes, 'it is gone, and the round is not on the ledger');
  assert.match(warnings.at(-1)!, /"hub":"b".* waits for none of that hub any more/);
});

for (const behaviour of [undefined, ...PUBLISHING_BEHAVIOURS])
  test(`${behaviour ? `as many hubs as may lie, each ${behaviour}` : 'honest hubs'}: each round is published, once by honest hubs`, () => {
    for (const [hubs, seed] of [
      [4, 1],
      [7, 2]
    ] as const) {
      const run = new PublishingSimulation({ seed, hubs, rounds: 60, ...(behaviour && { behaviour }) }).run();
      if (behaviour) assert.ok(run.lies > 0, 'none lied');
      else assert.deepEqual([run.late, run.published], [0, 60]);
    }
  });
