import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { setIdOf } from '../../src/hub/federation/gossip/signatures.ts';
import { bodyOf } from '../../src/hub/federation/journal/config-state.ts';
import { startNode } from '../../test/support/federation/node.ts';
import { startServiceProcess } from '../../test/support/service-process.ts';
import { BEHAVIOURS, type Behaviour } from './liars.ts';
import { LyingGossip } from './lying-gossip.ts';
import { SeededRandom } from './random.ts';
import { areJoined, call, configurationsOf, EPOCH_START, type RealHub, startSet, writeEntry } from './real-set.ts';

/** Behaviours of a liar that talks; one that loses its database is a test of its own. */
export const SPOKEN_LIES = BEHAVIOURS.filter((behaviour) => behaviour !== 'loses its database');

interface LiarOptions {
  readonly behaviour: Behaviour;
  readonly seed: number;
  /** Writes of each honest hub. */
  readonly writes: number;
}

/** Results of honest hubs beside a liar. */
interface LiarReport {
  readonly lies: number;
  /** Hubs whose tables name it, with both messages of a place. */
  readonly accusers: number;
  /** Hubs whose log names it: it lied, or another one leads in its place. */
  readonly namers: number;
}

const entryOf = (module: string) => bodyOf([{ coin: 'LTC', network: 'regtest', module, param: 'host', value: 'liar' }]);
const [HEAL_MS, LOOK_MS, AWAY_MS] = [120_000, 100, 2_000];

/**
 * Plays a liar as the leader of four hubs, of which three are real processes that take writes; one of these is away for a while.
 *
 * @throws {assert.AssertionError} when honest hubs differ, lose an answered write, stop, halt, or accuse one another
 */
export async function playLiar({ behaviour, seed, writes }: LiarOptions): Promise<LiarReport> {
  const { hubs } = await startSet({ hubs: 4 });
  const all = hubs.toSorted((a, b) => (a.key.pubkey < b.key.pubkey ? -1 : 1));
  const [leader, ...honest] = all as [RealHub, ...RealHub[]];
  try {
    await until('the hubs see each other', () => areJoined(hubs));
    await leave(leader);
    const keys = all.map(({ key }) => key.pubkey);
    const rounds = { epochStartMs: EPOCH_START, intervalMs: 600_000, windowMs: 180_000, minSubmissions: 3 };
    const set = { keys, quorum: 'byzantine', rounds } as const;
    const others = setIdOf({ ...set, rounds: { ...rounds, minSubmissions: 4 } });
    const options = {
      behaviour,
      key: leader.key,
      set: setIdOf(set),
      otherSet: others,
      keys,
      random: new SeededRandom(seed)
    };
    let mouth: LyingGossip | null = null;
    const liar = await startNode(
      leader.key,
      honest.map(({ peerPort }) => `ws://127.0.0.1:${peerPort}`),
      leader.database,
      {
        set,
        port: leader.peerPort,
        onEvidence: () => undefined,
        watch: (envelope) => mouth?.hear(envelope),
        speak: (mesh) => {
          mouth = new LyingGossip(mesh, options);
          return mouth;
        }
      }
    );
    await until('the liar is among them', () => areJoined(honest, 3));
    const answered: string[] = [];
    const write = async (hub: RealHub, module: string) => {
      await until(`${hub.name} takes ${module}`, () => writeEntry(hub, module));
      answered.push(module);
    };
    for (let number = 0; number < writes; number++) {
      void liar.hub.submit(entryOf(`liar-${number}`)).catch(() => undefined);
      await Promise.all(honest.map((hub) => write(hub, `${hub.name.replace(' ', '-')}-${number}`)));
    }
    const [away, there] = honest as [RealHub, RealHub];
    await leave(away);
    // With a liar that votes the others decide without it, and it must fetch what it lacks, perhaps from the liar.
    for (const end = performance.now() + AWAY_MS; performance.now() < end; await sleep(LOOK_MS))
      await writeEntry(there, 'while-away', AbortSignal.timeout(AWAY_MS)).catch(() => false);
    away.process = startServiceProcess('hub', away.env);
    await until('it is there again', () => areJoined(honest, 3));
    await Promise.all(honest.map((hub) => write(hub, `${hub.name.replace(' ', '-')}-last`)));
    await liar.stop();
    const [first, ...same] = await eventuallyAlike(honest);
    for (const other of same) assert.deepEqual(other, first, `${behaviour}: honest hubs differ`);
    const missing = answered.filter((module) => first.LTC.regtest[module] === undefined);
    assert.deepEqual(missing, [], `${behaviour}: writes that were answered are lost`);
    let [accusers, namers] = [0, 0];
    for (const hub of honest) {
      const accused = (await call(hub, 'getevidence')).map(({ against }: { against: string }) => against);
      assert.deepEqual(
        accused.filter((key: string) => key !== leader.key.pubkey),
        [],
        `${behaviour}: accuses an honest hub`
      );
      assert.notEqual((await call(hub, 'getfederation')).phase, 'halted', `${behaviour}: ${hub.name}`);
      if (accused.length > 0) accusers += 1;
      if (namesLiar(hub, leader.key.pubkey)) namers += 1;
    }
    return { lies: (mouth as LyingGossip | null)?.lies ?? 0, accusers, namers };
  } finally {
    for (const hub of hubs) await leave(hub);
  }
}

/** Returns whether a hub has said that another one lies, or that it lost the lead. */
function namesLiar(hub: RealHub, key: string): boolean {
  const output = hub.process!.output();
  return [`hub ${key} lies`, `hub ${key} let operations wait`, `hub ${key} signed two`].some((words) =>
    output.includes(words)
  );
}

async function leave({ process }: RealHub): Promise<void> {
  process?.child.kill('SIGKILL');
  await process?.exited;
}

async function eventuallyAlike(hubs: readonly RealHub[]) {
  let found: Awaited<ReturnType<typeof configurationsOf>> = [];
  await until('all have applied the same', async () => {
    found = await configurationsOf(hubs);
    return true;
  });
  return found;
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const since = performance.now(); !(await isSo().catch(() => false)); await sleep(LOOK_MS))
    if (performance.now() - since > HEAL_MS) assert.fail(`not within ${HEAL_MS / 1_000} s: ${what}`);
}
