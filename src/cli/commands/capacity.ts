import { type Capacity, type Demand, planCapacity } from '../../capacity/plan.ts';
import { playStorm, type StormCourse } from '../../capacity/storm.ts';
import { createRandom } from '../../devnet/random.ts';
import type { Command, OptionTable } from '../command.ts';
import { readNumber, readOptions } from '../options.ts';
import { textTable } from '../table.ts';

const MAX = 1e12;
/** Shown resources, most used first. */
const SHOWN_USES = 4;

const numberOf = (help: string) => ({ type: 'string', value: '<n>', help: [help] }) as const;
const OPTIONS = {
  subscribers: numberOf('subscribers of the live stream; default 10000'),
  'block-bytes': numberOf("bytes of a block's message; default 20000"),
  'block-seconds': numberOf('seconds between blocks; default 60'),
  edges: numberOf('edges, each a process on its own core; default: as few as will do'),
  mbit: numberOf('network of each edge, and of NATS, in Mbit/s; default 1000'),
  'snapshot-bytes': numberOf('bytes of a full snapshot; default 40000000'),
  'snapshots-per-day': numberOf('subscribers that begin with a snapshot each day; default: one of 100'),
  'reconnect-seconds': numberOf('time within which everybody reconnects after a loss of all connections; default 30'),
  lose: numberOf('edges that are lost at once; default: a quarter'),
  'balancer-seconds': numberOf('time until no more clients are sent to these; default 10')
} as const satisfies OptionTable;

/** Command `platform-node capacity`: computes what a number of subscribers needs, and plays the loss of edges. */
export const capacityCommand: Command = {
  name: 'capacity',
  summary: 'computes the edges, cores, memory and traffic for a number of subscribers, and plays the loss of edges',
  options: OPTIONS,

  async run(argv: readonly string[]): Promise<number> {
    const { demand, lose, balancerSeconds } = readDemand(argv);
    const plan = planCapacity(demand);
    console.log(textTable(describePlan(demand, plan)));
    const lost = lose ?? Math.floor(plan.edges / 4);
    if (lost === 0 || lost >= plan.edges) return 0;
    const play = (jitter: boolean, resumes: boolean) => {
      const balancerMs = 1_000 * balancerSeconds;
      return playStorm({ ...demand, edges: plan.edges, lost, balancerMs, jitter, resumes }, createRandom('storm').next);
    };
    const cases: readonly (readonly [string, StormCourse])[] = [
      ['as it is', play(true, true)],
      ['without jitter', play(false, true)],
      ['without after=', play(true, false)]
    ];
    console.log(
      `\n${lost} of ${plan.edges} edges are lost, and with them ${cases[0]![1].lostSubscribers} connections:\n`
    );
    console.log(textTable([STORM_HEAD, ...cases.map(([name, course]) => describeStorm(name, course))]));
    return 0;
  }
};

function readDemand(argv: readonly string[]) {
  const given = readOptions(argv, OPTIONS);
  const read = <D>(name: keyof typeof given, fallback: D, min = 1): number | D => {
    const text = given[name];
    return text === undefined ? fallback : readNumber(`--${name}`, text, min, MAX);
  };
  const subscribers = read('subscribers', 10_000);
  const demand: Demand = {
    subscribers,
    blockBytes: read('block-bytes', 20_000),
    blockSeconds: read('block-seconds', 60),
    edges: read('edges', undefined),
    mbit: read('mbit', 1_000),
    snapshotBytes: read('snapshot-bytes', 40_000_000),
    snapshotsPerDay: read('snapshots-per-day', Math.ceil(subscribers / 100), 0),
    reconnectSeconds: read('reconnect-seconds', 30)
  };
  return { demand, lose: read('lose', undefined, 0), balancerSeconds: read('balancer-seconds', 10, 0) };
}

function describePlan({ reconnectSeconds }: Demand, plan: Capacity): string[][] {
  const { edges, subscribersPerEdge, uses } = plan;
  const [first, ...others] = uses.slice(0, SHOWN_USES).map(({ what, used }) => `${what}: ${percent(used)}`);
  return [
    ['edges', `${edges}, each with ${subscribersPerEdge} subscribers on a core of its own`],
    ['cores in use', round(plan.cores)],
    ['memory of an edge', bytes(plan.memoryBytesPerEdge)],
    ['a block reaches all', `${round(1_000 * plan.blockSeconds)} ms after the first subscriber of its edge`],
    ['edges send', `${bytes(plan.egressBytes)}/s`],
    ['NATS sends', `${bytes(plan.natsBytes)}/s`],
    ['snapshots', `${bytes(plan.snapshotBytes)}/s`],
    [
      `all reconnect in ${reconnectSeconds} s`,
      `${round(plan.reconnectCpuSeconds)} s of each core, ${bytes(plan.reconnectBytes)}/s from each edge`
    ],
    ['first bottleneck', first ?? ''],
    ['then', others.join('; ')]
  ];
}

const STORM_HEAD = ['', 'half live', '99 %', 'all', 'attempts', 'most in 1 s', 'refused', 'given up'];

function describeStorm(name: string, course: StormCourse): string[] {
  const seconds = (ms: number | null) => (ms === null ? 'never' : `${round(ms / 1_000)} s`);
  const { halfMs, mostMs, allMs, attempts, peakPerSecond, refused, givenUp } = course;
  return [name, ...[halfMs, mostMs, allMs].map(seconds), ...[attempts, peakPerSecond, refused, givenUp].map(String)];
}

const round = (value: number) => new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(value);
const percent = (share: number) => `${round(100 * share)} %`;
function bytes(value: number): string {
  const [unit, size] = value >= 1e9 ? ['GB', 1e9] : value >= 1e6 ? ['MB', 1e6] : ['KB', 1e3];
  return `${round(value / (size as number))} ${unit}`;
}
