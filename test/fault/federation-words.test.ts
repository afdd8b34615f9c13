import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { areJoined, call, EPOCH_START, type RealHub, startSet, writeEntry } from '../../lab/federation/real-set.ts';
import { setIdOf, signOperation } from '../../src/hub/federation/gossip/signatures.ts';
import { Intruder } from '../support/federation/mesh-hub.ts';

/** An object of JSON that has no text. */
const TEXTLESS = { toString: 1, valueOf: 1 };
const PART_BYTES = 700_000;
const ROUNDS = { epochStartMs: EPOCH_START, intervalMs: 600_000, windowMs: 180_000, minSubmissions: 3 };

/** Sends a message in parts, as hubs send long ones. */
function sendLong(socket: Intruder, type: string, data: Record<string, unknown>, key: RealHub['key']): void {
  const bytes = Buffer.from(JSON.stringify({ type, data }));
  const hash = createHash('sha256').update(bytes).digest('hex');
  const of = Math.ceil(bytes.length / PART_BYTES);
  for (let at = 0; at < of; at++) {
    const text = bytes.subarray(at * PART_BYTES, (at + 1) * PART_BYTES).toString('base64');
    socket.send('CONSENSUS_PART', { set: data['set'], hash, at, of, text }, key);
  }
}

test('no word of a member ends another hub: pairs, types and names that are no texts, or megabytes long', async () => {
  const { hubs } = await startSet({ hubs: 4 });
  try {
    while (!(await areJoined(hubs).catch(() => false))) await sleep(100);
    const [liar, ...honest] = hubs as [RealHub, ...RealHub[]];
    liar.process!.child.kill('SIGKILL');
    await liar.process!.exited;
    const keys = hubs.map(({ key }) => key.pubkey).toSorted();
    const set = setIdOf({ keys, quorum: 'byzantine', rounds: ROUNDS });
    for (const { peerPort } of honest) {
      const socket = await Intruder.dial(`ws://127.0.0.1:${peerPort}`);
      await socket.join(liar.key, set);
      const { pubkey } = liar.key;
      const prices = [[TEXTLESS, '1.00000000']];
      const submission = { submitter: pubkey, round: 1, height: 1, prices, sig: 'ab'.repeat(64) };
      socket.send('ORACLE_PRICE_SUBMIT', { set, submission }, liar.key);
      for (const type of [TEXTLESS, ['vote']]) {
        const body = JSON.stringify({ matter: { type, id: 'a', approves: true } });
        socket.send('CONSENSUS_SUBMIT', { set, operations: [signOperation(set, 0, body, liar.key)] }, liar.key);
      }
      sendLong(socket, 'STATE_CHUNK_REQUEST', { set, hash: "'".repeat(11_000_000) }, liar.key);
      const test = { pubkey, capability: 'x'.repeat(700_000), ok: true };
      socket.send('CAPABILITY_SELF_TEST', { set, ...test }, liar.key);
    }
    for (const [at, hub] of honest.entries()) assert.ok(await writeEntry(hub, `after-${at}`), hub.name);
    for (const hub of honest) {
      assert.notEqual((await call(hub, 'getfederation')).phase, 'halted', hub.name);
      assert.ok(!hub.process!.output().includes('actor ends'), hub.name);
    }
  } finally {
    for (const { process } of hubs) process?.child.kill('SIGKILL');
  }
});
