import { setTimeout as sleep } from 'node:timers/promises';
import { readNumber } from '../../src/cli/options.ts';
import { setIdOf } from '../../src/hub/federation/gossip/signatures.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { runProgram } from '../../test/support/program.ts';
import { type Figure, median, report } from '../bench/support/figures.ts';
import { call, type MeshHub, openMesh, placeInSet } from '../bench/support/hub-mesh.ts';
import { GOSSIP_ATTACKS, type GossipAttackAsk } from '../bench/support/processes/gossip-attack.ts';
import { Helper, memoryMb } from '../bench/support/processes/helper.ts';
import { SeededRandom } from './random.ts';

/*
 * npm run hostile:federation -- --seed S --seconds N
 *
 * Strangers at the socket of one of four hubs: forged messages, a new id in each, long and deep ones, connections that dawdle, and a crowd
 * of them. Writes at that hub may take twice as long, and a stranger may cost 64 KiB.
 */
const { seed, seconds } = readArguments(
  'npm run hostile:federation -- [--seed 1] [--seconds 20]',
  { seed: { type: 'string', default: '1' }, seconds: { type: 'string', default: '20' } },
  ({ seed, seconds }) => ({
    seed: readNumber('--seed', seed, 1, 1_000_000_000),
    seconds: readNumber('--seconds', seconds, 2, 86_400)
  })
);

/** Strangers that are connected at once. */
const CROWD = 1_000;
const [MOST_SLOWER, MOST_KIB, SETTLE_MS] = [2, 64, 2_000];
let written = 0;

/** Writes one entry after the other for a while. @returns the middle time of a write, in milliseconds */
async function writeFor(hub: MeshHub, ms: number): Promise<number> {
  const each: number[] = [];
  for (const end = performance.now() + ms; performance.now() < end; written++) {
    const began = performance.now();
    await call(hub, 'updateconfig', { config: { LTC: { regtest: { [`w-${written}`]: { host: 'h' } } } } });
    each.push(performance.now() - began);
  }
  return median(each);
}

await runProgram(async () => {
  const hubs = await openMesh(4);
  const [hub, other] = hubs as readonly [MeshHub, MeshHub];
  const set = setIdOf({
    keys: hubs.map(({ key }) => key),
    quorum: 'byzantine',
    rounds: {
      epochStartMs: Number(hub.env['ORACLE_EPOCH_START']),
      intervalMs: 600_000,
      windowMs: 180_000,
      minSubmissions: 3
    }
  });
  const random = new SeededRandom(seed);
  const attacks = [...GOSSIP_ATTACKS]
    .map((attack) => ({ attack, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ attack }) => attack);
  await writeFor(hub, SETTLE_MS);
  const figures: Figure[] = [];
  const memory = () => memoryMb(hub.process.child.pid!, 'VmRSS');
  for (const attack of attacks) {
    const alone = await writeFor(hub, seconds * 500);
    const before = memory();
    const attacker = new Helper<GossipAttackAsk>('gossip-attack.ts').giveWay();
    const port = Number(hub.env['P2P_PORT']);
    await attacker.ask({ type: 'begin', attack, port, member: other.key, set });
    await sleep(SETTLE_MS);
    const measured = await writeFor(hub, seconds * 1_000);
    const grown = Math.max(0, memory() - before);
    const sent = await attacker.ask<number>({ type: 'stop' });
    attacker.end();
    const peers = (await placeInSet(hub)).members.filter(({ connected }) => connected).length;
    console.log(`${attack}: ${sent} messages, ${grown.toFixed(1)} MiB more, ${peers} of 4 hubs connected`);
    if (peers < hubs.length) throw new Error(`${attack} parted the hub from ${hubs.length - peers} others`);
    const what = `a write at a hub, ${attack}`;
    figures.push({ what, measured, reference: alone, unit: 'ms', compare: 'times', most: MOST_SLOWER, aim: 1.2 });
    if (attack === 'slow' || attack === 'sockets') {
      const kib = (grown * 1_024) / CROWD;
      const own = { what: `memory for a stranger, ${attack}`, measured: kib, reference: 0, unit: 'KiB' } as const;
      figures.push({ ...own, compare: 'above', most: MOST_KIB, aim: MOST_KIB / 4 });
    }
  }
  for (const { process } of hubs) process.end();
  report('hostile-federation', figures);
});
