import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../src/db/connection.ts';
import type { BlockRows } from '../../src/decoder/block-rows.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { PATIENCE_MS } from './patience.ts';
import { databaseEnv, startGuardedService, startServiceProcess } from './service-process.ts';
import { sql } from './sql.ts';

/** Addresses of a litecoin regtest. */
export const [ALICE, BOB] = ['mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn', 'mrCDrCybB6J1vRfbwM5hemdJz73FwDBC8r'];
const GENESIS = '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9';
const hashOf = (height: number, branch: string) => (height === 0 ? GENESIS : `${branch}${height}`.padStart(64, '0'));

/** Blocks of one branch from a height on, each with the given action texts of Alice. */
export function blocksOf(
  from: number,
  branch: string,
  texts: readonly (readonly string[])[],
  below = branch
): BlockRows[] {
  return texts.map((data, place) => ({
    height: from + place,
    time: 1_700_000_000 + from + place,
    hash: hashOf(from + place, branch),
    previousHash: from + place === 0 ? '' : hashOf(from + place - 1, place === 0 ? below : branch),
    transactions: data.map((text, position) => ({
      hash: `${branch}${from + place}f${position}`.padStart(64, 'e'),
      source: ALICE,
      data: text,
      rawData: null,
      pubkey: null,
      outputs: [],
      dispensers: { opened: [], extendedTo: null }
    })),
    findings: []
  }));
}

export interface Databases {
  readonly decoder: DatabaseCoordinates;
  readonly indexer: DatabaseCoordinates;
}

/** The same databases for an account that has the rights of docs/operating/grants.md and no more. */
async function withGrants(databases: Databases): Promise<Databases> {
  const text = readFileSync(new URL('../../docs/operating/grants.md', import.meta.url), 'utf8');
  const granted = [...text.matchAll(/^GRANT (.*) ON `Platform_LTC_Mainnet_(Decoder|Indexer)`\.\* TO 'indexer'@/gm)];
  assert.equal(granted.length, 2);
  const account = { user: databases.indexer.name, pass: 'indexer-account-secret' };
  const to = `'${account.user}'@'%'`;
  await sql(
    databases.indexer,
    `CREATE USER IF NOT EXISTS ${to} IDENTIFIED BY '${account.pass}'`,
    ...granted.map(([, rights, name]) => {
      const { name: database } = name === 'Decoder' ? databases.decoder : databases.indexer;
      return `GRANT ${rights} ON \`${database}\`.* TO ${to}`;
    })
  );
  return { decoder: { ...databases.decoder, ...account }, indexer: { ...databases.indexer, ...account } };
}

/** Starts `platform-node indexer` as a process of its own. @param options of the command; null: with its guardian */
export async function startIndexer(
  databases: Databases,
  env: Record<string, string> = {},
  options: string[] | null = []
) {
  const { decoder, indexer } = await withGrants(databases);
  const port = await freePort();
  const variables = {
    INDEXER_COIN: 'LTC',
    INDEXER_NETWORK: 'regtest',
    ...databaseEnv('DECODER', decoder),
    ...databaseEnv('INDEXER', indexer),
    INDEXER_API_HOST: '127.0.0.1',
    INDEXER_API_PORT: String(port),
    INDEXER_POLL_INTERVAL: '20',
    ...env
  };
  const started =
    options === null ? startGuardedService('indexer', variables) : startServiceProcess('indexer', variables, options);
  const { child, output } = started;
  const call = async (method: string, params = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', method, params, id: 5 });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body, headers });
    return ((await response.json()) as { result: Record<string, unknown> }).result;
  };
  return {
    ...started,
    port,
    call,
    /** Status of `GET /readyz`. */
    readiness: async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status,
    async until(isDone: (health: Record<string, unknown>) => boolean) {
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        const health: Record<string, unknown> = await call('health').catch(() => ({}));
        if (isDone(health)) return health;
        assert.ok(Date.now() < deadline && child.exitCode === null, `${JSON.stringify(health)}\n${output()}`);
        await sleep(150);
      }
    }
  };
}

export async function holdings({ indexer }: Databases): Promise<string[]> {
  const connection = await connect(indexer);
  const found = await rows<{ address: string; tick: string; amount: string }>(
    connection,
    `SELECT a.address, i.tick, b.amount FROM balances b JOIN index_addresses a ON a.id = b.address_id
     JOIN index_tickers i ON i.id = b.tick_id ORDER BY 1, 2`
  );
  await connection.end();
  return found.map(({ address, tick, amount }) => `${address === ALICE ? 'Alice' : 'Bob'} ${amount} ${tick}`);
}
