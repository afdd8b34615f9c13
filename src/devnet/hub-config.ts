import type { DatabaseCoordinates, DbType } from '../wire/data/database.ts';
import { askService } from './ask.ts';
import { DEVNET } from './settings.ts';

/** Registers databases of one chain and network with the hub, as an operator would. @throws {PlatformError} HUB_UNREACHABLE */
export async function registerDatabases(
  hubUrl: string,
  apiKey: string,
  databases: Readonly<Record<DbType, DatabaseCoordinates>>
): Promise<void> {
  const modules = Object.entries(databases).map(([dbType, { host, port, name, user, pass }]) => [
    `platform-${dbType}`,
    { db_host: host, db_port: String(port), name, user, pass }
  ]);
  const config = { [DEVNET.chain]: { [DEVNET.network]: Object.fromEntries(modules) as object } };
  await askService({ name: 'hub', url: hubUrl, apiKey, fault: 'HUB_UNREACHABLE' }, 'updateconfig', { config });
}
