import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { NOTHING_RESTORED } from '../../../src/hub/federation/consensus/state.ts';
import { type HubSet, rulesOf, setIdOf } from '../../../src/hub/federation/gossip/signatures.ts';
import { SENT_AT_ONCE, SENT_PER_SECOND } from '../../../src/hub/federation/node/paced-gossip.ts';
import { ValidatorHub } from '../../../src/hub/federation/node/validator-hub.ts';

const KEY = signingKey('01'.repeat(32));
const SET: HubSet = { keys: [KEY.pubkey], quorum: 'byzantine' };
const DONE = async () => undefined;

/** Starts the only hub of a set, with a database that is at once. @param publish  called with each message for all */
async function startAlone(publish: () => void): Promise<ValidatorHub> {
  const hub = new ValidatorHub({
    key: KEY,
    set: setIdOf(SET),
    rules: rulesOf(SET, KEY.pubkey, () => true),
    journal: {
      halt: async () => null,
      load: async (now: number) => ({ ...NOTHING_RESTORED, now }),
      keepOperations: DONE,
      keepVotes: DONE,
      keepStable: DONE,
      apply: async ({ batch: { seq } }: { readonly batch: { readonly seq: number } }) => ({
        state: seq % 100 === 0 ? 'ab'.repeat(32) : null,
        refused: new Map()
      })
    } as never,
    roundJournal: { capabilities: async () => [] } as never,
    roundRules: null,
    readOpenMatters: async () => [],
    readOwnSwaps: async () => [],
    onRound: () => undefined,
    disabled: [],
    gossip: { peers: [], publish, sendTo: () => undefined },
    now: Date.now,
    writeTimeoutMs: 60_000,
    logKeep: 1_000,
    onEvidence: () => assert.fail('it signs nothing twice'),
    onForgotten: () => undefined,
    onFalse: () => assert.fail('it hears nobody'),
    onTooLong: () => assert.fail('nothing is long'),
    onTick: () => undefined,
    onHalt: (reason) => assert.fail(String(reason))
  });
  await hub.start();
  return hub;
}

test('a hub that decides as fast as it can says no more than others take, and goes on deciding', async () => {
  let sent = 0;
  const hub = await startAlone(() => {
    sent += 1;
  });
  const check = { name: 'price', hasStake: false, passes: false, reason: null } as const;
  const since = performance.now();
  for (let number = 0; number < SENT_AT_ONCE; number++) hub.capabilities.check([check], null);
  const end = performance.now() + 2_000;
  let written = 0;
  const write = async () => {
    while (performance.now() < end) {
      await hub.submit(`write ${written}`);
      written += 1;
    }
  };
  await Promise.all(Array.from({ length: 2 }, write));
  const most = SENT_AT_ONCE + ((performance.now() - since) / 1_000) * SENT_PER_SECOND;
  await hub.stop();
  assert.ok(sent > SENT_AT_ONCE && sent <= most + 10, `${sent} messages, ${most} at most`);
  assert.ok(written > 10, `${written} writes in ${sent - SENT_AT_ONCE} messages`);
});
