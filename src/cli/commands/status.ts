import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../../errors.ts';
import { checkAlive, type ProbeAddress, probeService, type ServiceProbe } from '../../service/life/probe.ts';
import { SERVICE_COMMANDS } from '../../services.ts';
import { probeSync, type SyncProbe } from '../../sync/probe.ts';
import type { Command, Environment, OptionTable } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { REPLICA } from '../installation.ts';
import { readOptions } from '../options.ts';
import { findService, placeVariables, readContainerService, readUrl, serviceNames } from '../service-address.ts';
import { textTable } from '../table.ts';

const WATCH_EVERY_MS = 1_000;
/** Terminal sequence that clears the screen and moves the cursor to its top. */
const CLEAR = '\u001b[2J\u001b[H';

const OPTIONS = {
  service: {
    type: 'string',
    value: '<name>',
    default: 'sync',
    choices: [...SERVICE_COMMANDS, REPLICA, 'container'],
    help: [
      `one of ${SERVICE_COMMANDS.join(', ')}: address and key come from its variables;`,
      `${REPLICA}: the client of an installation by up; container: the service that the first process of this container runs`
    ]
  },
  all: {
    type: 'boolean',
    default: false,
    help: [
      'one line for each service of this machine: readiness, newest block, why it is not well; exit code 1 when one',
      'that answers is not ready, 69 when none answers'
    ]
  },
  url: { type: 'string', value: '<url>', help: ['base URL of the service; default: its address on this machine'] },
  key: {
    type: 'string',
    value: '<key>',
    help: ['its key; default: its variable, which does not show in process lists']
  },
  live: {
    type: 'boolean',
    default: false,
    help: ['check GET /livez only: exit code 0 or 69, for health checks of containers']
  },
  json: { type: 'boolean', default: false, help: ['print JSON'] },
  watch: { type: 'boolean', default: false, help: ['repeat every second until interrupted'] }
} as const satisfies OptionTable;

/** A service's state, as text and as data. */
interface Status {
  readonly answer: unknown;
  readonly text: string;
  readonly isWell: boolean;
}

/**
 * Command `platform-node status`: prints the state of a running service, or of all. Exit codes: 0 when well; 1 when
 * degraded, halted, waiting or down; 69 when unreachable; 77 when it refuses the key.
 */
export const statusCommand = async (): Promise<Command> => ({
  name: 'status',
  summary: 'prints the state of a running service; without --service that of the sync service',
  variables: await placeVariables(),
  options: OPTIONS,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const options = readOptions(argv, OPTIONS);
    if (options.all) return await showAll(env, options.json);
    const service =
      options.service === 'container' ? readContainerService(readFileSync('/proc/1/cmdline', 'utf8')) : options.service;
    const found = await findService(service, env);
    const address = { url: readUrl(options.url ?? found.url), apiKey: options.key ?? found.apiKey };
    if (options.live) {
      await checkAlive(address);
      return 0;
    }
    const look = service === 'sync' || service === REPLICA ? lookAtSync : lookAtService;
    while (options.watch) {
      const shown = await look(address).then(
        ({ text }) => text,
        (fault: Error) => fault.message
      );
      console.log(`${CLEAR}${address.url}, ${new Date().toLocaleTimeString()}\n\n${shown}`);
      await sleep(WATCH_EVERY_MS);
    }
    const { answer, text, isWell } = await look(address);
    console.log(options.json ? JSON.stringify(answer) : text);
    return isWell ? 0 : 1;
  }
});

/** Prints one line for each service whose address the variables name. @returns the exit code */
async function showAll(env: Environment, json: boolean): Promise<number> {
  const found = await Promise.all(serviceNames(env).map(async (name) => await lookAtOne(name, env)));
  const lines = found.map(({ name, readiness, height, reason }) => [
    name,
    readiness,
    String(height ?? '-'),
    reason ?? '-'
  ]);
  console.log(json ? JSON.stringify(found) : textTable([['service', 'readiness', 'block', 'why'], ...lines]));
  const answering = found.filter(({ isReached }) => isReached);
  if (answering.length === 0) return EXIT.unavailable;
  return answering.every(({ readiness }) => readiness === 'ready') ? 0 : 1;
}

interface Line {
  readonly name: string;
  readonly url: string | null;
  readonly isReached: boolean;
  /** Its word of /readyz; `not reached` without one. */
  readonly readiness: string;
  /** Newest block of its own parts; null for a service without blocks. */
  readonly height: number | null;
  readonly reason: string | null;
}

async function lookAtOne(name: string, env: Environment): Promise<Line> {
  let url: string | null = null;
  try {
    const address = await findService(name, env);
    ({ url } = address);
    const { readiness, parts } = await probeService(address);
    const heights = parts.flatMap(({ height }) => height ?? []);
    const reason = parts.find((part) => part.reason !== null)?.reason ?? null;
    return { name, url, isReached: true, readiness, height: heights.length > 0 ? Math.max(...heights) : null, reason };
  } catch (caught) {
    const { code, detail, message } = PlatformError.from(caught);
    const isReached = code === 'UNAUTHORIZED' || code === 'SOURCE_REFUSED';
    const readiness = isReached ? 'no answer' : 'not reached';
    return { name, url, isReached, readiness, height: null, reason: String(detail['reason'] ?? message) };
  }
}

async function lookAtSync(address: ProbeAddress): Promise<Status> {
  const probe = await probeSync(address);
  const work = probe.databases.every(
    ({ circuit, halt, waiting }) => circuit !== null && halt === null && waiting === null
  );
  return { answer: probe, text: syncText(probe), isWell: probe.status === 'healthy' && work };
}

/** Returns one line per database, then a remedy for each halt. */
function syncText({ mode, databases }: SyncProbe): string {
  const lines = databases.map(({ name, state, height, lagBlocks, circuit, halt, waiting }) => [
    name,
    mode,
    state || '-',
    String(height ?? '-'),
    String(lagBlocks ?? '-'),
    circuit ?? 'down',
    halt ?? 'no',
    waiting ?? '-'
  ]);
  const remedies = databases.flatMap(({ name, remedy }) => (remedy === null ? [] : [`${name}: ${remedy}`]));
  const head = ['database', 'mode', 'state', 'height', 'lag', 'circuit', 'halted', 'waiting'];
  return [textTable([head, ...lines]), ...remedies].join('\n');
}

async function lookAtService(address: ProbeAddress): Promise<Status> {
  const probe = await probeService(address);
  return { answer: probe, text: serviceText(probe), isWell: probe.readiness === 'ready' };
}

/** Returns the readiness, and one line for each part that the service knows. */
function serviceText({ service, version, readiness, parts }: ServiceProbe): string {
  const lines = parts.map(({ role, name, state, doing, height, reason }) => [
    role,
    name,
    state,
    doing || '-',
    String(height ?? '-'),
    reason ?? '-'
  ]);
  const table = textTable([['part', 'name', 'state', 'doing', 'height', 'why'], ...lines]);
  return `${service} ${version} is ${readiness}\n${table}`;
}
