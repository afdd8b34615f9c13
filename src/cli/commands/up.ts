import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findText, loadConfig, namesOf, readLocal, type Sources } from '../../config/load.ts';
import { type UpConfig, upVariables } from '../../config/up.ts';
import { connect, rows } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import { makeAccounts } from '../../installation/accounts.ts';
import { registerModules } from '../../installation/modules.ts';
import { openPlan, partsOf } from '../../installation/open-plan.ts';
import { COMMANDS, type Part, type Plan, urlOf } from '../../installation/plan.ts';
import { INHERITED, variablesOf } from '../../installation/variables.ts';
import { lockDirectory } from '../../process/directory-lock.ts';
import { type GuardedService, guardAll } from '../../process/guardian.ts';
import { guardianLog } from '../../process/guardian-log.ts';
import { openPrivateDirectory } from '../../process/private-directory.ts';
import { checkAlive } from '../../service/life/probe.ts';
import { loadService, makesAnswers } from '../../services.ts';
import type { Command, Environment, OptionTable } from '../command.ts';
import { findUnknownNames } from '../config-names.ts';
import { readOptions } from '../options.ts';
import { findPortFault } from './doctor/place.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const LOOK_EVERY_MS = 250;

const OPTIONS = {
  json: {
    type: 'boolean',
    default: false,
    help: ['print a line of JSON for the start, each service, and the end of the start']
  }
} as const satisfies OptionTable;

/**
 * Command `platform-node up`: makes accounts, passwords and keys, and runs the services of one network under one guardian
 * until a signal. Data is kept; the next start continues.
 */
export const upCommand: Command<typeof upVariables> = {
  name: 'up',
  summary: 'runs the services of one network on this machine; makes their accounts, databases and keys',
  variables: upVariables,
  options: OPTIONS,
  notes: ['Any other variable of a service, such as EXPLORER_TLS_CERT, is passed on to it.'],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const { json } = readOptions(argv, OPTIONS);
    const local = readLocal(upVariables, env);
    const { values: config, warnings } = loadConfig(upVariables, { ...local, prefixes: ['UP_'] });
    for (const warning of [...warnings, ...(await findUnknownNames(local.file))])
      console.error(`platform-node up: ${warning}`);
    const directory = resolve(config.UP_STATE_DIR);
    await openPrivateDirectory(directory, 'UP_STATE_DIR');
    const lock = lockDirectory(directory, 'UP_STATE_DIR', 'platform-node up');
    try {
      const parts = partsOf(config);
      const plan = await openPlan(config, directory);
      await refusePortsInUse(plan, parts);
      await prepareDatabase(plan, parts, config);
      const services = await Promise.all(parts.map((part) => serviceOf(part, plan, local, directory)));
      const ending = new AbortController();
      const tell = (event: Said) => console.log(json ? JSON.stringify(event) : textOf(event));
      const telling = tellStart({ plan, parts, directory, signal: ending.signal, tell });
      const codes = await guardAll(services, guardianLog('up'));
      ending.abort();
      await telling.catch(() => undefined);
      return codes.find((code) => code !== 0) ?? 0;
    } finally {
      lock.release();
    }
  }
};

/** @throws {PlatformError} PORT_IN_USE with each of them: another program there would be taken for a service */
async function refusePortsInUse({ host, ports }: Plan, parts: readonly Part[]): Promise<void> {
  const found = await Promise.all(parts.map(async (part) => [part, await findPortFault(host, ports[part])] as const));
  const taken = found.flatMap(([part, code]) => (code === null ? [] : [`${part}: ${host}:${ports[part]} (${code})`]));
  if (taken.length > 0)
    throw new PlatformError('PORT_IN_USE', { reason: `no service can listen on ${taken.join(', ')}` });
}

/** Makes the accounts, and lets a replica load in bulk where the administrator may. */
async function prepareDatabase(plan: Plan, parts: readonly Part[], { UP_MARIADB_URL: admin }: UpConfig): Promise<void> {
  const connection = await connect(admin);
  try {
    const [found] = await rows<{ host: string }>(connection, "SELECT SUBSTRING_INDEX(USER(), '@', -1) AS host");
    const seen = String(found?.host);
    await makeAccounts(connection, plan, parts, LOOPBACK.includes(seen) ? '127.0.0.1' : seen);
    if (parts.includes('client')) await connection.query('SET GLOBAL local_infile = 1').catch(() => undefined);
  } finally {
    await connection.end();
  }
}

/** Returns a part's process: the variables of its place, and those that the caller set for its service. */
async function serviceOf(part: Part, plan: Plan, local: Sources, directory: string): Promise<GuardedService> {
  const command = COMMANDS[part];
  const { variables, place } = (await loadService(command))!;
  const computed: Record<string, string | number> = { ...variablesOf(plan, part) };
  if (part !== 'miner') computed[place.key] ??= plan.apiKey; // the miner's key would close its page
  if (part === 'explorer') computed['EXPLORER_STATE_DIR'] = plan.stateDirectory(part);
  const given = namesOf(variables).flatMap((name) => {
    const { text } = findText(name, local);
    const chosen = name.replace(/_FILE$/, '');
    if (text === undefined) return [];
    if (name === 'PLATFORM_PROFILE') return [[name, resolve(text)] as const];
    if (name in upVariables) return [];
    if (computed[chosen] === undefined) return [[name, text] as const];
    console.error(`platform-node up: ${name} is not used: up itself chooses ${chosen} of the ${part}`);
    return [];
  });
  const inherited = INHERITED.map((name) => [name, local.env[name]] as const);
  const own = Object.entries(computed).map(([name, value]) => [name, String(value)] as const);
  const home = join(directory, part);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  mkdirSync(join(directory, 'logs'), { recursive: true, mode: 0o700 });
  return {
    name: part,
    argv: [command],
    makesAnswers: makesAnswers(command),
    directory: home,
    logFile: join(directory, 'logs', `${part}.log`),
    env: Object.fromEntries([...inherited, ...given, ...own])
  };
}

/** A step of the start, as it is printed. `logs` and `key` are paths. */
type Said =
  | { readonly event: 'starting'; readonly services: number; readonly logs: string; readonly key: string }
  | { readonly event: 'answers'; readonly service: Part; readonly url: string }
  | { readonly event: 'ready'; readonly seconds: number };

interface Start {
  readonly plan: Plan;
  readonly parts: readonly Part[];
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly tell: (event: Said) => void;
}

/** Registers the modules with the hub, and prints each part's URL when it answers. */
async function tellStart({ plan, parts, directory, signal, tell }: Start): Promise<void> {
  const beganAt = performance.now();
  tell({ event: 'starting', services: parts.length, logs: join(directory, 'logs'), key: join(directory, 'api-key') });
  await Promise.all(
    parts.map(async (part) => {
      await untilDone(() => checkAlive({ url: urlOf(plan, part) }), signal);
      if (part === 'hub') await untilDone(() => registerModules(plan), signal);
      tell({ event: 'answers', service: part, url: urlOf(plan, part) });
    })
  );
  tell({ event: 'ready', seconds: Math.round((performance.now() - beganAt) / 1000) });
}

function textOf(event: Said): string {
  switch (event.event) {
    case 'starting':
      return `${event.services} services start; logs: ${event.logs}; key: ${event.key}`;
    case 'answers':
      return `${event.service.padEnd(8)}  ${event.url}`;
    case 'ready':
      return `all services answer after ${event.seconds} s; platform-node status --all tells how they are`;
  }
}

/** Repeats what fails until it succeeds or the signal comes. */
async function untilDone(attempt: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await attempt();
    } catch {
      await sleep(LOOK_EVERY_MS, undefined, { signal });
    }
  }
}
