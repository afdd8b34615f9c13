import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MatterBook } from '../../../lab/federation/matter-book.ts';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { type HubSet, matterRulesOf, setIdOf, signFact } from '../../../src/hub/federation/gossip/signatures.ts';
import { type MatterStep, matterBodyOf, readMatter } from '../../../src/hub/federation/matters/operations.ts';
import { type Attestation, attestationId, type Swap } from '../../../src/hub/federation/matters/records.ts';
import { actionStatement } from '../../../src/hub/federation/matters/rules.ts';
import { destinationId, type SwapWithActions } from '../../../src/hub/federation/matters/swaps.ts';
import { type Answer, type Question, Witness } from '../../../src/hub/federation/node/witness.ts';
import { WitnessAsks } from '../../../src/hub/witness-asks.ts';

const MEMBERS = ['01', '02', '03', '04'].map((digits) => signingKey(digits.repeat(32)));
const SET: HubSet = { keys: MEMBERS.map(({ pubkey }) => pubkey), quorum: 'byzantine' };
const START = 1_767_225_600_000;
const PLACE = { action: 'SEND', height: 800, hash: 'ab'.repeat(32) };
const ATTEST = { type: 'attest', chain: 'BTC', index: 5, destination: 'LTC' } as const;
const WORD = { kind: 'attestation', id: 'BTC:5:LTC', turn: 1 } as const;

/** Swaps of a hub that are not over, as its database reads them. */
const swapsOf = (book: MatterBook, submitter: string): readonly SwapWithActions[] =>
  book.matters
    .filter((one) => one.kind === 'swap' && one.submitter === submitter)
    .flatMap((one) => {
      const { kind, chain, index, destination, status } = one as Swap;
      if (kind !== 'swap' || (status !== 'attested' && status !== 'executed')) return [];
      const id = destinationId(one as Swap);
      return [
        {
          swap: one as Swap,
          source: book.find('attestation', attestationId(chain, index, destination)),
          destination: id === null ? undefined : book.find('attestation', id)
        }
      ];
    });

/** The first hub of a set, with a log that takes what the test hands to it. */
async function start(steps: readonly MatterStep[]) {
  const [key, other] = MEMBERS as [(typeof MEMBERS)[0], (typeof MEMBERS)[0]];
  const book = new MatterBook(matterRulesOf(SET), SET.keys);
  const bodies: string[] = [];
  let waiting: readonly string[] = [];
  let settle: (() => void)[] = [];
  const witness = new Witness({
    key,
    set: setIdOf(SET),
    keys: matterRulesOf(SET).keys,
    readOpen: async () => book.matters.filter(({ endsAt }) => endsAt !== null),
    readSwaps: async () => swapsOf(book, key.pubkey),
    waiting: () => waiting,
    submit: (body) => {
      bodies.push(body);
      return new Promise((resolve) => settle.push(() => resolve(undefined)));
    }
  });
  const take = async (submitter: string, step: MatterStep, time = START) => {
    assert.equal(book.take({ submitter, sig: '', step }, time), null);
    await witness.load();
  };
  for (const step of steps) await take(other.pubkey, step);
  return {
    witness,
    bodies,
    book,
    key,
    take,
    setWaiting: (found: readonly string[]) => {
      waiting = found;
    },
    settle: async () => {
      for (const one of settle) one();
      settle = [];
      await Promise.resolve();
      await Promise.resolve();
    }
  };
}

test('a hub says its word once, signed for its set, and is asked again in the next turn alone', async () => {
  const { witness, bodies, key, take, settle, setWaiting } = await start([ATTEST]);
  assert.deepEqual(witness.questions, [{ ...WORD, begunAt: START, chain: 'BTC', index: 5 }]);
  witness.answer({ ...WORD, turn: 2, place: PLACE });
  witness.answer({ kind: 'reorg', id: WORD.id, isSeen: true });
  assert.deepEqual(bodies, [], 'nobody asked that');
  witness.answer({ ...WORD, place: PLACE });
  witness.answer({ ...WORD, place: null });
  assert.equal(bodies.length, 1);
  const step = readMatter(bodies[0]!)!;
  // The set was too slow to answer: the word waits.
  setWaiting(bodies);
  await settle();
  assert.deepEqual(witness.questions, []);
  setWaiting([]);
  assert.equal(witness.questions.length, 1, 'a word that was refused and does not wait may be said again');
  await take(key.pubkey, step);
  assert.deepEqual(witness.questions, []);
});

test('a hub that did not qualify is asked nothing', async () => {
  const { witness, book, take, key } = await start([]);
  book.qualified = SET.keys.filter((one) => one !== key.pubkey);
  await take(MEMBERS[1]!.pubkey, ATTEST);
  assert.deepEqual(witness.questions, []);
});

test('questions of a hub that asks a lot hold up none of another one', async () => {
  const { witness, take } = await start([]);
  const [, liar, other] = MEMBERS as [(typeof MEMBERS)[0], (typeof MEMBERS)[0], (typeof MEMBERS)[0]];
  for (let index = 100; index < 200; index++) await take(liar.pubkey, { ...ATTEST, index });
  await take(other.pubkey, ATTEST);
  const indexes = witness.questions.map((question) => question.kind === 'attestation' && question.index);
  assert.deepEqual(indexes.slice(0, 3), [100, 5, 101]);
  assert.equal(indexes.length, 101);
});

test('a question that is over is closed by one hub after the other, and not again at once', async () => {
  const { witness, bodies, book } = await start([ATTEST]);
  const endsAt = book.matters[0]!.endsAt!;
  witness.tick(endsAt - 1);
  assert.deepEqual(bodies, []);
  assert.ok(witness.concerns({ seq: 1, time: endsAt, previous: '', operations: [] }));
  assert.ok(!witness.concerns({ seq: 1, time: endsAt - 1, previous: '', operations: [] }));
  for (let at = 0; at < 20_000; at += 50) witness.tick(endsAt + at);
  assert.deepEqual(bodies, [matterBodyOf({ type: 'close', endsAt })]);
});

test('a hub moves on a swap that can be settled, however many questions about others the set refuses', async () => {
  const bodies: string[] = [];
  const action = { kind: 'attestation', status: 'attested', decidedAt: START } as unknown as Attestation;
  const swapOf = (index: number, destination?: Attestation): SwapWithActions => ({
    swap: { chain: 'BTC', index, destination: 'LTC', destinationIndex: index, status: 'attested' } as Swap,
    source: action,
    destination
  });
  const asking = Array.from({ length: 120 }, (_, at) => swapOf(at + 1));
  const witness = new Witness({
    key: MEMBERS[0]!,
    set: setIdOf(SET),
    keys: SET.keys,
    readOpen: async () => [],
    readSwaps: async () => [...asking, swapOf(500, action)],
    waiting: () => [],
    submit: async (body) => {
      bodies.push(body);
      throw new Error('refused');
    }
  });
  await witness.load();
  witness.tick(START);
  assert.deepEqual(readMatter(bodies[0]!), {
    type: 'swap',
    chain: 'BTC',
    index: 500,
    destination: 'LTC',
    destinationIndex: 500
  });
  for (let turn = 1; turn <= 2; turn++) witness.tick(START + turn * 30_000);
  assert.equal(bodies.length, 150);
  assert.equal(new Set(bodies).size, 121, 'each question has its turn');
});

test('a hub moves on the swaps that it began, each step once in a while, and none of others', async () => {
  const swap = { type: 'swap', chain: 'BTC', index: 5, destination: 'LTC', destinationIndex: 9 } as const;
  const { witness, bodies, book, key, take } = await start([]);
  await take(key.pubkey, swap);
  await take(MEMBERS[1]!.pubkey, { ...swap, index: 6 });
  witness.tick(START);
  await take(key.pubkey, ATTEST);
  for (const { pubkey, sig } of wordsFor(book))
    await take(pubkey, { type: 'action-word', id: 'BTC:5:LTC', turn: 1, place: PLACE, sig });
  assert.deepEqual(bodies, []);
  for (let at = 0; at < 29_000; at += 1_000) witness.tick(START + at);
  const asked = matterBodyOf({ type: 'attest', chain: 'LTC', index: 9, destination: 'BTC' });
  assert.deepEqual(bodies, [asked]);
  witness.tick(START + 30_000);
  assert.deepEqual(bodies, [asked, asked], 'the set may have been too slow');
});

/** Signed words of three hubs about the attestation of `ATTEST`. */
function wordsFor(book: MatterBook) {
  const attestation = book.find('attestation', 'BTC:5:LTC')!;
  return MEMBERS.slice(0, 3).map((key) => ({
    pubkey: key.pubkey,
    sig: signFact(setIdOf(SET), actionStatement(attestation, PLACE), key)
  }));
}

/** A hub that asks facts which the test sets. */
function asking(questions: readonly Question[]) {
  const answers: Answer[] = [];
  const facts = { place: null as typeof PLACE | null, confirmations: 0, isSeen: null as boolean | null, isDown: false };
  const asked: number[] = [];
  let now = START;
  const asks = new WitnessAsks({
    facts: {
      actionAt: async (_chain, index) => {
        asked.push(index);
        return facts.isDown ? null : { place: facts.place, confirmations: facts.confirmations };
      },
      hasReorganised: async () => facts.isSeen
    },
    questions: () => questions,
    tell: async (answer) => answers.push(answer),
    now: () => now
  });
  return { answers, facts, asked, asks, setNow: (time: number) => (now = time) };
}

const ACTION: Question = { ...WORD, begunAt: START, chain: 'DOGE', index: 5 };

test('an action is told with as many confirmations as its chain needs; that there is none only after ten minutes', async () => {
  const { answers, facts, asks, setNow } = asking([ACTION]);
  await asks.ask();
  Object.assign(facts, { place: PLACE, confirmations: 5 });
  await asks.ask();
  assert.deepEqual(answers, []);
  facts.confirmations = 6;
  await asks.ask();
  assert.deepEqual(answers.splice(0), [{ ...WORD, place: PLACE }]);
  facts.place = null;
  setNow(START + 599_999);
  await asks.ask();
  assert.deepEqual(answers, []);
  setNow(START + 600_000);
  await asks.ask();
  assert.deepEqual(answers.splice(0), [{ ...WORD, place: null }]);
  facts.isDown = true;
  await asks.ask();
  assert.deepEqual(answers, [], 'an indexer that does not answer says nothing');
});

test('a reorg is told as soon as it is seen, denied after ten minutes, and nothing is said where the node does not know', async () => {
  const hash = '1'.repeat(64);
  const { answers, facts, asks, setNow } = asking([
    { kind: 'reorg', id: 'x', begunAt: START, chain: 'BTC', height: 1, oldHash: hash, newHash: hash }
  ]);
  for (const isSeen of [null, false, true]) {
    facts.isSeen = isSeen;
    await asks.ask();
  }
  setNow(START + 600_000);
  for (const isSeen of [null, false]) {
    facts.isSeen = isSeen;
    await asks.ask();
  }
  assert.deepEqual(
    answers,
    [true, false].map((isSeen) => ({ kind: 'reorg', id: 'x', isSeen }))
  );
});

test('questions that nobody can answer hold up no other, and eight are asked at once', async () => {
  const all = Array.from({ length: 20 }, (_, at): Question => ({ ...ACTION, id: String(at), index: at }));
  const { asks, asked } = asking(all);
  const turns: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    await Promise.all([asks.ask(), asks.ask()]);
    turns.push(asked.length);
  }
  assert.deepEqual(turns, [8, 16, 20, 28]);
  assert.deepEqual(new Set(asked).size, 20);
});
