import type { Service } from './service/define.ts';

/**
 * All services, in the order of --help, by their word on the command line. The imports are literal, so that bundlers find
 * them; the names alone cost a guardian nothing.
 */
const MODULES = {
  sync: () => import('./sync/service.ts'),
  hub: () => import('./hub/service.ts'),
  decoder: () => import('./decoder/service.ts'),
  indexer: () => import('./indexer/service.ts'),
  explorer: () => import('./explorer/service.ts'),
  utxo: () => import('./tracker/service.ts'),
  encoder: () => import('./encoder/service.ts'),
  miner: () => import('./miner/service.ts')
} as const;

/** The services' words on the command line. */
export const SERVICE_COMMANDS: readonly string[] = Object.keys(MODULES);

/** Loads a service's definition; undefined for a word that is none. */
export async function loadService(command: string): Promise<Service | undefined> {
  if (!Object.hasOwn(MODULES, command)) return undefined;
  const { service } = await MODULES[command as keyof typeof MODULES]();
  return service as unknown as Service; // its functions take the values of its own variables, which are loaded by name
}

/** Loads the definitions of all services. */
export async function loadServices(): Promise<readonly Service[]> {
  return await Promise.all(SERVICE_COMMANDS.map(async (command) => (await loadService(command))!));
}
