import type { WebSocket } from 'ws';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { placeFor } from '../../service/stream/place-for.ts';
import type { SendBuffer } from '../../service/stream/send-buffer.ts';
import { StreamSubscriber } from '../../service/stream/stream-subscriber.ts';
import type { Coin } from '../coins.ts';
import { type Advance, Advances, type Row, type Subject } from './advance.ts';
import { Followed } from './followed.ts';

/** Parameters of a new connection. */
interface LiveConnection {
  /** Address under which it is counted. */
  readonly address: string;
  /** Null: blocks alone. */
  readonly subject: Subject | null;
  readonly sendBuffer: () => SendBuffer;
}

/** Most subscribers of all networks of a service; the next constant: of one address. */
const MAX_SUBSCRIBERS = 1_000;
export const MAX_PER_ADDRESS = 20;
const LOOK_INTERVAL_MS = 250;
const PING_INTERVAL_MS = 30_000;
/** Blocks that are kept to see which still stand: more than one answer has. */
const KEPT_BLOCKS = 100;
const LIMITS = { sends: 200, bytes: 256 * 1024 } as const;
const SERVICE_RESTART = 1012;
const TRY_LATER = 1013;
const POLICY_VIOLATION = 1008;
const CROWDED = 'too many addresses and tokens are followed';

/** New blocks of one network, and the actions in them of an address or a token, to all who subscribed. */
export class LiveStream {
  readonly #coin: Coin;
  readonly #advances: Advances;
  readonly #log: Logger;
  readonly #followed: Followed;
  readonly #subscribers = new Map<StreamSubscriber, Subject | null>();
  readonly #timers: NodeJS.Timeout[];
  /** Newest first; empty while nobody listens. */
  #known: readonly Row[] = [];
  /** Tells the newest block that was looked at. */
  #mark: string | null = null;
  #isLooking = false;

  constructor(coin: Coin, log: Logger, followed = new Followed()) {
    this.#followed = followed;
    this.#coin = coin;
    this.#advances = new Advances(coin);
    this.#log = log;
    this.#timers = [
      setInterval(() => void this.#look(), LOOK_INTERVAL_MS),
      setInterval(() => this.#ping(), PING_INTERVAL_MS)
    ];
  }

  /** Takes a connection. It gets `ready`, then each block as it comes, with the actions of its subject. */
  subscribe(socket: WebSocket, { address, subject, sendBuffer }: LiveConnection): void {
    const own = [...this.#subscribers.keys()].filter((each) => each.address === address).length;
    const place = placeFor(this.#subscribers.keys(), address, MAX_SUBSCRIBERS);
    if (own >= MAX_PER_ADDRESS) socket.close(POLICY_VIOLATION, `at most ${MAX_PER_ADDRESS} of one address`);
    else if (place === null) socket.close(TRY_LATER, 'too many subscribers');
    else if (subject && !this.#makeRoom(address, subject)) socket.close(TRY_LATER, CROWDED);
    else {
      if (place !== 'free') {
        this.#forget(place);
        place.socket.close(TRY_LATER, 'too many subscribers');
      }
      this.#take(socket, { address, subject, sendBuffer });
    }
  }

  #take(socket: WebSocket, { address, subject, sendBuffer }: LiveConnection): void {
    const subscriber = new StreamSubscriber(socket, address, sendBuffer, LIMITS);
    socket.on('error', () => socket.terminate());
    socket.on('message', () => subscriber.drop('this stream takes no messages'));
    socket.on('close', () => this.#forget(subscriber));
    if (this.#subscribers.size === 0) this.#forgetBlocks();
    this.#subscribers.set(subscriber, subject && this.#followed.add(address, subject));
    if (this.#known[0]) this.#begin(subscriber);
  }

  /** Ends all connections. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { socket } of this.#subscribers.keys()) socket.close(SERVICE_RESTART, 'the service stops');
  }

  #begin(subscriber: StreamSubscriber): void {
    subscriber.begin();
    subscriber.send(JSON.stringify({ type: 'ready', block_index: this.#known[0]?.block_index ?? null }));
  }

  #forgetBlocks(): void {
    this.#known = [];
    this.#mark = null;
  }

  #forget(subscriber: StreamSubscriber): void {
    const subject = this.#subscribers.get(subscriber);
    if (subject) this.#followed.remove(subscriber.address, subject);
    this.#subscribers.delete(subscriber);
  }

  /** Ends the newest subscribers of addresses that follow more until a subject has room. @returns whether it has */
  #makeRoom(address: string, subject: Subject): boolean {
    const find = () => this.#followed.whoGivesWay(address, [subject]);
    for (let way = find(); way !== 'room'; way = find()) {
      if (way === null) return false;
      const { address: largest } = way;
      const [newest] = [...this.#subscribers]
        .filter(([each, followed]) => each.address === largest && followed !== null)
        .at(-1)!;
      this.#forget(newest);
      newest.socket.close(TRY_LATER, CROWDED);
    }
    return true;
  }

  async #look(): Promise<void> {
    const mark = this.#coin.report()?.mark ?? null;
    // Nothing is known where the one who listened left while its blocks were read.
    const isCurrent = mark === this.#mark && this.#known.length > 0;
    if (this.#isLooking || this.#subscribers.size === 0 || mark === null || isCurrent) return;
    this.#isLooking = true;
    try {
      await this.#advance();
      this.#mark = mark;
    } catch (caught) {
      // It looks again; whether the database answers is in the report.
      this.#log.debug({ err: PlatformError.from(caught) }, 'new blocks cannot be read');
    } finally {
      this.#isLooking = false;
    }
  }

  async #advance(): Promise<void> {
    const isFirst = this.#known.length === 0;
    const advance = await this.#advances.read(this.#known, isFirst ? [] : this.#followed.subjects);
    if (!advance) return;
    const standing = this.#known.filter(({ block_index }) => block_index <= (advance.fork ?? block_index));
    this.#known = [...advance.blocks].reverse().concat(standing).slice(0, KEPT_BLOCKS);
    for (const [subscriber, subject] of this.#subscribers) {
      if (!subscriber.isLive) this.#begin(subscriber);
      else if (!isFirst) for (const message of messagesOf(advance, subject)) subscriber.send(message);
    }
  }

  #ping(): void {
    for (const subscriber of this.#subscribers.keys()) subscriber.ping();
  }
}

/** Returns the messages about an advance to one subscriber, in the order of blocks. */
function messagesOf({ fork, skippedTo, blocks, actions }: Advance, subject: Subject | null): string[] {
  const messages: object[] = [];
  if (fork !== null) messages.push({ type: 'reorg', block_index: fork });
  if (skippedTo !== null) messages.push({ type: 'gap', block_index: skippedTo });
  const own = subject && actions.get(subject);
  if (own?.isCut) messages.push({ type: 'cut', action_index: own.rows[0]?.['action_index'] });
  for (const block of blocks) {
    messages.push({ type: 'block', data: block });
    for (const row of own?.rows ?? [])
      if (row.block_index === block.block_index) messages.push({ type: 'action', data: row });
  }
  return messages.map((message) => JSON.stringify(message));
}
