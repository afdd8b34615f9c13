import { randomUUID } from 'node:crypto';
import { findText, loadConfig, readLocal } from '../../config/load.ts';
import { telemetryVariables } from '../../config/telemetry.ts';
import { PlatformError } from '../../errors.ts';
import { VERSION } from '../../process/program.ts';
import { SERVICE_COMMANDS } from '../../services.ts';
import { chooseTelemetry } from '../../telemetry/choice.ts';
import { makePing } from '../../telemetry/ping.ts';
import {
  changePreference,
  preferenceDirectory,
  readPreference,
  rememberChoice,
  type Start
} from '../../telemetry/preference.ts';
import { eventOf, reportStart, runningWith } from '../../telemetry/report.ts';
import type { Command, Environment, OptionTable } from '../command.ts';
import { readArguments } from '../options.ts';

const OPTIONS = {
  json: {
    type: 'boolean',
    default: false,
    help: ['print JSON: whether pings are sent, where or why not, and the next one']
  }
} as const satisfies OptionTable;

/**
 * Command `platform-node telemetry show [service]
 * on
 * off`: shows pings and turns them on or off.
 */
export const telemetryCommand = {
  name: 'telemetry',
  summary: 'shows what usage pings hold, and turns them on or off',
  variables: telemetryVariables,
  options: OPTIONS,
  words: [
    {
      word: 'show',
      choices: ['show', 'on', 'off'],
      help: ['show whether pings are sent, their URL, and the next one in full; the default']
    },
    {
      word: 'show <service>',
      choices: SERVICE_COMMANDS,
      help: ['the same for a start of that service with these settings']
    },
    { word: 'on', help: ['send pings again'] },
    { word: 'off', help: ['send no more pings, as --no-telemetry of a service does'] }
  ],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const { values, words } = readArguments(argv, OPTIONS);
    const [word = 'show', service, ...more] = words;
    const isAsked =
      word === 'show' ? service === undefined || SERVICE_COMMANDS.includes(service) : service === undefined;
    if (!['show', 'on', 'off'].includes(word) || !isAsked || more.length > 0)
      throw new PlatformError('COMMAND_INVALID', {
        reason: `telemetry ${[word, service, ...more].join(' ').trim()}: show, show <service>, on or off`
      });
    const directory = preferenceDirectory();
    const answer = word === 'show' ? await show(directory, service, env) : await choose(directory, word === 'off', env);
    console.log(values.json ? JSON.stringify(answer) : textOf(answer));
    return 0;
  }
} satisfies Command<typeof telemetryVariables>;

/** Whether pings are sent, as the command tells it. */
interface Told {
  /** Null: they are not sent. */
  readonly url: string | null;
  /** Reason why they are sent, or are not. */
  readonly reason: string;
  /** The next ping; null where only the choice is shown. */
  readonly ping: unknown;
}

function textOf({ url, reason, ping }: Told): string {
  const whether = url === null ? `usage pings are not sent: ${reason}` : `usage pings are sent to ${url}`;
  return ping === null ? whether : `${whether}\n${JSON.stringify(ping, null, 2)}`;
}

/** Makes the next ping. The id in it is kept, so that the next ping has it. */
async function show(directory: string, service: string | undefined, env: Environment): Promise<Told> {
  const known = await readPreference(directory).catch(() => null);
  if (known === null) {
    const reason = `${directory} holds no readable preference; platform-node telemetry on or off replaces it`;
    return { url: null, reason, ping: null };
  }
  const chosen = choiceOf(env, known);
  const newId = randomUUID();
  const installId = chosen.url
    ? await changePreference(directory, (latest) => {
        const id = latest.installId ?? newId;
        return [latest.installId === undefined ? { ...latest, installId: id } : latest, id];
      })
    : (known.installId ?? newId);
  const running = runningWith(known, service === undefined ? undefined : startOf(service, env));
  const ping = { installId, event: eventOf(known, VERSION), version: VERSION, services: SERVICE_COMMANDS, running };
  return { ...chosen, ping: await makePing(ping) };
}

async function choose(directory: string, optOut: boolean, env: Environment): Promise<Told> {
  try {
    await rememberChoice(directory, optOut);
  } catch (cause) {
    const reason = `the choice cannot be kept in ${directory}: ${(cause as Error).message}`;
    throw new PlatformError('STATE_UNUSABLE', { reason }, { cause });
  }
  return choiceOf(env, { optOut });
}

function choiceOf(env: Environment, known: Parameters<typeof chooseTelemetry>[2]): Told {
  const { url, reason } = chooseTelemetry({ isTest: false }, configOf(env), known);
  return { url, reason, ping: null };
}

/** Remembers `--no-telemetry` of a start. Prints one line when that fails. */
export async function rememberNoTelemetry(): Promise<void> {
  try {
    await rememberChoice(preferenceDirectory(), true);
  } catch (caught) {
    console.error(`--no-telemetry counts for this start, but cannot be remembered: ${(caught as Error).message}`);
  }
}

/** Reports the start of a service, by its process. @param pid of its guardian. Ignores failures. */
export async function reportService(name: string, env: Environment, pid: number): Promise<void> {
  try {
    await reportStart({
      start: startOf(name, env, pid),
      isTest: env['NODE_TEST_CONTEXT'] !== undefined,
      config: configOf(env),
      directory: preferenceDirectory(),
      version: VERSION,
      services: SERVICE_COMMANDS,
      print: (line: string) => console.error(line)
    });
  } catch {} // pings are optional: their failure must not reach anybody
}

const configOf = (env: Environment) => loadConfig(telemetryVariables, readLocal(telemetryVariables, env)).values;

/** Returns the facts about a start of a service. @param pid of its guardian */
function startOf(service: string, env: Environment, pid = process.pid): Start {
  const local = readLocal(telemetryVariables, env);
  const textOf = (name: string) => findText(name, local).text;
  const coin = textOf('INDEXER_COIN');
  const network = textOf('NETWORK') ?? (coin && `${coin}:${textOf('INDEXER_NETWORK') ?? 'mainnet'}`);
  return { service, pid, ...(network ? { network } : {}) };
}
