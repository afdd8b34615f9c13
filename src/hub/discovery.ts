import { networkKey } from '../coin/find-network.ts';
import {
  type DatabaseCoordinates,
  type DatabaseId,
  DB_TYPES,
  type DbType,
  databaseKey,
  NAME_PATTERN
} from '../wire/data/database.ts';
import { printable } from './printable.ts';
import { type ConfigTree, MASK, type ModuleParams } from './store/config-tree.ts';

export interface DiscoveredDatabase {
  readonly id: DatabaseId;
  readonly coordinates: DatabaseCoordinates;
}

export interface Discovery {
  readonly databases: readonly DiscoveredDatabase[];
  /** One sentence for each entry that names a database but cannot be used. */
  readonly problems: readonly string[];
}

const NAME = new RegExp(NAME_PATTERN);
const DATABASE_NAME = /^[A-Za-z0-9_]{1,64}$/;
const MAX_PROBLEMS = 100;

/**
 * Finds the databases that a configuration names: modules `<prefix>-indexer` and `<prefix>-decoder`, whatever the
 * prefix.
 *
 * Of several modules for one database the first usable one counts and the others are problems, however they spell its network.
 * @param options `coordinates: false` when only names count, as in client mode: host, port and account may then be missing
 * @see the sections "Hub configuration store" and "Decoder database" of the specification
 */
export function discoverDatabases(tree: ConfigTree, { coordinates = true } = {}): Discovery {
  const databases = new Map<string, DiscoveredDatabase>();
  const problems: string[] = [];
  for (const [chain, networks] of Object.entries(tree)) {
    for (const [network, modules] of Object.entries(networks)) {
      for (const [module, params] of Object.entries(modules)) {
        const dbType = DB_TYPES.find((type) => module.endsWith(`-${type}`));
        if (!dbType) continue;
        const found = readDatabase({ dbType, chain, network }, params, coordinates);
        const refuse = (reason: string) =>
          problems.push(`${printable(chain)}/${printable(network)}/${printable(module)}: ${reason}`);
        const key = `${dbType}/${networkKey({ chain, network })}`;
        const earlier = databases.get(key);
        if (typeof found === 'string') refuse(found);
        else if (earlier) refuse(`another module names ${databaseKey(earlier.id)} already`);
        else databases.set(key, found);
      }
    }
  }
  return { databases: [...databases.values()], problems: problems.slice(0, MAX_PROBLEMS) };
}

/** @returns the reason when it cannot be used */
function readDatabase(
  id: { dbType: DbType; chain: string; network: string },
  params: ModuleParams,
  needsCoordinates: boolean
): DiscoveredDatabase | string {
  if (!NAME.test(id.chain) || !NAME.test(id.network)) return 'coin and network must be 1 to 32 letters, digits, _ or -';
  const { name } = params;
  const [user, pass] = [params['user_sync'] || params['user'], params['pass_sync'] ?? params['pass']];
  const host = params['db_host'] || params['host'];
  const port = params['db_port'] || params['port'];
  const needed = { 'db_host or host': host, 'db_port or port': port, name, user };
  const missing = Object.entries(needsCoordinates ? needed : { name }).filter(([, value]) => !value);
  if (needsCoordinates && pass === undefined) missing.push(['pass', undefined]);
  if (needsCoordinates && pass === MASK)
    return 'the hub tells its password to callers with its key alone: set HUB_API_KEY';
  if (missing.length > 0) return `missing ${missing.map(([parameter]) => parameter).join(', ')}`;
  if (!DATABASE_NAME.test(name!)) return 'name must be 1 to 64 letters, digits or _';
  if (!needsCoordinates) return { id, coordinates: { host: '', port: 0, user: '', pass: '', name: name! } };
  if (!/^\d{1,5}$/.test(port!) || Number(port) < 1 || Number(port) > 65_535)
    return 'the port must be a number from 1 to 65535';
  return { id, coordinates: { host: host!, port: Number(port), user: user!, pass: pass!, name: name! } };
}
