import { randomUUID } from 'node:crypto';
import { readConfigFile } from '../config/config-file.ts';
import { loadConfig } from '../config/load.ts';
import { telemetryVariables } from '../config/telemetry.ts';
import { PlatformError } from '../errors.ts';
import { VERSION } from '../process/program.ts';
import { chooseTelemetry } from '../telemetry/choice.ts';
import { makePing } from '../telemetry/ping.ts';
import { preferenceDirectory, readPreference, writePreference } from '../telemetry/preference.ts';
import { eventOf, reportStart } from '../telemetry/report.ts';
import type { Command, Environment } from './command.ts';
import { SERVICES } from './services/service-names.ts';

const NO_TELEMETRY = '--no-telemetry';

/** `platform-node telemetry show|on|off`: what is sent, and the switch. */
export const telemetryCommand = {
  name: 'telemetry',
  summary: 'shows what usage pings hold, and turns them on or off',
  variables: telemetryVariables,
  options: [
    'show  whether pings are sent and where to, and the next one in full; the default',
    'on    sends them again',
    'off   ends them for good, as --no-telemetry of a service does'
  ],

  async run([word = 'show', ...more]: readonly string[], env: Environment): Promise<number> {
    if (!['show', 'on', 'off'].includes(word) || more.length > 0)
      throw new PlatformError('COMMAND_INVALID', { reason: `telemetry ${[word, ...more].join(' ')}: show, on or off` });
    const directory = preferenceDirectory();
    const known = await readPreference(directory);
    if (word !== 'show') await writePreference(directory, { ...known, optOut: word === 'off' });
    const config = configOf(env);
    const { url, reason } = chooseTelemetry({ flag: false, isTest: false }, config, {
      ...known,
      ...(word === 'show' ? {} : { optOut: word === 'off' })
    });
    console.log(url === null ? `usage pings are not sent: ${reason}` : `usage pings are sent to ${url}`);
    if (word !== 'show') return 0;
    const installId = known.installId ?? randomUUID();
    const subject = { installId, event: eventOf(known, VERSION), version: VERSION, services: SERVICES };
    console.log(JSON.stringify(await makePing({ ...subject, running: null, network: networkOf(env) }), null, 2));
    return 0;
  }
} satisfies Command<typeof telemetryVariables>;

/** Reports the start of a service, or remembers `--no-telemetry`. A failure is ignored. */
export async function reportService(name: string, argv: readonly string[], env: Environment): Promise<void> {
  try {
    await reportStart({
      ...{ flag: argv.includes(NO_TELEMETRY), isTest: env['NODE_TEST_CONTEXT'] !== undefined, config: configOf(env) },
      ...{ directory: preferenceDirectory(), version: VERSION, services: SERVICES },
      ...{ running: name, network: networkOf(env), print: (line: string) => console.error(line) }
    });
  } catch {} // nobody has to know
}

const configOf = (env: Environment) => loadConfig(telemetryVariables, { env, file: readConfigFile() }).values;

const networkOf = (env: Environment): string | undefined =>
  env['NETWORK'] ?? (env['INDEXER_COIN'] && `${env['INDEXER_COIN']}:${env['INDEXER_NETWORK'] ?? 'mainnet'}`);
