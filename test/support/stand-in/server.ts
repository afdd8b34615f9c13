import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Kind, Place, Row, RowsByTable, Table } from './database.ts';
import { type Head, type Ids, SourceDatabase } from './source-database.ts';
import { changesLater } from './tables.ts';

const gzip = promisify(gzipCallback);
const POLL_MS = 40;
const REMEMBERED_BLOCKS = 400;
const STATUS_MS = 60_000;
const VERSION = { indexer: 7, decoder: 3 } as const;

export interface StandInOptions {
  /** Announces reorgs by a message; else the new branch's blocks simply come. */
  readonly reorgMessages: boolean;
  /** A table of which rows are sent, and no definition. */
  readonly hidden?: string;
  /** Default: any free one. */
  readonly port?: number;
  readonly statusMs?: number;
}

/**
 * A sync server as somebody else would write it from the specification: no groups, digests, previous hashes, typed schema,
 * tags or marks of whole tables. Each block is read at the tip's state. Since-snapshots hold blocks >= N, `index_*` whole and
 * never balances; above the tip they are 404. It shares no code with the project.
 */
export class StandInServer {
  readonly url: string;
  /** Paths that were asked for. */
  readonly requests: string[] = [];
  readonly #kind: Kind;
  readonly #database: SourceDatabase;
  readonly #options: StandInOptions;
  readonly #server: Server;
  readonly #subscribers: WebSocketServer;
  readonly #statusTimer: NodeJS.Timeout;
  #known: Head[] = [];
  /** The highest lookup ids after each block that was sent. */
  #idsAfter = new Map<number, Ids>();
  /** Rows that change later, as they were sent: by table, then by their text. */
  #sent = new Map<string, ReadonlySet<string>>();
  #ended = false;
  /** Holds answers to full snapshots back while it is set. */
  gate: Promise<void> | undefined;

  private constructor(kind: Kind, database: SourceDatabase, server: Server, options: StandInOptions) {
    this.#kind = kind;
    this.#database = database;
    this.#options = options;
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#subscribers = new WebSocketServer({ server });
    this.#subscribers.on('connection', (socket) => void this.#greet(socket));
    server.on('request', (request, response) => void this.#answer(request, response));
    this.#statusTimer = setInterval(() => {
      for (const socket of this.#subscribers.clients) void this.#greet(socket);
    }, options.statusMs ?? STATUS_MS);
  }

  /** The last known block is the tip when this returns. */
  static async start(kind: Kind, from: Place, options: StandInOptions): Promise<StandInServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
    const started = new StandInServer(kind, await SourceDatabase.open(kind, from), server, options);
    await started.#database.read(() => started.#look());
    void started.#poll();
    return started;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Subscribers see it go as they would see a crash. */
  async end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#statusTimer);
    this.cut();
    this.#server.closeAllConnections();
    this.#server.close();
    await this.#database.end();
  }

  /** Cuts every subscription, as a network does. */
  cut(): void {
    for (const socket of this.#subscribers.clients) socket.terminate();
  }

  get #names() {
    return { chain: 'litecoin', network: 'regtest', dbType: this.#kind };
  }

  async #status() {
    const tip = (await this.#database.read(() => this.#database.heads(1))).at(-1);
    return { ...this.#names, block_height: tip?.height ?? null, block_time: tip?.time ?? null, ...tip?.hashes };
  }

  async #greet(socket: WebSocket): Promise<void> {
    if (this.#ended) return;
    socket.send(
      JSON.stringify({ type: 'status', ...(await this.#status()), server_name: 'unknown fields are ignored' })
    );
  }

  #broadcast(message: Row): void {
    for (const socket of this.#subscribers.clients) socket.send(JSON.stringify(message));
  }

  async #poll(): Promise<void> {
    while (!this.#ended) {
      await sleep(POLL_MS);
      if (this.#ended) return;
      await this.#database
        .read(() => this.#look())
        .catch((fault: unknown) => {
          if (!this.#ended) throw fault;
        });
    }
  }

  async #look(): Promise<void> {
    const [newest] = await this.#database.heads(1);
    const last = this.#known.at(-1);
    if (last && newest && isSame(newest, last)) return;
    const heads = await this.#database.heads(REMEMBERED_BLOCKS);
    const before = new Map(this.#known.map((head) => [head.height, JSON.stringify(head.hashes)]));
    const isFirstLook = this.#known.length === 0;
    const tip = heads.at(-1)?.height ?? -1;
    const fresh = heads.filter(({ height, hashes }) => before.get(height) !== JSON.stringify(hashes));
    const fork = Math.min(fresh[0]?.height ?? Number.POSITIVE_INFINITY, tip + 1);
    if (!isFirstLook && fresh.length === 0 && fork > Math.max(...before.keys())) return;
    this.#known = heads;
    const tables = await this.#database.tables();
    if (isFirstLook) {
      this.#idsAfter.set(tip, await this.#database.ids(tables));
      await this.#changed(tables, tip);
      return;
    }
    if (fork <= Math.max(...before.keys())) {
      for (const height of this.#idsAfter.keys()) if (height >= fork) this.#idsAfter.delete(height);
      if (this.#options.reorgMessages) this.#broadcast({ type: 'reorg', ...this.#names, block_index: fork });
    }
    for (const head of fresh) this.#broadcast(await this.#block(head, tables));
  }

  async #block(head: Head, tables: readonly Table[]): Promise<Row> {
    const { height, time, hashes } = head;
    const above = this.#idsAfter.get(Math.max(-1, ...[...this.#idsAfter.keys()].filter((at) => at < height))) ?? {};
    const data = await this.#database.block(height, tables, above);
    this.#idsAfter.set(height, await this.#database.ids(tables));
    if (this.#kind === 'indexer') data['sync_meta'] = [{ block_index: height, block_time: time, ...hashes }];
    return {
      type: 'block',
      ...this.#names,
      schema_version: VERSION[this.#kind],
      block_index: height,
      block_time: time,
      ...hashes,
      data,
      ...(this.#kind === 'indexer' ? { updated_rows: await this.#changed(tables, height) } : {}),
      server_name: 'unknown fields are ignored'
    };
  }

  /** Rows of older blocks, and of tables without blocks, that are not as they were sent. */
  async #changed(tables: readonly Table[], height: number): Promise<RowsByTable> {
    const changed: RowsByTable = {};
    for (const table of tables.filter((each) => changesLater(this.#kind, each))) {
      const before = this.#sent.get(table.name) ?? new Set();
      const [older, own] = await this.#database.around(table, height);
      this.#sent.set(table.name, new Set([...older, ...own].map((row) => JSON.stringify(row))));
      const list = older.filter((row) => !before.has(JSON.stringify(row)));
      if (list.length > 0) changed[table.name] = list;
    }
    return changed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    this.requests.push(pathname);
    const path = new RegExp(`^/([\\w-]+)/${this.#kind}/litecoin/regtest(?:/(since|roots)(?:/(\\d+))?)?$`);
    const [, route, part, since] = path.exec(pathname) ?? [];
    try {
      if (route === 'status') send(response, 200, await this.#status());
      else if (route === 'schema') await this.#sendSchema(response);
      else if (route === 'snapshot') await this.#sendSnapshot(response, since === undefined ? null : Number(since));
      else if (route === 'snapshot-dispensers' && this.#kind === 'decoder') await this.#sendDispensers(response);
      else if (route === 'transparency' && part === 'roots') await this.#sendRoots(response, searchParams);
      else send(response, 404, { error: 'not found' });
    } catch (fault) {
      if (!response.headersSent) send(response, 500, { error: String(fault) });
    }
  }

  async #sendSchema(response: ServerResponse): Promise<void> {
    const { [this.#options.hidden ?? '']: _, ...tables } = await this.#database.read(() =>
      this.#database.definitions()
    );
    send(response, 200, { ...this.#names, tables });
  }

  async #sendDispensers(response: ServerResponse): Promise<void> {
    const rows = await this.#database.read(async () => {
      const table = (await this.#database.tables()).find(({ name }) => name === 'dispensers');
      return table ? this.#database.whole(table) : [];
    });
    send(response, 200, { schema_version: 3, max_tx: 0, max_addr: 0, has_more: false, rows });
  }

  async #sendRoots(response: ServerResponse, query: URLSearchParams): Promise<void> {
    const [page, limit] = [Number(query.get('page') ?? 0), Number(query.get('limit') ?? 100)];
    const heads = (await this.#database.read(() => this.#database.heads(1_000_000))).reverse();
    const results = heads
      .slice(page * limit, (page + 1) * limit)
      .map(({ height, time, hashes }) => ({ block_index: height, block_time: time, ...hashes, logged_at: null }));
    send(response, 200, { page, limit, total: heads.length, results });
  }

  async #sendSnapshot(response: ServerResponse, since: number | null): Promise<void> {
    const { tip, heads, tables, updated } = await this.#database.read(async () => {
      const heads = await this.#database.heads(1_000_000);
      return { tip: heads.at(-1), heads, ...(await this.#database.snapshot(since)) };
    });
    if (!tip || (since !== null && since > tip.height)) {
      const error = tip ? `No data available after block ${since}` : 'No blocks in database';
      return send(response, 404, { error });
    }
    if (this.#kind === 'indexer') {
      tables['sync_meta'] = heads
        .filter(({ height }) => height >= (since ?? 0))
        .map(({ height, time, hashes }, id) => ({
          id,
          block_index: height,
          block_time: time,
          ...hashes,
          logged_at: null
        }));
    }
    const body = {
      schema_version: VERSION[this.#kind],
      block_height: tip.height,
      ...(since === null ? {} : { since_block: since }),
      server_name: 'unknown fields are ignored',
      tables,
      ...(since !== null && this.#kind === 'indexer' ? { updated_rows: updated } : {})
    };
    const bytes = await gzip(JSON.stringify(body));
    if (since === null) await this.gate;
    // A decoder's full snapshot names no block but by its height.
    const named = since === null && this.#kind === 'decoder' ? {} : tip.hashes;
    const hashes = Object.entries(named).map(([name, hash]) => [`x-${name.replace('_', '-')}`, hash ?? '']);
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'x-block-height': tip.height,
      ...(since === null ? {} : { 'x-since-block': since }),
      ...Object.fromEntries(hashes)
    });
    response.end(bytes);
  }
}

function isSame(one: Head, other: Head): boolean {
  return one.height === other.height && JSON.stringify(one.hashes) === JSON.stringify(other.hashes);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
