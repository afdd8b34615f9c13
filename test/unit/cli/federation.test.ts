import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { evidenceText, type HubWord, isWell, peersText, statusText } from '../../../src/cli/commands/federation/ask.ts';
import { initMember } from '../../../src/cli/commands/federation/init.ts';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { temporaryDirectory } from '../../support/sync/sync-process.ts';

const [A, B] = ['aa'.repeat(32), 'bb'.repeat(32)] as [string, string];
const word = (changed: Partial<NonNullable<HubWord['answer']>> = {}): HubWord => ({
  url: 'http://one',
  reason: null,
  answer: {
    self: A,
    phase: 'leading',
    view: 0,
    leader: A,
    seq: 7,
    quorum: 'byzantine',
    votes: 2,
    safe: true,
    members: [
      { pubkey: A, connected: true },
      { pubkey: B, connected: true }
    ],
    ...changed
  }
});

test('a key is made once, and its hub added to the file of the set', () => {
  const directory = temporaryDirectory('federation-init');
  const [file, first, second] = ['federation.json', 'one.seed', 'two.seed'].map((name) => join(directory, name)) as [
    string,
    string,
    string
  ];
  const init = (seed: string, addr: string) =>
    initMember({ addr, file, seed, quorum: 'byzantine', now: 1_767_225_600_001 });
  const created = init(first, 'h1:10001');
  assert.match(created, /ORACLE_EPOCH_START=1767225600000,/, 'hubs do not start without it');
  const seed = readFileSync(first, 'utf8').trim();
  const { pubkey } = signingKey(seed);
  assert.ok(created.includes(pubkey) && !created.includes(seed), created);
  assert.equal(statSync(first).mode & 0o077, 0);
  init(second, 'wss://h2:10001');
  init(first, 'h3:10001');
  assert.equal(readFileSync(first, 'utf8').trim(), seed);
  const set = JSON.parse(readFileSync(file, 'utf8'));
  assert.deepEqual(
    [set.quorum, set.members.length, set.members[1].pubkey, set.members[1].addr],
    ['byzantine', 2, pubkey, 'ws://h3:10001']
  );
  for (const addr of ['h', 'wss://h2:10001'])
    assert.throws(() => init(join(directory, 'three.seed'), addr), { code: 'COMMAND_INVALID' });
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).members.length, 2, 'what was refused wrote nothing');
  writeFileSync(file, JSON.stringify({ ...set, log: 2 }));
  init(second, 'wss://h4:10001');
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).log, 2, 'the number of the log stays');
  writeFileSync(second, 'no seed');
  assert.throws(() => init(second, 'h2:10001'), { code: 'COMMAND_INVALID' });
});

test('an operator that adds a hub is told of a key that others may read, and of a quorum that stays', () => {
  const directory = temporaryDirectory('federation-init');
  const [file, seed] = ['federation.json', 'one.seed'].map((name) => join(directory, name)) as [string, string];
  const init = (quorum: 'byzantine' | 'specified') => initMember({ addr: 'h1:10001', file, seed, quorum });
  assert.doesNotMatch(init('byzantine'), /chmod|stays/);
  chmodSync(seed, 0o640);
  assert.match(init('specified'), /chmod 600 .*one\.seed(?:.*\n)+its quorum is "byzantine", and stays so/);
});

test('evidence is told by those hubs that answer, and the others are named', () => {
  const silent = { url: 'http://two', evidence: null, reason: 'was not reached' };
  const none = { url: 'http://one', evidence: [], reason: null };
  const found = { url: 'http://three', evidence: [{ against: A }], reason: null };
  assert.equal(evidenceText([none, found, silent]), `http://three {"against":"${A}"}\n${evidenceText([silent])}`);
  assert.match(evidenceText([none, silent]), /^no hub has signed two.*\nhttp:\/\/two not reached: was not reached$/);
  assert.equal(evidenceText([silent]), 'http://two not reached: was not reached');
});

test('a status is well where all hubs answer, vote and see a quorum, and each line says what is not', () => {
  const lonely = word({
    members: [
      { pubkey: A, connected: true },
      { pubkey: B, connected: false }
    ]
  });
  const silent: HubWord = { url: 'http://two', answer: null, reason: 'was not reached' };
  const trouble = { code: 'LOG_OUT_OF_ORDER', reason: 'it waits for a log', remedy: 'start the hub that has it' };
  const words = [word(), word({ phase: 'halted' }), lonely, silent, word({ safe: false }), word({ trouble })];
  assert.deepEqual(
    words.map((one) => isWell([one])),
    [true, false, false, false, true, false]
  );
  const lines = statusText(words).split('\n').slice(1);
  for (const [at, pattern] of [
    /leading.* 7 .*2 of 2/,
    /halted/,
    /needs 2 hubs/,
    /not reached.*was not/,
    /one liar/,
    /LOG_OUT_OF_ORDER: it waits for a log; start the hub that has it/
  ].entries())
    assert.match(lines[at]!, pattern);
});

test('peers are told of each member by each hub', () => {
  const other = word({
    self: B,
    members: [
      { pubkey: A, connected: false },
      { pubkey: B, connected: true }
    ]
  });
  const rows = peersText([word(), other, { url: 'http://three', answer: null, reason: '' }])
    .split('\n')
    .map((line) => line.split(/ +/));
  assert.deepEqual(rows.slice(1), [
    [A, 'leads', 'no', '?'],
    [B, 'yes', 'self', '?']
  ]);
});
