import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../../../lab/federation/random.ts';
import type { Message } from '../../../src/hub/federation/consensus/messages.ts';
import {
  type HubSet,
  setIdOf,
  signMessage,
  signOperation,
  signSeen,
  signSubmission
} from '../../../src/hub/federation/gossip/signatures.ts';
import { bodyOf, firstBodiesOf } from '../../../src/hub/federation/journal/config-state.ts';
import { isWellFormed } from '../../../src/hub/federation/journal/set-state.ts';
import { matterBodyOf } from '../../../src/hub/federation/matters/operations.ts';
import { listBodyOf } from '../../../src/hub/federation/matters/validator-list.ts';
import { capabilityBodyOf, roundBodyOf } from '../../../src/hub/federation/rounds/operations.ts';
import { until } from '../../support/federation/mesh-hub.ts';
import { MEMBERS, type Node, startNode } from '../../support/federation/node.ts';

const SEED = Number(process.env['NONSENSE_SEED'] ?? 1);
/** Messages to each hub, and operations that a member signs; most of these no hub takes. */
const [MESSAGES, OPERATIONS, AT_ONCE] = [6_000, 4_000, 50];

const SET: HubSet = {
  keys: MEMBERS.map(({ pubkey }) => pubkey),
  quorum: 'byzantine',
  rounds: { epochStartMs: 1_767_225_600_000, intervalMs: 600_000, windowMs: 180_000, minSubmissions: 3 }
};
const set = setIdOf(SET);
const liar = MEMBERS[3]!;
const [hash, other] = ['ab'.repeat(32), 'cd'.repeat(32)];
const sig = 'ef'.repeat(64);

const prices = [['BTC/USD', '64000.00000000']] as const;
const submission = signSubmission(set, { round: 1, height: 800_000, prices } as never, liar);
const seen = signSeen(set, { round: 1, held: ['ab'.repeat(20)] }, liar);
const ACTION = { chain: 'BTC', index: 7, destination: 'LTC' };
const place = { action: 'SEND|0', height: 5, hash };
/** A body of each kind of operation. */
const BODIES: readonly string[] = [
  bodyOf([{ coin: 'LTC', network: 'regtest', module: 'm', param: 'host', value: 'h' }]),
  bodyOf([{ coin: 'LTC', network: 'regtest', module: 'm', param: 'host', value: null }]),
  ...firstBodiesOf([{ coin: 'LTC', network: 'regtest', module: 'n', param: 'host', value: 'h' }]),
  capabilityBodyOf({ name: 'price', phase: 'ready', height: 7, reason: null }),
  roundBodyOf({ round: 1, seen: [seen], submissions: [submission] }),
  listBodyOf([{ pubkey: MEMBERS[0]!.pubkey, addr: 'host:10001' }]),
  ...(
    [
      { type: 'attest', ...ACTION },
      { type: 'action-word', id: 'x', turn: 1, place, sig },
      { type: 'action-word', id: 'x', turn: 1, place: null, sig: null },
      { type: 'swap', ...ACTION, destinationIndex: 8 },
      { type: 'reorg', chain: 'BTC', height: 5, timestamp: 1_700_000_000, oldHash: hash, newHash: other },
      { type: 'reorg-word', id: 'x', isSeen: true, sig },
      { type: 'propose', parameter: 'GOV_VOTING_PERIOD', currentValue: null, proposedValue: '1', rationale: '' },
      { type: 'vote', id: 'x', approves: true },
      { type: 'close', endsAt: 1 }
    ] as const
  ).map(matterBodyOf)
];

const operation = signOperation(set, 0, BODIES[0]!, liar);
const batch = { seq: 1, time: 1_767_225_600_001, previous: '', operations: [operation] };
const vote = { kind: 'commit', view: 0, seq: 1, digest: hash } as const;
const stable = {
  seq: 100,
  digest: hash,
  state: other,
  votes: [{ sender: liar.pubkey, message: { kind: 'checkpoint', seq: 100, digest: hash, state: other }, sig }]
};
const prepared = {
  proposal: { sender: liar.pubkey, message: { kind: 'prePrepare', view: 0, seq: 1, digest: hash, batch }, sig },
  votes: [{ sender: liar.pubkey, message: { ...vote, kind: 'prepare' }, sig }]
};
const change = {
  kind: 'viewChange',
  view: 1,
  stable,
  last: { batch, votes: [{ sender: liar.pubkey, message: vote, sig }] },
  places: [prepared]
};
/** A message of each kind, without its signature. */
const SIGNED: readonly object[] = [
  prepared.proposal.message,
  vote,
  { ...vote, statement: sig },
  stable.votes[0]!.message,
  change,
  { kind: 'newView', view: 1, changes: [{ sender: liar.pubkey, message: change, sig }] }
];
/** Data of each type of envelope. */
const DATA: readonly (readonly [string, object])[] = [
  ['CONSENSUS_SUBMIT', { operations: [operation] }],
  ['ATTESTATION_SUBMIT', { operations: [signOperation(set, 0, BODIES[6]!, liar)] }],
  ['GOVERNANCE_SUBMIT', { operations: [signOperation(set, 0, BODIES.at(-2)!, liar)] }],
  ['CONSENSUS_STANDING', { view: 0, seq: 1 }],
  ['STATE_REQUEST', { seq: 1 }],
  ['STATE_LOG', { entries: [{ batch, votes: [{ sender: liar.pubkey, message: vote, sig }] }] }],
  ['STATE_MANIFEST', { stable, manifest: '{"time":1,"next":[],"chunks":[]}' }],
  ['STATE_CHUNK_REQUEST', { hash }],
  ['STATE_CHUNK', { hash, text: 'x' }],
  ['CONSENSUS_PART', { hash, at: 0, of: 2, text: 'eA==' }],
  ['ORACLE_PRICE_SUBMIT', { submission }],
  ['ORACLE_SEEN', { seen }],
  ['ORACLE_ASK', { round: 1, hash: 'ab'.repeat(20) }],
  ['ORACLE_STATEMENT', { round: 1, sig }],
  ['ORACLE_PUBLISHED', { round: 1, txid: hash }],
  ['CAPABILITY_SELF_TEST', { pubkey: liar.pubkey, capability: 'price', ok: true }],
  ['CAPABILITY_ACTIVATED', { pubkey: liar.pubkey, capability: 'price', block_at: 1 }]
];

const deep = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
/** Values that stand where others are expected. */
const NONSENSE: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 53,
  1e300,
  '',
  'x',
  '__proto__',
  'constructor',
  'x'.repeat(70_000),
  '\0',
  '\ud800',
  ' 1',
  '1e3',
  [],
  [[]],
  {},
  { toString: 1, valueOf: 1 },
  { length: 1e9 },
  { toJSON: 'x' },
  JSON.parse('{"__proto__":{"type":"vote"}}'),
  deep(2_000)
];

/** Returns a copy of a value in which one place at random is something else, wrapped, left out or doubled. */
function spoilt(random: SeededRandom, value: unknown): unknown {
  if (typeof value === 'object' && value !== null && random.chance(0.8)) {
    if (Array.isArray(value)) {
      if (value.length === 0) return random.pick(NONSENSE);
      const at = random.between(0, value.length - 1);
      if (random.chance(0.1)) return [...value, value[at]];
      return value.map((each: unknown, place) => (place === at ? spoilt(random, each) : each));
    }
    const names = Object.keys(value);
    if (names.length > 0) {
      const name = random.pick(names);
      if (random.chance(0.1)) return Object.fromEntries(Object.entries(value).filter(([one]) => one !== name));
      if (random.chance(0.1))
        return { ...value, [random.pick(['type', 'kind', 'x', 'toString'])]: random.pick(NONSENSE) };
      return { ...value, [name]: spoilt(random, (value as Record<string, unknown>)[name]) };
    }
  }
  return random.chance(0.3) ? [value] : random.pick(NONSENSE);
}

/** Returns a body that is nearly of a kind; in part one whose JSON says one thing twice, or in another form. */
function spoiltBody(random: SeededRandom): string {
  const body = random.pick(BODIES);
  if (random.chance(0.05)) return body.replace('{"', `{"${random.pick(['matter', 'config', 'round'])}":0,"`);
  if (random.chance(0.05))
    return body.replace(/"x"/, JSON.stringify(random.pick(['é', 'X', 'x ', '😀', 'ß', 'x'.repeat(288)])));
  return random.chance(0.05) ? ` ${body}` : JSON.stringify(spoilt(random, JSON.parse(body)));
}

test('nonsense that a member signs ends no hub and makes none differ from the others', async () => {
  const random = new SeededRandom(SEED);
  const onEvidence = () => undefined;
  const nodes: Node[] = [await startNode(MEMBERS[0]!, [], undefined, { set: SET, onEvidence })];
  for (const key of MEMBERS.slice(1))
    nodes.push(await startNode(key, [nodes[0]!.mesh.addr], undefined, { set: SET, onEvidence }));
  const [honest, sender] = [nodes.slice(0, 3), nodes[3]!];
  try {
    await until('each sees three', () => nodes.every(({ mesh }) => mesh.peers.length === 3));
    for (let sent = 0; sent < MESSAGES; sent++) {
      const isSigned = random.chance(0.3);
      const [type, data] = isSigned ? (['CONSENSUS_MESSAGES', {}] as const) : random.pick(DATA);
      const message = spoilt(random, random.pick(SIGNED)) as Message;
      const submitted = { operations: [signOperation(set, random.between(0, 99), spoiltBody(random), liar)] };
      const content =
        type === 'CONSENSUS_SUBMIT' && random.chance(0.8)
          ? submitted
          : isSigned
            ? { messages: [trySign(message)] }
            : (spoilt(random, data) as object);
      const envelope = {
        type,
        id: `n${sent}`,
        sender: liar.pubkey,
        timestamp: Date.now(),
        data: { set, ...content },
        sig
      };
      for (const { hub } of honest)
        assert.doesNotThrow(() => hub.receive(envelope as never), JSON.stringify(envelope).slice(0, 600));
      if (sent % AT_ONCE === 0) await new Promise(setImmediate);
    }
    let taken: Promise<unknown>[] = [];
    let applied = 0;
    for (let made = 0; made < OPERATIONS; made++) {
      const body = made < BODIES.length ? BODIES[made]! : spoiltBody(random);
      let isTaken = false;
      assert.doesNotThrow(
        () => {
          isTaken = isWellFormed(body);
        },
        body.slice(0, 600)
      );
      if (!isTaken) continue;
      applied += 1;
      taken.push(
        // Another operation that this member has signed, above, may have its number.
        sender.hub
          .submit(body)
          .catch(({ code }: { code: string }) =>
            assert.match(code, /^(REQUEST_INVALID|CONSENSUS_TIMEOUT)$/, body.slice(0, 600))
          )
      );
      if (taken.length < AT_ONCE) continue;
      await Promise.all(taken);
      taken = [];
    }
    await Promise.all(taken);
    assert.ok(applied > 200, `${applied} operations`);
    await Promise.all(
      honest.map(({ hub }, at) =>
        hub.submit(bodyOf([{ coin: 'LTC', network: 'regtest', module: `last-${at}`, param: 'host', value: 'h' }]))
      )
    );
    const last = Math.max(...honest.map(({ hub }) => hub.standing.seq));
    await until('all are alike', () => nodes.every(({ hub }) => hub.standing.seq >= last));
    assert.deepEqual(
      nodes.flatMap(({ halts }) => halts),
      []
    );
  } finally {
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
});

/** Returns a message with the liar's signature where it has a form that can be signed. */
function trySign(message: Message): object {
  try {
    return signMessage(set, message, liar);
  } catch {
    return { sender: liar.pubkey, message, sig };
  }
}
