import { PlatformError } from '../errors.ts';
import type { ProbeAddress } from '../service/life/probe.ts';
import { SERVICE_COMMANDS } from '../services.ts';
import type { Environment, OptionTable } from './command.ts';
import { REPLICA } from './installation.ts';
import { findService, readUrl, serviceNames } from './service-address.ts';

/** Options that say which running services are asked. */
export const ASKED_OPTIONS = {
  service: {
    type: 'string',
    value: '<name>',
    choices: [...SERVICE_COMMANDS, REPLICA],
    help: ['ask this service only, at the address of its variables; default: all services of this machine']
  },
  url: { type: 'string', value: '<url>', help: ['ask the service at this base URL'] },
  key: {
    type: 'string',
    value: '<key>',
    help: ['its key; default: its variable, which does not show in process lists']
  }
} as const satisfies OptionTable;

/** A service to ask, with its word on the command line or its URL. */
export interface AskedService extends ProbeAddress {
  readonly name: string;
}

interface Asked {
  readonly service?: string | undefined;
  readonly url?: string | undefined;
  readonly key?: string | undefined;
}

/** Returns the services that the options name, or all of this machine. @throws {PlatformError} COMMAND_INVALID, CONFIG_INVALID */
export async function findAsked({ service, url, key }: Asked, env: Environment): Promise<readonly AskedService[]> {
  const names = service !== undefined ? [service] : url !== undefined ? ['sync'] : serviceNames(env);
  return await Promise.all(
    names.map(async (name) => {
      const found = await findService(name, env);
      const apiKey = key ?? found.apiKey;
      return url === undefined ? { name, url: found.url, apiKey } : { name: service ?? url, url: readUrl(url), apiKey };
    })
  );
}

/**
 * Asks each service, and leaves out those that do not run.
 *
 * @param refused is told of each service that runs and does not answer
 * @throws {PlatformError} SERVICE_UNREACHABLE, UNAUTHORIZED or SOURCE_REFUSED where no service answers
 */
export async function askEach<S extends { readonly name: string }, T>(
  services: readonly S[],
  look: (service: S) => Promise<T>,
  refused: (line: string) => void
): Promise<readonly { readonly service: S; readonly answer: T }[]> {
  const faults: PlatformError[] = [];
  const answers = await Promise.all(
    services.map(async (service) => {
      try {
        return [{ service, answer: await look(service) }];
      } catch (caught) {
        const fault = PlatformError.from(caught);
        faults.push(fault);
        if (fault.code !== 'SERVICE_UNREACHABLE') refused(`${service.name}: ${fault.message}`);
        return [];
      }
    })
  );
  const found = answers.flat();
  if (found.length > 0) return found;
  throw faults.find(({ code }) => code !== 'SERVICE_UNREACHABLE') ?? faults[0]!;
}
