import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Connection, connect, rows, type SqlRow } from '../../src/db/connection.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/database.ts';
import { atEnd } from './cleanup.ts';

const gzip = promisify(gzipCallback);
const POLL_MS = 40;
const REMEMBERED_BLOCKS = 300;

/** Tables of one node, or of a sync service's own. */
const NEVER = new Set(
  ['sync_meta', 'merkle_epochs', 'sync_halt', 'mempool_transactions'].concat(
    ['icons', 'price_snapshots', 'pending_hub_pushes'] // an indexer's
  )
);
/** What changes in place: sent whole as upserts. */
const IN_PLACE = ['tokens', 'stakes', 'attests', 'dispensers'];
/**
 * Tables that such a server cannot send in full: rows that vanish, and rows without a key of their own that change in place.
 * A replica of it is equal in all others.
 */
export const UNSENT: Readonly<Record<DbType, readonly string[]>> = {
  indexer: ['markets', 'capabilities', 'delegations', 'validator_rewards'],
  decoder: ['dispensers']
};
const FIRST = ['blocks', 'transactions', 'actions'];
const LAST = ['balances', 'sync_meta', 'pubkeys'];

type Row = Record<string, unknown>;
type Hashes = Record<string, string | null>;
interface Head {
  readonly height: number;
  readonly time: number;
  readonly hashes: Hashes;
}
interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly isJson: boolean }[];
}

export interface CompatibleServerOptions {
  /** Announces reorgs by a message; else the new branch's blocks simply come. */
  readonly reorgMessages: boolean;
  /** A table of which rows are sent, and no definition. */
  readonly hidden?: string;
}

/**
 * A peer for tests: a sync server that speaks the specification and nothing of this project's additions, as servers of
 * other makes do. No typed schema, fingerprints, tags, groups, previous hashes, digests or marks of whole tables; blocks >= N in
 * since-snapshots, `index_*` whole in them, never balances; 404 above its tip. Its SQL is its own.
 */
export class CompatibleServer {
  readonly url: string;
  /** Paths that were asked for. */
  readonly requests: string[] = [];
  readonly #dbType: DbType;
  readonly #connection: Connection;
  readonly #options: CompatibleServerOptions;
  readonly #subscribers: WebSocketServer;
  readonly #server: ReturnType<typeof createServer>;
  #known: Head[] = [];
  #highestIds: Readonly<Record<string, number>> = {};
  #ended = false;
  /** One statement sequence at a time on the one connection. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(
    dbType: DbType,
    connection: Connection,
    server: ReturnType<typeof createServer>,
    options: CompatibleServerOptions
  ) {
    this.#dbType = dbType;
    this.#connection = connection;
    this.#server = server;
    this.#options = options;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#subscribers = new WebSocketServer({ server });
    this.#subscribers.on('connection', (socket) => void this.#greet(socket));
    server.on('request', (request, response) => void this.#answer(request, response));
    void this.#poll();
  }

  static async start(
    dbType: DbType,
    from: DatabaseCoordinates,
    options: CompatibleServerOptions,
    port = 0
  ): Promise<CompatibleServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const started = new CompatibleServer(dbType, await connect(from), server, options);
    atEnd(() => started.end());
    return started;
  }

  /** Subscribers see it go as they would see a crash. */
  async end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    for (const socket of this.#subscribers.clients) socket.terminate();
    this.#server.closeAllConnections();
    this.#server.close();
    await this.#turn.catch(() => undefined);
    this.#connection.destroy();
  }

  /** Cuts every subscription, as a network does. */
  cut(): void {
    for (const socket of this.#subscribers.clients) socket.terminate();
  }

  async #read<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn
      .catch(() => undefined)
      .then(async () => {
        await this.#connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
        try {
          return await work();
        } finally {
          await this.#connection.query('COMMIT');
        }
      });
    this.#turn = turn;
    return turn;
  }

  get #names() {
    return { chain: 'litecoin', network: 'regtest', dbType: this.#dbType };
  }

  async #greet(socket: WebSocket): Promise<void> {
    const tip = (await this.#read(() => this.#heads(1))).at(-1);
    socket.send(
      JSON.stringify({
        type: 'status',
        ...this.#names,
        block_height: tip?.height,
        block_time: tip?.time,
        ...tip?.hashes,
        server_name: 'extra fields are ignored'
      })
    );
  }

  #broadcast(message: Record<string, unknown>): void {
    for (const socket of this.#subscribers.clients) socket.send(JSON.stringify(message));
  }

  async #poll(): Promise<void> {
    while (!this.#ended) {
      await this.#read(() => this.#look()).catch((fault: unknown) => {
        if (!this.#ended) throw fault;
      });
      await sleep(POLL_MS);
    }
  }

  async #look(): Promise<void> {
    const heads = await this.#heads(REMEMBERED_BLOCKS);
    const isFirstLook = this.#known.length === 0;
    const before = new Map(this.#known.map((head) => [head.height, JSON.stringify(head.hashes)]));
    this.#known = heads;
    const tables = await this.#tables();
    if (isFirstLook) {
      this.#highestIds = await this.#maxIds(tables);
      return;
    }
    const fresh = heads.filter(({ height, hashes }) => before.get(height) !== JSON.stringify(hashes));
    const highest = Math.max(...before.keys());
    const fork = Math.min(fresh[0]?.height ?? Infinity, (heads.at(-1)?.height ?? 0) + 1);
    if (fork <= highest) {
      const ids = await this.#maxIds(tables);
      for (const name of Object.keys(ids)) ids[name] = Math.min(ids[name]!, this.#highestIds[name] ?? 0);
      this.#highestIds = ids;
      if (this.#options.reorgMessages) this.#broadcast({ type: 'reorg', ...this.#names, block_index: fork });
    }
    for (const head of fresh) this.#broadcast(await this.#block(head, tables));
    if (fresh.length > 0) this.#highestIds = await this.#maxIds(tables);
  }

  async #block(head: Head, tables: readonly Table[]): Promise<Record<string, unknown>> {
    const data: Record<string, Row[]> = {};
    const updated: Record<string, Row[]> = {};
    const { height, time, hashes } = head;
    for (const table of tables) {
      const { name } = table;
      const isLookup = name.startsWith('index_') || name === 'pubkeys' || name === 'events';
      if (name === 'balances' || (name === 'dispensers' && this.#dbType === 'decoder')) continue;
      const scope = scopeOf(table, `= ${height}`);
      const found =
        isLookup && hasId(table)
          ? await this.#rows(table, `id > ${this.#highestIds[name] ?? 0}`)
          : scope === null
            ? []
            : await this.#rows(table, scope);
      if (found.length > 0) data[name] = found;
      if (IN_PLACE.includes(name)) updated[name] = await this.#rows(table, '1');
    }
    if (this.#dbType === 'indexer') data['sync_meta'] = [{ block_index: height, block_time: time, ...hashes }];
    return {
      type: 'block',
      ...this.#names,
      schema_version: this.#dbType === 'indexer' ? 7 : 3,
      block_index: height,
      block_time: time,
      ...hashes,
      data,
      ...(this.#dbType === 'indexer' ? { updated_rows: updated } : {}),
      server_name: 'extra fields are ignored'
    };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    this.requests.push(pathname);
    const path = new RegExp(`^/(\\w+)/${this.#dbType}/litecoin/regtest(?:/(since|roots)(?:/(\\d+))?)?$`);
    const [, route, part, since] = path.exec(pathname) ?? [];
    try {
      if (route === 'status') await this.#sendStatus(response);
      else if (route === 'schema') await this.#sendSchema(response);
      else if (route === 'snapshot') await this.#sendSnapshot(response, since === undefined ? null : Number(since));
      else if (route === 'transparency' && part === 'roots') await this.#sendRoots(response, searchParams);
      else send(response, 404, { error: 'not found' });
    } catch (fault) {
      if (!response.headersSent) send(response, 500, { error: String(fault) });
    }
  }

  async #sendStatus(response: ServerResponse): Promise<void> {
    const tip = (await this.#read(() => this.#heads(1))).at(-1);
    send(response, 200, { ...this.#names, block_height: tip?.height ?? null, block_time: tip?.time, ...tip?.hashes });
  }

  async #sendSchema(response: ServerResponse): Promise<void> {
    const tables: Record<string, string> = {};
    await this.#read(async () => {
      for (const { name } of await this.#tables()) {
        if (name === this.#options.hidden) continue;
        const [row] = await rows(this.#connection, `SHOW CREATE TABLE \`${name}\``);
        tables[name] = String(row!['Create Table']).replace(/ AUTO_INCREMENT=\d+/, '');
      }
    });
    send(response, 200, { ...this.#names, tables });
  }

  async #sendRoots(response: ServerResponse, query: URLSearchParams): Promise<void> {
    const [page, limit] = [Number(query.get('page') ?? 0), Number(query.get('limit') ?? 100)];
    const heads = (await this.#read(() => this.#heads(1_000_000))).reverse();
    const results = heads
      .slice(page * limit, (page + 1) * limit)
      .map(({ height, time, hashes }) => ({ block_index: height, block_time: time, ...hashes }));
    send(response, 200, { page, limit, total: heads.length, results });
  }

  async #sendSnapshot(response: ServerResponse, since: number | null): Promise<void> {
    const { tip, tables, updated } = await this.#read(() => this.#snapshot(since));
    if (!tip || (since !== null && since > tip.height)) {
      const error = tip ? `No data available after block ${since}` : 'No blocks in database';
      return send(response, 404, { error });
    }
    const head = {
      schema_version: this.#dbType === 'indexer' ? 7 : 3,
      block_height: tip.height,
      ...(since === null ? {} : { since_block: since }),
      server_name: 'extra fields are ignored'
    };
    const rest = since !== null && this.#dbType === 'indexer' ? { tables, updated_rows: updated } : { tables };
    const body = await gzip(JSON.stringify({ ...head, ...rest }));
    const hashes = Object.entries(tip.hashes).map(([name, hash]) => [`x-${name.replace('_', '-')}`, hash ?? '']);
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'x-block-height': tip.height,
      ...(since === null ? {} : { 'x-since-block': since }),
      ...Object.fromEntries(hashes)
    });
    response.end(body);
  }

  async #snapshot(since: number | null) {
    const tip = (await this.#heads(1)).at(-1);
    const tables: Record<string, Row[]> = {};
    const updated: Record<string, Row[]> = {};
    for (const table of await this.#tables()) {
      const { name } = table;
      const changes = since !== null && IN_PLACE.includes(name) && this.#dbType === 'indexer';
      if (changes) updated[name] = await this.#rows(table, '1');
      const isWhole = since === null || name.startsWith('index_') || name === 'pubkeys' || name === 'events';
      const condition = isWhole ? '1' : scopeOf(table, `>= ${since}`);
      if (condition === null || (since !== null && this.#dbType === 'decoder' && name === 'dispensers')) continue;
      const found = await this.#rows(table, condition);
      if (found.length > 0) tables[name] = found;
    }
    return { tip, tables, updated };
  }

  /** The newest blocks, ascending. */
  async #heads(count: number): Promise<Head[]> {
    const names = this.#dbType === 'indexer' ? ['ledger_hash', 'actions_hash', 'contract_hash'] : ['block_hash'];
    const joins = names.map((name) => `LEFT JOIN index_transactions ${name} ON ${name}.id = b.${name}_id`);
    const found = await rows(
      this.#connection,
      `SELECT b.block_index AS height, b.block_time AS time, ${names.map((name) => `${name}.hash AS ${name}`).join(', ')}
       FROM blocks b ${joins.join(' ')} ORDER BY b.block_index DESC LIMIT ${count}`
    );
    return found.reverse().map(({ height, time, ...hashes }) => ({
      height: Number(height),
      time: Number(time),
      hashes: hashes as Hashes
    }));
  }

  async #tables(): Promise<Table[]> {
    const columns = await rows<{ t: string; c: string; type: string }>(
      this.#connection,
      `SELECT c.TABLE_NAME AS t, c.COLUMN_NAME AS c, IF(k.CONSTRAINT_NAME IS NULL, c.DATA_TYPE, 'json') AS type
       FROM information_schema.COLUMNS c LEFT JOIN information_schema.CHECK_CONSTRAINTS k
         ON k.CONSTRAINT_SCHEMA = c.TABLE_SCHEMA AND k.TABLE_NAME = c.TABLE_NAME AND k.CONSTRAINT_NAME = c.COLUMN_NAME
       WHERE c.TABLE_SCHEMA = DATABASE() ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION`
    );
    const tables = new Map<string, Table['columns'][number][]>();
    for (const { t, c, type } of columns) {
      if (!NEVER.has(t)) tables.set(t, [...(tables.get(t) ?? []), { name: c, type, isJson: type === 'json' }]);
    }
    const rank = (name: string) =>
      name.startsWith('index_') ? -1 : FIRST.includes(name) ? FIRST.indexOf(name) : LAST.includes(name) ? 9 : 5;
    return [...tables]
      .map(([name, list]) => ({ name, columns: list }))
      .sort((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1));
  }

  async #maxIds(tables: readonly Table[]): Promise<Record<string, number>> {
    const ids: Record<string, number> = {};
    for (const table of tables.filter(hasId)) {
      const [row] = await rows(this.#connection, `SELECT COALESCE(MAX(id), 0) AS id FROM \`${table.name}\``);
      ids[table.name] = Number(row!['id']);
    }
    return ids;
  }

  async #rows({ name, columns }: Table, condition: string): Promise<Row[]> {
    const list = columns.map((column) =>
      column.type === 'float' ? `CAST(\`${column.name}\` AS DOUBLE) AS \`${column.name}\`` : `\`${column.name}\``
    );
    const found = await rows<SqlRow>(this.#connection, `SELECT ${list.join(', ')} FROM \`${name}\` WHERE ${condition}`);
    for (const row of found) {
      for (const column of columns) {
        const value = row[column.name];
        if (Buffer.isBuffer(value)) row[column.name] = { __xbin__: value.toString('base64') };
        else if (column.isJson && typeof value === 'string') row[column.name] = JSON.parse(value);
      }
    }
    return found;
  }
}

const has = ({ columns }: Table, name: string): boolean => columns.some((column) => column.name === name);
const hasId = (table: Table): boolean => has(table, 'id');

/** Which rows of a table belong to blocks; null where none does. Refunds of matured dispensers hang on older actions. */
function scopeOf(table: Table, blocks: string): string | null {
  if (table.name.startsWith('index_') || table.name === 'tokens') return null;
  if (has(table, 'block_index')) return `block_index ${blocks}`;
  if (has(table, 'tx_index')) return `tx_index IN (SELECT tx_index FROM transactions WHERE block_index ${blocks})`;
  if (!has(table, 'action_index')) return null;
  const own = `action_index IN (SELECT action_index FROM actions WHERE block_index ${blocks})`;
  const executions = `SELECT execution_index FROM contract_executions WHERE ${own}`;
  if (table.name === 'contract_emissions') return `execution_index IN (${executions})`;
  if (table.name !== 'credits') return own;
  return `${own} OR action_index IN (SELECT action_index FROM dispensers WHERE expiration_block ${blocks})`;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
