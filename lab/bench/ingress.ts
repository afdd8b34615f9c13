import { setTimeout as sleep } from 'node:timers/promises';
import { readNumber } from '../../src/cli/options.ts';
import { PlatformError } from '../../src/errors.ts';
import { memoryVariables } from '../../src/process/guardian.ts';
import { makesAnswers } from '../../src/services.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { createDecoder } from '../../test/support/sync/generated-decoder.ts';
import { startPair } from '../../test/support/sync/sync-pair.ts';
import { eventually } from '../../test/support/sync/sync-process.ts';
import { measureAnswers } from './support/attack/answers.ts';
import { AttackedServer, type Delays, LOOK_MS, lifetimes, type Outcome } from './support/attack/attacked-server.ts';
import { ATTACKS } from './support/attack/attacks.ts';
import { addWeight, BlockWriter, FIRST_BLOCKS } from './support/attack/block-writer.ts';
import { measureNeighbours } from './support/attack/neighbours.ts';
import { measurePaths } from './support/attack/paths.ts';
import { type Held, ProcessMemory } from './support/attack/process-memory.ts';
import { measureServicePaths } from './support/attack/service-paths.ts';
import { type Figure, median, p99, report } from './support/figures.ts';

const NEIGHBOURS = 'neighbours';
const ANSWERS = 'answers';
const PATHS = 'paths';

const options = readArguments(
  'npm run bench -- ingress [--only PART_OF_A_NAME|neighbours|answers|paths] [--count 300] [--rate 300] [--json FILE]',
  {
    json: { type: 'string' },
    /** Part of the names of the attacks to make. */
    only: { type: 'string', default: '' },
    /** Connections that stay. */
    count: { type: 'string', default: '300' },
    /** Connections a second that come again and again. */
    rate: { type: 'string', default: '300' }
  },
  ({ json, only, count, rate }) => {
    const attacks = ATTACKS.filter(({ name }) => name.includes(only));
    const hasNeighbours = only === '' || only === NEIGHBOURS;
    const hasAnswers = only === '' || only === ANSWERS;
    const hasPaths = only === '' || only === PATHS;
    const reason = `no attack ${only}; there are ${ATTACKS.map(({ name }) => name).join(', ')}`;
    if (attacks.length === 0 && !hasNeighbours && !hasAnswers && !hasPaths)
      throw new PlatformError('COMMAND_INVALID', { reason });
    return {
      json,
      attacks,
      hasNeighbours,
      hasAnswers,
      hasPaths,
      count: readNumber('--count', count, 1, 10_000),
      rate: readNumber('--rate', rate, 1, 10_000)
    };
  }
);

const KIBIBYTE = 1024;
const MOST_BYTES = 256 * KIBIBYTE;
/** Growth of a server between two looks that is none. */
const SETTLED_BYTES = 4e6;
const MOST_LOOKS = 15;
const COLUMNS = [
  'attack',
  'made',
  'kept',
  'KiB each, heap',
  'RSS',
  'CPU',
  'status p50',
  'p99',
  'block p50',
  'p99',
  'download'
];

const ms = (value: number) => value.toFixed(value < 10 ? 1 : 0);
const kib = (bytes: number) => Math.round(bytes / KIBIBYTE);

function inShort({ status, blocks, download }: Delays): string[] {
  return [median(status), p99(status), median(blocks), p99(blocks), median(download)].map(ms);
}

function printOutcome({ attack, made, kept, heapEach, rssEach, cpuShare, seen }: Outcome): void {
  const memory = attack.kind === 'stay' ? [kib(heapEach), kib(rssEach)] : ['', ''];
  console.log(
    `| ${[attack.name, made, kept, ...memory, `${Math.round(100 * cpuShare)} %`, ...inShort(seen)].join(' | ')} |`
  );
  for (const fault of new Set(seen.faults)) console.log(`  a good client: ${fault}`);
}

async function measure(): Promise<Figure[]> {
  const source = await createDatabase('ingress');
  await createDecoder(source, { seed: 'ingress', blocks: FIRST_BLOCKS, rows: 10_000 });
  await addWeight(source);
  const pair = await startPair('decoder', source, {
    ...memoryVariables(makesAnswers('sync')),
    NODE_OPTIONS: '--inspect-port=127.0.0.1:0',
    SYNC_API_KEY: '',
    HTTP_MAX_PER_IP: 100_000,
    WS_MAX_PER_IP: 100_000,
    SNAPSHOT_RATE_FULL: 100_000,
    LOG_LEVEL: 'error'
  });
  const { server } = pair;
  await eventually('the source polls', 60_000, async () => (await pair.status(server))['phase'] === 'polling.caughtUp');
  const memory = await ProcessMemory.open(server.child.pid!, server.log);
  const writer = new BlockWriter();
  const writing = writer.run(source).catch((caught: unknown) => console.error('no more blocks are written:', caught));
  const load = new AttackedServer(server, memory, writer);
  await load.begin();
  await settle(load);
  const lookAtCalm = async (): Promise<Delays> => {
    const calm = await load.look(10 * LOOK_MS);
    console.log(`| none | | | | | | ${inShort(calm).join(' | ')} |`);
    return calm;
  };
  console.log(`| ${COLUMNS.join(' | ')} |\n|${COLUMNS.map(() => '---').join('|')}|`);
  const first = await lookAtCalm();
  const before = await load.held();
  const outcomes: Outcome[] = [];
  for (const attack of options.attacks) {
    const count = attack.count ?? (attack.kind === 'stay' ? options.count : options.rate);
    const outcome = await load.attack(attack, count);
    printOutcome(outcome);
    outcomes.push(outcome);
  }
  await sleep(1_000);
  const after = await load.held();
  // A database that was made a moment ago has work of its own.
  const [calm] = [first, await lookAtCalm()].sort((a, b) => median(a.blocks) - median(b.blocks));
  const figures = figuresOf(outcomes, calm!, before, after);
  if (options.attacks.length === ATTACKS.length) {
    console.log('| attack | all are cut after |\n|---|---|');
    figures.push(lifetimeOf(await lifetimes(Number(new URL(server.url).port))));
  }
  writer.end();
  await writing;
  memory.close();
  return figures;
}

/** Waits until the server has stopped growing by itself, as any does that has just begun: else the first attack would be charged with it. */
async function settle(load: AttackedServer): Promise<void> {
  let last = 0;
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    await load.look();
    const { rssBytes } = await load.held();
    if (rssBytes - last < SETTLED_BYTES && looks > 1) return;
    last = rssBytes;
  }
}

function lifetimeOf(lives: ReadonlyMap<string, number>): Figure {
  const longest = Math.max(
    ...ATTACKS.filter(({ ends }) => ends).map(({ name }) => lives.get(name) ?? Number.POSITIVE_INFINITY)
  );
  const what = 'the last of those that are slow, silent or stopped is cut, against two pings';
  return { what, measured: longest, reference: 60, unit: 's', compare: 'times', most: 1.1, aim: 1.05 };
}

function figuresOf(outcomes: readonly Outcome[], calm: Delays, before: Held, after: Held): Figure[] {
  const staying = outcomes.filter(({ attack }) => attack.kind === 'stay' && !attack.inAll);
  const times = { unit: 'ms', compare: 'times' } as const;
  const all = <T>(pick: (seen: Delays) => readonly T[]) => outcomes.flatMap(({ seen }) => pick(seen));
  const [status, blocks, download] = [
    all((seen) => seen.status),
    all((seen) => seen.blocks),
    all((seen) => seen.download)
  ];
  const worst = (pick: (outcome: Outcome) => number) => Math.max(...staying.map(pick)) / KIBIBYTE;
  const pinned = { reference: MOST_BYTES / KIBIBYTE, unit: 'KiB', compare: 'times', most: 1, aim: 0.5 } as const;
  return [
    {
      what: 'memory of one hostile connection, heap and external, the worst',
      measured: worst(({ heapEach }) => heapEach),
      ...pinned
    },
    { what: 'the same, RSS', measured: worst(({ rssEach }) => rssEach), ...pinned },
    {
      what: '/status during attacks, against without: p50',
      measured: median(status),
      reference: median(calm.status),
      ...times,
      most: 2,
      aim: 1.2
    },
    { what: 'the same: p99', measured: p99(status), reference: p99(calm.status), ...times, most: 2, aim: 1.5 },
    {
      what: 'commit to receipt during attacks, against without: p50',
      measured: median(blocks),
      reference: median(calm.blocks),
      ...times,
      most: 1.5,
      aim: 1.1
    },
    { what: 'the same: p99', measured: p99(blocks), reference: p99(calm.blocks), ...times, most: 3, aim: 1.5 },
    {
      what: 'a download during attacks, against without: p50',
      measured: median(download),
      reference: median(calm.download),
      ...times,
      most: 2,
      aim: 1.2
    },
    {
      what: 'answers, blocks or connections that good clients missed',
      measured: all(({ faults }) => faults).length,
      reference: calm.faults.length,
      unit: '',
      compare: 'above',
      most: 0,
      aim: 0
    },
    {
      what: 'RSS afterwards, against before',
      measured: after.rssBytes / 1e6,
      reference: before.rssBytes / 1e6,
      unit: 'MB',
      compare: 'times',
      most: 1.5,
      aim: 1.1
    },
    {
      what: 'file descriptors afterwards, against before',
      measured: after.descriptors,
      reference: before.descriptors,
      unit: '',
      compare: 'above',
      most: 2,
      aim: 0
    }
  ];
}

await runProgram(async () => {
  const measured = options.attacks.length > 0 ? await measure() : [];
  const neighbours = options.hasNeighbours ? await measureNeighbours() : [];
  const answers = options.hasAnswers ? await measureAnswers() : [];
  const paths = options.hasPaths ? [...(await measurePaths()), ...(await measureServicePaths())] : [];
  report('ingress', [...measured, ...neighbours, ...answers, ...paths], options.json);
});
