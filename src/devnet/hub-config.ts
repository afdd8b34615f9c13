import { PlatformError } from '../errors.ts';
import type { DatabaseCoordinates, DbType } from '../wire/database.ts';
import { DEVNET } from './settings.ts';

const TIMEOUT_MS = 10_000;

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
  const response = await fetch(hubUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'updateconfig', params: { config } }),
    signal: AbortSignal.timeout(TIMEOUT_MS)
  });
  const reply = (await response.json()) as { error?: { message?: string } };
  if (!response.ok || reply.error) {
    const reason = `the hub refused updateconfig with HTTP ${response.status}: ${reply.error?.message ?? ''}`;
    throw new PlatformError('HUB_UNREACHABLE', { reason });
  }
}
