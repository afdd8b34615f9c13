import { findText, readLocal } from '../../config/load.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Service } from '../../service/define.ts';
import { loadService, loadServices, SERVICE_COMMANDS } from '../../services.ts';
import type { Command, Environment, OptionTable } from '../command.ts';
import { findUnknownNames } from '../config-names.ts';
import { readArguments } from '../options.ts';
import { textTable } from '../table.ts';
import { examineService } from './doctor/examine.ts';
import { type Finding, fault } from './doctor/finding.ts';

interface ServiceFinding extends Finding {
  readonly service: string;
}

const OPTIONS = {
  config: { type: 'string', value: '<file>', help: ['read variables from this file instead of config.json'] },
  json: {
    type: 'boolean',
    default: false,
    help: ['print JSON: a list of {service, check, state, reason, remedy}']
  }
} as const satisfies OptionTable;

/** Command `platform-node doctor [service...]`: checks what services need by their variables. Changes nothing. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'checks what services need by their variables: MariaDB, rights, coin node, hub, ports, disks, clocks',
  words: [
    {
      word: '<service>...',
      choices: SERVICE_COMMANDS,
      help: ['the services to check; default: those whose variables are set here']
    }
  ],
  options: OPTIONS,
  notes: ['Exit code 0: no fault; 1: a fault; what cannot be checked is "unknown"'],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const { values, words: names } = readArguments(argv, OPTIONS);
    const services = names.length > 0 ? await Promise.all(names.map(findNamed)) : await findConfigured(env);
    const found: ServiceFinding[] = [...(await examineNames(env))];
    for (const service of services) {
      const { command } = service;
      found.push(...(await examineService(service, env)).map((finding) => ({ service: command, ...finding })));
    }
    console.log(values.json ? JSON.stringify(found) : findingsText(found));
    return found.some(({ state }) => state === 'fault') ? 1 : 0;
  }
};

async function findNamed(name: string): Promise<Service> {
  const service = await loadService(name);
  if (service) return service;
  throw new PlatformError('COMMAND_INVALID', {
    reason: `doctor ${name}: name services of ${SERVICE_COMMANDS.join(', ')}`
  });
}

/** Returns the services whose address is set, or all that they cannot do without: other variables are shared. */
async function findConfigured(env: Environment): Promise<readonly Service[]> {
  const services = (await loadServices()).filter(({ variables, checks, place }) => {
    const local = readLocal(variables, env);
    const isSet = (name: string) => findText(name, local).text !== undefined;
    const required = Object.entries(variables).flatMap(([name, row]) => (row.required ? [name] : []));
    const isOwn = (name: string) => (checks.prefixes ?? []).some((prefix) => name.startsWith(prefix));
    return isSet(place.host) || (required.some(isOwn) && required.every(isSet));
  });
  if (services.length > 0) return services;
  throw new PlatformError('COMMAND_INVALID', { reason: 'no service is set up here: name one, such as doctor decoder' });
}

/** Returns a fault for each misspelt name in the configuration file. */
async function examineNames(env: Environment): Promise<readonly ServiceFinding[]> {
  try {
    await findUnknownNames(readLocal({}, env).file);
    return [];
  } catch (caught) {
    if (!hasCode(caught, 'CONFIG_INVALID')) throw caught;
    const reasons = String(caught.detail['reason']).split('\n');
    return reasons.map((reason) => ({ service: '-', ...fault('configuration file', reason, caught.hint) }));
  }
}

/** Returns one line for each finding, and one for its remedy. */
function findingsText(found: readonly ServiceFinding[]): string {
  const lines = textTable(
    found.map(({ state, service, check, reason }) => [state, service, check, reason.replaceAll('\n', ' ')])
  ).split('\n');
  const texts = found.flatMap(({ remedy }, at) => [lines[at]!, ...(remedy === null ? [] : [`         -> ${remedy}`])]);
  const faults = found.filter(({ state }) => state === 'fault').length;
  return [...texts, faults === 0 ? 'no fault' : `${faults} ${faults === 1 ? 'fault' : 'faults'}`].join('\n');
}
