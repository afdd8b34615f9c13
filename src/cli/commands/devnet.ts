import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { holdDirectory, makeTemporaryDirectory } from '../../devnet/directory.ts';
import { planEdges } from '../../devnet/edges.ts';
import { planHubs } from '../../devnet/hubs.ts';
import { runLive } from '../../devnet/live.ts';
import { MIN_BLOCKS, runOnce } from '../../devnet/once.ts';
import { type Platform, startPlatform } from '../../devnet/platform.ts';
import { choosePorts, type DevnetSettings, newApiKey } from '../../devnet/settings.ts';
import type { Command, Environment, OptionTable } from '../command.ts';
import { readNumber, readOptions } from '../options.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const INTERRUPTED = 130;
/** Time after a fault in which the death of a part is noticed. */
const DEATH_NOTICE_MS = 1_500;
const DIRECTORY = '.devnet';
const MOST_HUBS = 16;

const portOf = (service: string) =>
  ({ type: 'string', value: '<n>', help: [`port of the ${service}; default: a free one`] }) as const;
const OPTIONS = {
  once: {
    type: 'boolean',
    default: false,
    help: ['mine, force reorgs, kill actors, compare the replicas, print a JSON summary; exit 0 if equal']
  },
  blocks: {
    type: 'string',
    value: '<n>',
    default: '300',
    help: [`with --once: height to mine to; default 300, at least ${MIN_BLOCKS}`]
  },
  seed: { type: 'string', value: '<text>', default: 'devnet', help: ['seed of payments and reorgs; default: devnet'] },
  dir: {
    type: 'string',
    value: '<path>',
    default: DIRECTORY,
    help: [`where databases, chain and logs are kept; default ${DIRECTORY}; --once uses a temporary one`]
  },
  fresh: { type: 'boolean', default: false, help: ['begin with an empty directory'] },
  interval: { type: 'string', value: '<ms>', default: '3000', help: ['mean time between blocks; default 3000'] },
  hubs: {
    type: 'string',
    value: '<n>',
    default: '1',
    help: ['hubs of one set in validator mode; with --once their leader is killed in the middle of writes; default 1']
  },
  edges: {
    type: 'string',
    value: '<n>',
    default: '0',
    help: ['edges between sync server and client, fed by a NATS of their own; default: none']
  },
  quiet: {
    type: 'boolean',
    default: false,
    help: ['no payments and reorgs by the devnet: blocks hold only what callers send']
  },
  profile: {
    type: 'string',
    value: '<file>',
    help: ['PLATFORM_PROFILE of every service; default: the default profile']
  },
  json: {
    type: 'boolean',
    default: false,
    help: [
      'the first line on standard output has all addresses and keys as JSON; everything else goes to standard error'
    ]
  },
  'hub-port': portOf('hub'),
  'miner-port': portOf('miner'),
  'decoder-port': portOf('decoder'),
  'indexer-port': portOf('indexer'),
  'tracker-port': portOf('tracker'),
  'encoder-port': portOf('encoder'),
  'explorer-port': portOf('explorer'),
  'server-port': portOf('sync server'),
  'client-port': portOf('sync client')
} as const satisfies OptionTable;

/**
 * Command `platform-node devnet`: runs a whole regtest platform on this machine until Ctrl-C; with --once, a proof that
 * ends.
 */
export const devnetCommand: Command = {
  name: 'devnet',
  summary: 'runs a whole regtest platform on this machine: MariaDB, litecoind and every service',
  options: OPTIONS,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const options = readDevnetOptions(argv);
    const interrupted = new AbortController();
    const interrupt = () => interrupted.abort();
    for (const signal of SIGNALS) process.on(signal, interrupt);
    const path = options.once ? makeTemporaryDirectory() : resolve(options.directory);
    const held = await holdDirectory(path, options);
    const { ports, hubs } = await choosePlaces(held.path, options).catch((caught: unknown) => {
      held.release();
      throw caught;
    });
    const settings: DevnetSettings = {
      directory: held.path,
      seed: options.seed,
      ports,
      hubs,
      apiKey: newApiKey(),
      profile: options.profile,
      edges: options.edges > 0 ? await planEdges(held.path, options.edges) : undefined,
      shell: env,
      tell: options.once || options.json ? console.error : console.log
    };
    let isNeeded = false; // to find out what went wrong
    try {
      const code = await runPlatform(settings, options, interrupted.signal);
      isNeeded = code !== 0;
      return code;
    } catch (caught) {
      isNeeded = !interrupted.signal.aborted;
      if (isNeeded) throw caught;
      return options.once ? INTERRUPTED : 0;
    } finally {
      if (options.once && isNeeded) settings.tell(`databases and logs are kept in ${path}`);
      if (options.once && !isNeeded) rmSync(path, { recursive: true, force: true });
      held.release();
      for (const signal of SIGNALS) process.off(signal, interrupt);
    }
  }
};

/** Chooses ports, and the hubs of a set where there are several. */
async function choosePlaces(
  directory: string,
  options: DevnetOptions
): Promise<Pick<DevnetSettings, 'ports' | 'hubs'>> {
  const ports = await choosePorts(options.ports);
  if (options.hubs === 1) return { ports, hubs: [] };
  return { ports, hubs: await planHubs(join(directory, 'hubs'), options.hubs, ports.hub) };
}

type DevnetOptions = ReturnType<typeof readDevnetOptions>;

function readDevnetOptions(argv: readonly string[]) {
  const options = readOptions(argv, OPTIONS);
  const ports = (
    ['hub', 'miner', 'decoder', 'indexer', 'tracker', 'encoder', 'explorer', 'server', 'client'] as const
  ).flatMap((service) => {
    const given = options[`${service}-port`];
    return given === undefined ? [] : [[service, readNumber(`--${service}-port`, given, 1, 65_535)]];
  });
  return {
    once: options.once,
    fresh: options.fresh,
    seed: options.seed,
    directory: options.dir,
    hubs: readNumber('--hubs', options.hubs, 1, MOST_HUBS),
    blocks: readNumber('--blocks', options.blocks, MIN_BLOCKS, 100_000),
    pace: {
      blockIntervalMs: readNumber('--interval', options.interval, 10, 3_600_000),
      isBusy: !options.quiet
    },
    profile: options.profile === undefined ? undefined : resolve(options.profile),
    edges: readNumber('--edges', options.edges, 0, 16),
    json: options.json && !options.once,
    ports: Object.fromEntries(ports) as Partial<DevnetSettings['ports']>
  };
}

/** Runs the platform until it ends. Ends early when a part dies. */
async function runPlatform(
  settings: DevnetSettings,
  options: DevnetOptions,
  interrupted: AbortSignal
): Promise<number> {
  const platform = await startPlatform(settings, interrupted);
  if (options.json) console.log(JSON.stringify(platform.addresses));
  const ending = new AbortController();
  const signal = AbortSignal.any([interrupted, ending.signal]);
  const work = options.once
    ? prove(platform, settings, options.blocks, signal)
    : runLive(platform, settings, options.pace, signal);
  try {
    return (await Promise.race([work, platform.death])) ?? 0;
  } catch (caught) {
    // The part's death explains more than this error and may be noticed a moment later.
    if (!interrupted.aborted) await Promise.race([platform.death, sleep(DEATH_NOTICE_MS)]);
    throw caught;
  } finally {
    ending.abort();
    await work.catch(() => undefined); // the race has reported it
    settings.tell('stopping');
    await platform.stop();
  }
}

/** Runs the proof. Its summary is the only line on standard output. */
async function prove(
  platform: Platform,
  settings: DevnetSettings,
  blocks: number,
  signal: AbortSignal
): Promise<number> {
  const summary = await runOnce(platform, settings, blocks, signal);
  for (const { dbType, differences } of summary.databases)
    for (const difference of differences) settings.tell(`${dbType}: ${difference}`);
  console.log(JSON.stringify(summary));
  return summary.equal ? 0 : 1;
}
