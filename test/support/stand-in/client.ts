import { get as httpGet, type IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import WebSocket from 'ws';
import type { Kind, Place, Row, RowsByTable } from './database.ts';
import { ReplicaDatabase } from './replica-database.ts';

const VERSION = { indexer: 7, decoder: 3 } as const;
const MAX_BODY_BYTES = 512 * 2 ** 20;
const MAX_MESSAGE_BYTES = 2 ** 20;
const RECONNECT_MS = 100;

/** One message or body, of which only what the specification names is read. */
export interface Body {
  readonly schema_version: number;
  readonly block_height: number;
  readonly tables: RowsByTable;
  readonly updated_rows?: RowsByTable;
}

interface StandInClientOptions {
  readonly url: string;
  readonly kind: Kind;
  readonly replica: Place;
  readonly key: string;
  /**
   * It takes each row of a live block's `data` for a new one, and keeps balances itself. A block with a row that is there already
   * is dropped, and a `status` that is one block ahead starts no catch-up.
   */
  readonly insertsPlainly?: boolean;
}

/**
 * A client as somebody else would write it from the specification. It executes the definitions that it is sent, upserts the rows
 * of `data` and `updated_rows`, asks `/since/<height + 1>`, refuses bodies above 512 MiB, messages above 1 MiB and other schema
 * versions, and ignores every field that it does not know. It shares no code with the project.
 */
export class StandInClient {
  readonly #options: StandInClientOptions;
  readonly #database: ReplicaDatabase;
  /** Live messages as they came. */
  readonly messages: string[] = [];
  /** Errors about messages that it refused, or could not apply. */
  readonly faults: Error[] = [];
  /** Heights of live blocks that it dropped. */
  readonly dropped: number[] = [];
  height = -1;
  #socket: WebSocket | undefined;
  #work: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(options: StandInClientOptions, database: ReplicaDatabase) {
    this.#options = options;
    this.#database = database;
  }

  static async open(options: StandInClientOptions): Promise<StandInClient> {
    const client = new StandInClient(options, await ReplicaDatabase.open(options.replica));
    client.height = await client.#database.height().catch(() => -1);
    return client;
  }

  async bootstrap(): Promise<string> {
    const schema = JSON.parse((await this.get('schema')).text) as { tables: Record<string, string> };
    await this.#database.create(schema.tables);
    const { text } = await this.get('snapshot');
    await this.#take(text);
    return text;
  }

  /** @returns the body; null when it is at the server's tip */
  async catchUp(): Promise<string | null> {
    const { status, text } = await this.get('snapshot', `/since/${this.height + 1}`);
    if (status === 404 && text.includes('No data available after block')) return null;
    await this.#take(text);
    return text;
  }

  async #take(text: string): Promise<void> {
    const body = JSON.parse(text) as Body;
    this.#check(body.schema_version);
    await this.#database.apply(body.tables, body.updated_rows);
    if (this.#options.insertsPlainly) await this.#database.rebuildBalances();
    this.height = body.block_height;
  }

  #check(version: unknown): void {
    if (version !== VERSION[this.#options.kind]) throw new Error(`schema version ${version} is not mine`);
  }

  /** A GET, unpacked. */
  async get(route: string, rest = ''): Promise<{ status: number; headers: IncomingMessage['headers']; text: string }> {
    const { url, kind, key } = this.#options;
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip' };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      httpGet(`${url}/${route}/${kind}/litecoin/regtest${rest}`, { headers }, resolve).once('error', reject);
    });
    const packed = response.headers['content-encoding'] === 'gzip';
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of packed ? response.pipe(createGunzip()) : response) {
      size += (part as Buffer).length;
      if (size > MAX_BODY_BYTES) throw new Error(`a body above ${MAX_BODY_BYTES} bytes`);
      parts.push(part as Buffer);
    }
    const status = response.statusCode ?? 0;
    const text = Buffer.concat(parts).toString('utf8');
    if (status !== 200 && status !== 404) throw new Error(`${route} answered ${status}: ${text}`);
    return { status, headers: response.headers, text };
  }

  /** Follows the stream; when it is cut, catches up and follows again. */
  async subscribe(): Promise<void> {
    const { url, kind, key } = this.#options;
    const socket = new WebSocket(`${url.replace('http', 'ws')}/subscribe/${kind}/litecoin/regtest`, {
      headers: { authorization: `Bearer ${key}` },
      maxPayload: MAX_MESSAGE_BYTES
    });
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      const text = data.toString('utf8');
      this.messages.push(text);
      this.#queue(() => this.#hear(JSON.parse(text) as Row));
    });
    await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.on('error', (fault) => this.faults.push(fault));
    socket.on('close', () => {
      if (this.#closed) return;
      this.#reconnect();
    });
    this.#queue(async () => void (await this.catchUp()));
  }

  #reconnect(): void {
    setTimeout(() => {
      if (!this.#closed) void this.subscribe().catch(() => this.#reconnect());
    }, RECONNECT_MS);
  }

  /** Cuts the connection, as a network does. */
  cut(): void {
    this.#socket?.terminate();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#socket?.terminate();
    await this.#work;
    await this.#database.end();
  }

  #queue(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((fault: Error) => void this.faults.push(fault));
  }

  async #hear(message: Row): Promise<void> {
    if (message['type'] === 'reorg') {
      const fork = Number(message['block_index']);
      if (fork > this.height) return;
      await this.#database.cut(fork);
      if (this.#options.insertsPlainly) await this.#database.rebuildBalances();
      this.height = fork - 1;
    } else if (message['type'] === 'block') {
      this.#check(message['schema_version']);
      const at = Number(message['block_index']);
      if (at <= this.height) return;
      if (at > this.height + 1) return void (await this.catchUp());
      const [data, updated] = [message['data'] as RowsByTable, message['updated_rows'] as RowsByTable | undefined];
      if (this.#options.insertsPlainly) await this.#insert(at, data, updated);
      else {
        await this.#database.apply(data, updated);
        this.height = at;
      }
    } else if (message['type'] === 'status' && this.#options.insertsPlainly) {
      if (Number(message['block_height']) > this.height + 1) await this.catchUp();
    }
  }

  async #insert(at: number, data: RowsByTable, updated: RowsByTable | undefined): Promise<void> {
    try {
      await this.#database.insert(data, updated);
      await this.#database.rebuildBalances();
      this.height = at;
    } catch {
      this.dropped.push(at);
    }
  }
}
