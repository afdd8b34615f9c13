import { type BlockHashes, blockText, type DatabaseId, databaseKey, hashesOf } from '../wire/data/database.ts';
import type { BlockMessage, ReorgMessage, ServerMessage } from '../wire/data/messages.ts';

/** A database of a sync server, and the place at which a follower stands. */
export interface FollowOptions {
  /** Base URL, without a slash at its end. */
  readonly server: string;
  readonly database: DatabaseId;
  /** `SYNC_API_KEY` of the server, if it has one. */
  readonly key?: string;
  /** The last block that the caller has; absent: none. */
  readonly after?: FollowedBlock;
  /** Ends the following. */
  readonly signal?: AbortSignal;
}

/** A block by its height and hashes. */
export interface FollowedBlock {
  readonly height: number;
  readonly hashes: BlockHashes;
}

/**
 * Blocks after the caller's last one may be missing: load `/snapshot/.../since/<its height>`, or without a block all of
 * `/snapshot/...`, and skip the blocks up to the height of that snapshot. Later blocks wait meanwhile.
 */
interface MissedMessage {
  readonly type: 'missed';
}

/** One step of a followed database: its rows, a reorg from its first orphaned height, or blocks that were missed. */
export type Followed = BlockMessage | ReorgMessage | MissedMessage;

/** The server refuses the caller; another attempt would not help. */
export class FollowRefused extends Error {
  readonly status: number;

  constructor(status: number, reason: string) {
    super(reason);
    this.name = 'FollowRefused';
    this.status = status;
  }
}

const SUBPROTOCOL = 'platform-sync.v1';
/** Close code of a server that does not know the block of `after`. */
const NOT_KNOWN = 4_409;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [250, 30_000];
/** A caller that is so far behind is resumed later in place of keeping more. */
const MOST_WAITING = 1_000;
/** Deeper reorgs are followed by a snapshot, should the connection break within them. */
const MOST_GIVEN = 200;
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404]);

/**
 * Follows a database block by block, over any loss of the connection. After `missed` the caller loads a snapshot; from there
 * on each block is the one after the block before, or follows a reorg.
 *
 * @throws {FollowRefused} the key, the database or the request is wrong
 */
export async function* follow(options: FollowOptions): AsyncGenerator<Followed, void, undefined> {
  const { signal, database, after } = options;
  /** The newest blocks that were given out, for a place to resume at after a reorg. */
  let given: FollowedBlock[] = after ? [after] : [];
  let waitMs = FIRST_WAIT_MS;
  while (!signal?.aborted) {
    const stream = new MessageStream(await subscriptionOf(options, given.at(-1)), options.key, signal);
    let next = given.length > 0 ? given.at(-1)!.height + 1 : null;
    let isFirst = true;
    for await (const message of stream) {
      waitMs = FIRST_WAIT_MS;
      if (message.type === 'status' && isFirst && !message.resumed) {
        [given, next] = [[], null];
        yield { type: 'missed' };
      }
      isFirst = false;
      if (message.type === 'reorg') {
        given = given.filter(({ height }) => height < message.block_index);
        next = next === null ? null : Math.min(next, message.block_index);
        yield message;
      }
      if (message.type !== 'block') continue;
      if (next !== null && message.block_index !== next) break; // a gap: the next connection closes it
      yield message;
      const block = { height: message.block_index, hashes: hashesOf(database.dbType, message) };
      given = [...given.slice(-MOST_GIVEN), block];
      next = message.block_index + 1;
    }
    stream.close();
    if (stream.closeCode === NOT_KNOWN) given = [];
    else await pause(waitMs, signal);
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
  }
}

/** Returns the address of the subscription. @throws {FollowRefused} */
async function subscriptionOf(
  { server, database, key, signal }: FollowOptions,
  place: FollowedBlock | undefined
): Promise<string> {
  const path = databaseKey(database);
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const asked = await fetch(`${server}/status/${path}`, { headers, redirect: 'error', signal: signal ?? null }).catch(
    () => null // it is down: the connection fails, and is tried again
  );
  if (asked && REFUSALS.has(asked.status)) throw new FollowRefused(asked.status, await asked.text());
  await asked?.body?.cancel();
  const text = place && blockText(place.hashes);
  const after = text ? `?after=${place!.height}:${encodeURIComponent(text).replaceAll('%3A', ':')}` : '';
  return `${server.replace(/^http/, 'ws')}/subscribe/${path}${after}`;
}

/** Messages of one connection, in their order, until it ends. */
class MessageStream implements AsyncIterable<ServerMessage> {
  readonly #socket: WebSocket;
  readonly #waiting: ServerMessage[] = [];
  #wake: () => void = () => undefined;
  #ended = false;
  closeCode = 0;

  constructor(url: string, key: string | undefined, signal: AbortSignal | undefined) {
    const token = key === undefined ? [] : [`bearer.${Buffer.from(key).toString('base64url')}`];
    this.#socket = new WebSocket(url, [SUBPROTOCOL, ...token]);
    this.#socket.onmessage = ({ data }) => {
      if (this.#waiting.length >= MOST_WAITING) this.close();
      else this.#waiting.push(JSON.parse(String(data)) as ServerMessage);
      this.#wake();
    };
    this.#socket.onclose = ({ code }) => {
      this.closeCode = code;
      this.#end();
    };
    this.#socket.onerror = () => this.#end();
    signal?.addEventListener('abort', () => this.close(), { once: true });
  }

  close(): void {
    this.#socket.close();
    this.#end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ServerMessage, void, undefined> {
    for (;;) {
      while (this.#waiting.length > 0) yield this.#waiting.shift()!;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #end(): void {
    this.#ended = true;
    this.#wake();
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    signal?.addEventListener('abort', end, { once: true });
  });
}
