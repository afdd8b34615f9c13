import { reachableUrl } from '../config/service-url.ts';
import { type Environment, readBaseUrl, type Variables } from '../config/variables.ts';
import { loadSettings } from '../discovery/settings.ts';
import { PlatformError } from '../errors.ts';
import type { Service } from '../service/define.ts';
import { commandNamed, loadService, loadServices, SERVICE_COMMANDS } from '../services.ts';
import { addressIn, findInstallation, INSTALLATION_VARIABLES, REPLICA } from './installation.ts';

/** Returns the variables of all services that tell addresses and keys. */
export async function placeVariables(): Promise<Variables> {
  return Object.assign({}, ...(await loadServices()).map(ownVariables), INSTALLATION_VARIABLES);
}

/** Returns the words of the services to look for: all, or those of an installation by `up` that the variables name. */
export function serviceNames(env: Environment): readonly string[] {
  return findInstallation(env)?.services ?? SERVICE_COMMANDS;
}

/** Address and key of a service on this machine. */
interface ServiceAddress {
  readonly url: string;
  readonly apiKey: string | undefined;
}

/**
 * Returns the address of a service on this machine by its settings. Reads no other variables, so faults elsewhere do
 * not matter.
 *
 * @throws {PlatformError} COMMAND_INVALID, CONFIG_INVALID
 */
export async function findService(word: string, env: Environment): Promise<ServiceAddress> {
  const name = commandNamed(word);
  const installation = findInstallation(env);
  const service = await loadService(name === REPLICA && installation ? 'sync' : name);
  if (!service) {
    const known = [...SERVICE_COMMANDS, ...(installation ? [REPLICA] : [])].join(', ');
    throw new PlatformError('COMMAND_INVALID', { reason: `--service ${name} must be one of ${known}, container` });
  }
  if (installation?.services.includes(name)) return addressIn(installation, name, service.place);
  const { networkOf, networkFromHub } = service.checks;
  const declared = {
    name: 'status',
    variables: ownVariables(service),
    checks: { ...(networkOf && { networkOf }), ...(networkFromHub && { networkFromHub }) }
  };
  const quiet = { waits: false, log: { info: () => undefined, warn: () => undefined } };
  const values = (await loadSettings(declared, env, quiet)).values as Readonly<Record<string, unknown>>;
  const { host, port, key } = service.place;
  return {
    url: reachableUrl(String(values[host] ?? '127.0.0.1'), Number(values[port])),
    apiKey: firstKey(values[operatorKeyOf(key)]) ?? firstKey(values[key])
  };
}

/** Returns the first of the keys that a variable holds. */
function firstKey(value: unknown): string | undefined {
  const key = value as string | readonly string[] | undefined;
  return typeof key === 'string' ? key : key?.[0];
}

/** Returns the name of the variable that holds the key of operators, where a service has one beside that of readers. */
const operatorKeyOf = (key: string) => key.replace(/API_KEY$/, 'OPERATOR_KEY');

/** Returns the base URL of `--url`. @throws {PlatformError} COMMAND_INVALID */
export function readUrl(url: string): string {
  try {
    return readBaseUrl(url);
  } catch (caught) {
    throw PlatformError.from(caught, 'COMMAND_INVALID', { option: '--url' });
  }
}

/**
 * Returns the service that the first process of this container runs.
 *
 * @param commandLine of process 1, in the form of /proc
 * @throws {PlatformError} COMMAND_INVALID
 */
export function readContainerService(commandLine: string): string {
  const service = commandLine.split('\0').find((word) => SERVICE_COMMANDS.includes(word));
  if (service !== undefined) return service;
  const reason = `--service container: the first process runs none of ${SERVICE_COMMANDS.join(', ')}`;
  throw new PlatformError('COMMAND_INVALID', { reason });
}

function ownVariables({ place: { host, port, key }, variables }: Service): Variables {
  const names = [host, port, key, operatorKeyOf(key)].filter((name) => variables[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, variables[name]!]));
}
