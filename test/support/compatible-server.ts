import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { type WebSocket, WebSocketServer } from 'ws';
import type { DatabaseCoordinates, DbType } from '../../src/wire/database.ts';
import { atEnd } from './cleanup.ts';
import { CompatibleDatabase, type Head, type Table } from './compatible-database.ts';

const gzip = promisify(gzipCallback);
const POLL_MS = 40;
const REMEMBERED_BLOCKS = 300;

/**
 * Tables that such a server cannot send in full: rows that vanish, and rows without a key of their own that change in place.
 * A replica of it is equal in all others.
 */
export const UNSENT: Readonly<Record<DbType, readonly string[]>> = {
  indexer: ['markets', 'capabilities', 'delegations', 'validator_rewards'],
  decoder: ['dispensers']
};
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
  readonly #database: CompatibleDatabase;
  readonly #options: CompatibleServerOptions;
  readonly #subscribers: WebSocketServer;
  readonly #server: ReturnType<typeof createServer>;
  #known: Head[] = [];
  #highestIds: Readonly<Record<string, number>> = {};
  #ended = false;

  private constructor(
    dbType: DbType,
    database: CompatibleDatabase,
    server: ReturnType<typeof createServer>,
    options: CompatibleServerOptions
  ) {
    this.#dbType = dbType;
    this.#database = database;
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
    const started = new CompatibleServer(dbType, await CompatibleDatabase.open(dbType, from), server, options);
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
    await this.#database.end();
  }

  /** Cuts every subscription, as a network does. */
  cut(): void {
    for (const socket of this.#subscribers.clients) socket.terminate();
  }

  get #names() {
    return { chain: 'litecoin', network: 'regtest', dbType: this.#dbType };
  }

  async #greet(socket: WebSocket): Promise<void> {
    const tip = (await this.#database.read(() => this.#database.heads(1))).at(-1);
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
      await this.#database
        .read(() => this.#look())
        .catch((fault: unknown) => {
          if (!this.#ended) throw fault;
        });
      await sleep(POLL_MS);
    }
  }

  async #look(): Promise<void> {
    const heads = await this.#database.heads(REMEMBERED_BLOCKS);
    const isFirstLook = this.#known.length === 0;
    const before = new Map(this.#known.map((head) => [head.height, JSON.stringify(head.hashes)]));
    this.#known = heads;
    const tables = await this.#database.tables();
    if (isFirstLook) {
      this.#highestIds = await this.#database.highestIds(tables);
      return;
    }
    const fresh = heads.filter(({ height, hashes }) => before.get(height) !== JSON.stringify(hashes));
    const highest = Math.max(...before.keys());
    const fork = Math.min(fresh[0]?.height ?? Infinity, (heads.at(-1)?.height ?? 0) + 1);
    if (fork <= highest) {
      const ids = await this.#database.highestIds(tables);
      for (const name of Object.keys(ids)) ids[name] = Math.min(ids[name]!, this.#highestIds[name] ?? 0);
      this.#highestIds = ids;
      if (this.#options.reorgMessages) this.#broadcast({ type: 'reorg', ...this.#names, block_index: fork });
    }
    for (const head of fresh) this.#broadcast(await this.#block(head, tables));
    if (fresh.length > 0) this.#highestIds = await this.#database.highestIds(tables);
  }

  async #block(head: Head, tables: readonly Table[]): Promise<Record<string, unknown>> {
    const { height, time, hashes } = head;
    const { data, updated } = await this.#database.block(height, tables, this.#highestIds);
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
    const tip = (await this.#database.read(() => this.#database.heads(1))).at(-1);
    send(response, 200, { ...this.#names, block_height: tip?.height ?? null, block_time: tip?.time, ...tip?.hashes });
  }

  async #sendSchema(response: ServerResponse): Promise<void> {
    const { [this.#options.hidden ?? '']: _, ...tables } = await this.#database.read(() =>
      this.#database.definitions()
    );
    send(response, 200, { ...this.#names, tables });
  }

  async #sendRoots(response: ServerResponse, query: URLSearchParams): Promise<void> {
    const [page, limit] = [Number(query.get('page') ?? 0), Number(query.get('limit') ?? 100)];
    const heads = (await this.#database.read(() => this.#database.heads(1_000_000))).reverse();
    const results = heads
      .slice(page * limit, (page + 1) * limit)
      .map(({ height, time, hashes }) => ({ block_index: height, block_time: time, ...hashes }));
    send(response, 200, { page, limit, total: heads.length, results });
  }

  async #sendSnapshot(response: ServerResponse, since: number | null): Promise<void> {
    const { tip, tables, updated } = await this.#database.read(() => this.#database.snapshot(since));
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
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
