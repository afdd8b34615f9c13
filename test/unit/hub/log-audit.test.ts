import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { exportLog } from '../../../src/hub/federation/audit/export.ts';
import { type Audit, auditLog, firstDifference } from '../../../src/hub/federation/audit/verify.ts';
import type { Batch, Committed, Operation, Stable } from '../../../src/hub/federation/consensus/messages.ts';
import {
  digestOf,
  type HubSet,
  setIdOf,
  signMessage,
  signOperation
} from '../../../src/hub/federation/gossip/signatures.ts';
import { bodyOf } from '../../../src/hub/federation/journal/config-state.ts';
import type { Journal } from '../../../src/hub/federation/journal/journal.ts';
import { hashOf, manifestText } from '../../../src/hub/federation/transfer/manifest.ts';

const VERIFIER = new URL('../../federation/verify_log.py', import.meta.url).pathname;
const KEYS = ['01', '02', '03', '04'].map((digits) => signingKey(digits.repeat(32)));
const SET: HubSet = { keys: KEYS.map(({ pubkey }) => pubkey).toSorted(), quorum: 'byzantine' };
const ID = setIdOf(SET);

function operation(number: number, value = 'h'): Operation {
  const body = bodyOf([{ coin: 'LTC', network: 'regtest', module: 'm', param: 'host', value }]);
  return signOperation(ID, number, body, KEYS[0]!);
}

function committed(batch: Batch, voters = 3): Committed {
  const vote = { kind: 'commit', view: 0, seq: batch.seq, digest: digestOf(batch) } as const;
  return { batch, votes: KEYS.slice(0, voters).map((key) => signMessage(ID, vote, key)) };
}

function log(count: number, value = 'h'): Batch[] {
  const batches: Batch[] = [];
  for (let seq = 1; seq <= count; seq++) {
    const previous = seq === 1 ? '' : digestOf(batches.at(-1)!);
    batches.push({ seq, time: seq, previous, operations: [operation(seq - 1, seq === count ? value : 'h')] });
  }
  return batches;
}

const PARTS = ['a\n', 'b\n'];
const TEXT = manifestText({ time: 3, next: new Map([[KEYS[0]!.pubkey, 3]]), chunks: PARTS.map(hashOf) });

function stableOf(batch: Batch, signers = 3): Stable {
  const checkpoint = { kind: 'checkpoint', seq: batch.seq, digest: digestOf(batch), state: hashOf(TEXT) } as const;
  const { seq, digest, state } = checkpoint;
  return { seq, digest, state, votes: KEYS.slice(0, signers).map((key) => signMessage(ID, checkpoint, key)) };
}

const HEAD = { form: 'platform-hub-log/1', ...SET };
const entriesOf = (batches: readonly Batch[]) => batches.map((batch) => ({ committed: committed(batch) }));
const stateOf = (batch: Batch, signers = 3, manifest = TEXT) => [
  { stable: stableOf(batch, signers), manifest },
  ...PARTS.map((chunk) => ({ chunk }))
];

async function audit(...lines: readonly unknown[]): Promise<Audit> {
  return await auditLog(
    (async function* () {
      for (const line of lines) yield typeof line === 'string' ? line : JSON.stringify(line);
    })()
  );
}

test('a log is well from its first batch or from a later one, with the state of a checkpoint or without', async () => {
  const batches = log(3);
  const whole = await audit(HEAD, ...entriesOf(batches), ...stateOf(batches[2]!));
  assert.deepEqual(
    { ...whole, digests: [...whole.digests.values()] },
    {
      set: ID,
      digests: batches.map(digestOf),
      first: 1,
      last: 3,
      checkpoint: 3,
      fault: null
    }
  );
  const pruned = await audit(HEAD, ...entriesOf(batches.slice(1)));
  assert.deepEqual([pruned.first, pruned.last, pruned.checkpoint, pruned.fault], [2, 3, null, null]);
  assert.equal((await audit(HEAD, ...stateOf(batches[2]!))).fault, null, 'a state alone');
});

test('the id of a set is that of its hubs, whatever times it has', async () => {
  const rounds = { epochStartMs: 1, intervalMs: 1_000, windowMs: 300, minSubmissions: 3 };
  for (const more of [{}, { rounds }, { votingPeriodMs: 5_000 }, { rounds, votingPeriodMs: 604_800_000 }, { log: 2 }]) {
    const set = { ...SET, ...more };
    const lines: string[] = [];
    const journal = { firstKept: async () => 1, entries: async () => [], stableState: async () => null };
    for await (const line of exportLog(journal as unknown as Journal, set)) lines.push(line);
    assert.deepEqual([(await audit(...lines)).set, lines.length], [setIdOf(set), 1]);
  }
  assert.match((await audit({ ...HEAD, votingPeriodMs: 'long' })).fault ?? '', /is no export/);
});

test('an export whose state is thrown away meanwhile has the next one, with all parts', async () => {
  const batches = log(3);
  const parts = new Map(PARTS.map((part) => [hashOf(part), part]));
  const states = [batches[1]!, batches[2]!].map((batch) => ({ stable: stableOf(batch), text: TEXT }));
  let isPruned = true;
  const journal = {
    firstKept: async () => 1,
    entries: async (from: number) => entriesOf(batches.slice(from - 1)).map((each) => each.committed),
    stableState: async () => states.shift() ?? null,
    chunk: async (hash: string) => {
      const part = isPruned && hash === hashOf(PARTS[1]!) ? null : (parts.get(hash) ?? null);
      if (part === null) isPruned = false;
      return part;
    }
  };
  const lines: string[] = [];
  for await (const line of exportLog(journal as unknown as Journal, SET)) lines.push(line);
  const { fault, checkpoint } = await audit(...lines);
  assert.deepEqual([fault, checkpoint], [null, 3]);
});

test('a verifier in another language finds the same in logs, and the same faults', async () => {
  const batches = log(3);
  const [first, second, third] = batches as [Batch, Batch, Batch];
  const entries = entriesOf(batches);
  const withStatement = committed(third);
  const votes = withStatement.votes.map(({ sender, message }) => {
    const key = KEYS.find(({ pubkey }) => pubkey === sender)!;
    return signMessage(ID, { ...message, statement: 'ab'.repeat(64) }, key);
  });
  const logs: readonly (readonly unknown[])[] = [
    [HEAD, ...entries, ...stateOf(third)],
    [HEAD, ...entries.slice(1)],
    [HEAD, ...entries.slice(0, 2), { committed: { ...withStatement, votes } }],
    [HEAD, { committed: committed(first, 2) }],
    [HEAD, entries[0]!, { committed: committed(third) }],
    [HEAD, entries[0]!, { committed: committed({ ...second, previous: digestOf(third) }) }],
    [HEAD, entries[0]!, { committed: { ...committed(second), batch: { ...second, time: 9 } } }],
    [
      HEAD,
      entries[0]!,
      { committed: committed({ ...second, operations: [{ ...operation(1), sig: operation(0).sig }] }) }
    ],
    [HEAD, entries[0]!, { committed: committed({ ...second, operations: first.operations }) }],
    [HEAD, ...entries, ...stateOf(third, 2)],
    [HEAD, ...entries, ...stateOf(third).slice(0, 2)],
    [{ ...HEAD, log: 2 }],
    [{ ...HEAD, quorum: 'all' }]
  ];
  for (const lines of logs) {
    const input = lines.map((line) => JSON.stringify(line)).join('\n');
    const { stdout, stderr } = spawnSync('python3', [VERIFIER], { input, encoding: 'utf8' });
    const found = JSON.parse(stdout || 'null') as { line: number | null; set: string; digests: [number, string][] };
    const here = await audit(...lines);
    const line = here.fault === null ? null : Number(/^line (\d+)/.exec(here.fault)?.[1] ?? 0);
    assert.deepEqual([found?.line, found?.digests], [line, [...here.digests]], `${here.fault} ${stderr}`);
    if (here.set !== null) assert.equal(found.set, here.set);
  }
});

test('the first fault of a log is named with its line', async () => {
  const batches = log(3);
  const [first, second, third] = batches as [Batch, Batch, Batch];
  const [one, ...others] = entriesOf(batches) as [{ committed: Committed }, { committed: Committed }];
  const forged = { ...second, operations: [operation(1, 'other')] };
  const strange = { ...second, operations: [{ ...operation(1), sig: operation(0).sig }] };
  const faults: readonly (readonly [RegExp, ...unknown[]])[] = [
    [/^it is empty$/],
    [/^line 1: it is no export/, '{}'],
    [/^line 1: it is no export/, { ...HEAD, quorum: 'all' }],
    [/^line 2: it has no batch/, HEAD, { committed: first }],
    [/^line 2: .* commits of a quorum/, HEAD, { committed: committed(first, 2) }],
    [/^line 3: .* commits of a quorum/, HEAD, one, { committed: { ...committed(second), batch: forged } }],
    [/^line 3: batch 3 does not follow batch 1/, HEAD, one, { committed: committed(third) }],
    [
      /^line 3: .* digest of the batch before/,
      HEAD,
      one,
      { committed: committed({ ...second, previous: digestOf(third) }) }
    ],
    [/^line 2: .* digest of the batch before/, HEAD, { committed: committed({ ...first, previous: digestOf(third) }) }],
    [
      /^line 3: .* did not submit next/,
      HEAD,
      one,
      { committed: committed({ ...second, operations: first.operations }) }
    ],
    [/^line 3: .* did not submit next/, HEAD, one, { committed: committed(strange) }],
    [/^line 5: .* signatures of a quorum/, HEAD, one, ...others, ...stateOf(third, 2)],
    [/^line 5: .* not the one that was signed/, HEAD, one, ...others, ...stateOf(third, 3, `${TEXT} `)],
    [/^line 5: .* not of the batch at its place/, HEAD, one, ...others, ...stateOf({ ...third, time: 9 })],
    [/^it ends before 2 parts/, HEAD, ...stateOf(third).slice(0, 1)],
    [/^line 3: it is no part/, HEAD, stateOf(third)[0], { chunk: 'b\n' }],
    [/^line 5: it is no part/, HEAD, ...stateOf(third), { chunk: 'b\n' }]
  ];
  for (const [wanted, ...lines] of faults) assert.match(String((await audit(...lines)).fault), wanted);
});

test('two logs differ from the first place on that both have otherwise', async () => {
  const [one, other] = await Promise.all(
    [log(3), log(3, 'other')].map((batches) => audit(HEAD, ...entriesOf(batches)))
  );
  const later = await audit(HEAD, ...entriesOf(log(4).slice(2)));
  assert.deepEqual(
    [
      firstDifference(one!, one!),
      firstDifference(one!, other!),
      firstDifference(one!, later),
      firstDifference(other!, later)
    ],
    [null, 3, null, 3]
  );
});
