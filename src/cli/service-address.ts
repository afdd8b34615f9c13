import { reachableUrl } from '../config/service-url.ts';
import type { Environment, Variables } from '../config/variables.ts';
import { loadSettings } from '../discovery/settings.ts';
import { PlatformError } from '../errors.ts';
import type { Service } from '../service/define.ts';
import { loadService, loadServices, SERVICE_COMMANDS } from '../services.ts';

/** Returns the variables of all services that tell addresses and keys. */
export async function placeVariables(): Promise<Variables> {
  return Object.assign({}, ...(await loadServices()).map(ownVariables));
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
export async function findService(name: string, env: Environment): Promise<ServiceAddress> {
  const service = await loadService(name);
  if (!service) {
    const known = SERVICE_COMMANDS.join(', ');
    throw new PlatformError('COMMAND_INVALID', { reason: `--service ${name} must be one of ${known}, container` });
  }
  const { networkOf, networkFromHub } = service.checks;
  const declared = {
    name: 'status',
    variables: ownVariables(service),
    checks: { ...(networkOf && { networkOf }), ...(networkFromHub && { networkFromHub }) }
  };
  const quiet = { waits: false, log: { info: () => undefined, warn: () => undefined } };
  const values = (await loadSettings(declared, env, quiet)).values as Readonly<Record<string, unknown>>;
  const { host, port, key: keyName } = service.place;
  const key = values[keyName] as string | readonly string[] | undefined;
  return {
    url: reachableUrl(String(values[host] ?? '127.0.0.1'), Number(values[port])),
    apiKey: typeof key === 'string' ? key : key?.[0]
  };
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
  return Object.fromEntries([host, port, key].map((name) => [name, variables[name]!]));
}
