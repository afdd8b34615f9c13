import type { Service } from './service/define.ts';

/** Entry of a service: all that its guardian knows of it, since a definition would cost each guardian memory. */
interface Entry {
  /** Loads the definition. The import is literal, so that bundlers find it. */
  readonly load: () => Promise<{ readonly service: unknown }>;
  /** Set if its main thread mostly makes answers, which are garbage once they are sent. */
  readonly makesAnswers?: true;
}

/** All services, in the order of --help, by their word on the command line. */
const SERVICES: Readonly<Record<string, Entry>> = {
  sync: { load: () => import('./sync/service.ts') },
  edge: { load: () => import('./edge/service.ts') },
  hub: { load: () => import('./hub/service.ts'), makesAnswers: true },
  decoder: { load: () => import('./decoder/service.ts') },
  indexer: { load: () => import('./indexer/service.ts') },
  explorer: { load: () => import('./explorer/service.ts'), makesAnswers: true },
  utxo: { load: () => import('./tracker/service.ts'), makesAnswers: true },
  encoder: { load: () => import('./encoder/service.ts'), makesAnswers: true },
  miner: { load: () => import('./miner/service.ts') }
};

/** The services' words on the command line. */
export const SERVICE_COMMANDS: readonly string[] = Object.keys(SERVICES);

/** Returns the command of a service that has two names. */
export const commandNamed = (word: string): string => (word === 'tracker' ? 'utxo' : word);

const entryOf = (word: string): Entry | undefined =>
  Object.hasOwn(SERVICES, commandNamed(word)) ? SERVICES[commandNamed(word)] : undefined;

/** Returns whether a service's main thread mostly makes answers; its definition is not loaded for that. */
export const makesAnswers = (command: string): boolean => entryOf(command)?.makesAnswers === true;

/** Loads a service's definition; undefined for a word that is none. */
export async function loadService(command: string): Promise<Service | undefined> {
  const loaded = await entryOf(command)?.load();
  return loaded?.service as Service | undefined; // its functions take the values of its own variables, which are loaded by name
}

/** Loads the definitions of all services. */
export async function loadServices(): Promise<readonly Service[]> {
  return await Promise.all(SERVICE_COMMANDS.map(async (command) => (await loadService(command))!));
}
