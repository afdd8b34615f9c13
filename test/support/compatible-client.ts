import WebSocket from 'ws';

const SCOPES = ['block_index', 'tx_index', 'action_index'] as const;

type Row = Record<string, unknown>;
type Tables = Record<string, Row[]>;
/** One message or body, of which only what the specification names is read. */
export interface Body {
  readonly schema_version: number;
  readonly block_height: number;
  readonly tables: Tables;
  readonly updated_rows?: Tables;
}

/**
 * A peer for tests: a client in memory that speaks the specification and nothing of this project's additions, as clients of
 * other makes do. It parses whole bodies, upserts rows by primary key, replaces the scopes of tables without one, asks for
 * `/since/<height + 1>`, and ignores every field that it does not know.
 */
export class CompatibleClient {
  readonly #url: string;
  readonly #path: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #keys = new Map<string, string[]>();
  readonly #tables = new Map<string, Row[]>();
  /** Live messages as they came. */
  readonly messages: string[] = [];
  height = -1;
  #socket: WebSocket | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(url: string, path: string, key: string) {
    this.#url = url;
    this.#path = path;
    this.#headers = { authorization: `Bearer ${key}` };
  }

  async get(route: string, rest = ''): Promise<Response> {
    return fetch(`${this.#url}/${route}/${this.#path}${rest}`, { headers: this.#headers });
  }

  /** The unpacked text of a snapshot's body. */
  async snapshotText(rest = ''): Promise<string> {
    return (await this.get('snapshot', rest)).text();
  }

  async bootstrap(): Promise<string> {
    const schema = (await (await this.get('schema')).json()) as { tables: Record<string, string> };
    for (const [table, text] of Object.entries(schema.tables)) this.#keys.set(table, primaryKey(text));
    const text = await this.snapshotText();
    const body = JSON.parse(text) as Body;
    for (const [table, list] of Object.entries(body.tables)) this.#tables.set(table, list);
    this.height = body.block_height;
    return text;
  }

  /** @returns the text of the answer, or null when there is nothing new */
  async catchUp(): Promise<string | null> {
    const from = this.height + 1;
    const probe = await this.get('status');
    const { block_height } = (await probe.json()) as { block_height: number };
    if (block_height < from) return null;
    const text = await this.snapshotText(`/since/${from}`);
    const body = JSON.parse(text) as Body;
    this.#apply(body.tables, body.updated_rows);
    this.height = body.block_height;
    return text;
  }

  async subscribe(): Promise<void> {
    const socket = new WebSocket(`${this.#url.replace('http', 'ws')}/subscribe/${this.#path}`, {
      headers: this.#headers
    });
    socket.on('message', (data: Buffer) => {
      const text = data.toString('utf8');
      this.messages.push(text);
      this.#work = this.#work.then(() => this.#take(JSON.parse(text) as Row));
    });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    this.#socket = socket;
  }

  close(): void {
    this.#socket?.terminate();
  }

  /** What it holds of a table. */
  rows(table: string): readonly Row[] {
    return this.#tables.get(table) ?? [];
  }

  async #take(message: Row): Promise<void> {
    if (message['type'] === 'reorg') {
      const fork = Number(message['block_index']);
      this.#cut(fork);
      this.height = Math.min(this.height, fork - 1);
    } else if (message['type'] === 'block') {
      const at = Number(message['block_index']);
      if (at <= this.height) return;
      if (at > this.height + 1) {
        await this.catchUp();
        return;
      }
      this.#apply(message['data'] as Tables, message['updated_rows'] as Tables | undefined);
      this.height = at;
    }
  }

  #apply(tables: Tables, updated: Tables = {}): void {
    for (const [table, list] of [...Object.entries(tables), ...Object.entries(updated)]) {
      const key = this.#keys.get(table) ?? [];
      const columns = key.length > 0 ? key : SCOPES.filter((name) => list[0] && name in list[0]).slice(-1);
      const tell = (row: Row) => JSON.stringify(columns.map((name) => row[name]));
      const received = key.length > 0 ? [...new Map(list.map((row) => [tell(row), row])).values()] : list;
      const named = new Set(received.map(tell));
      const kept = this.rows(table).filter((row) => !named.has(tell(row)));
      this.#tables.set(table, [...kept, ...received]);
    }
  }

  /** Takes away what hangs on blocks from a height on. */
  #cut(fork: number): void {
    const gone = (table: string, name: string) =>
      new Set(
        this.rows(table)
          .filter((row) => Number(row['block_index']) >= fork)
          .map((row) => row[name])
      );
    const transactions = gone('transactions', 'tx_index');
    const actions = gone('actions', 'action_index');
    for (const [table, list] of this.#tables) {
      if (table === 'sync_meta') continue;
      const kept = list.filter(
        (row) =>
          !(row['block_index'] != null && Number(row['block_index']) >= fork) &&
          !('tx_index' in row && transactions.has(row['tx_index'])) &&
          !('action_index' in row && row['action_index'] !== null && actions.has(row['action_index']))
      );
      this.#tables.set(table, kept);
    }
  }
}

/** Such clients find it by the text that they execute. */
function primaryKey(text: string): string[] {
  const [, list = ''] = /PRIMARY KEY \(([^)]*)\)/.exec(text) ?? [];
  return [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
}
