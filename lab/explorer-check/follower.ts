import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { faultsOf, OWN_FRAMES, readFacts } from '../../test/support/shape.ts';

/** Fields that existing clients read of frames: of all, and of the data of each type. */
const { every: EVERY, frames } = readFacts<{
  readonly every: string;
  readonly frames: Readonly<Record<string, string>>;
}>('websocket');
const FRAMES: typeof frames = { ...frames, ...OWN_FRAMES };
/** Time for which a connection is kept before the client cuts it and comes again. */
const CUT_MS = 7_000;

interface Frame {
  readonly type: string;
  readonly catch_up?: true;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Results of a client. */
export interface Followed {
  readonly frames: number;
  readonly cuts: number;
  /** Types of frames that came. */
  readonly types: ReadonlySet<string>;
  /** Frames that break their shape or their order, and errors that were sent. */
  readonly faults: readonly string[];
}

/**
 * Returns a client's subscriptions: each channel about something. @param since the newest action that it knows; null: it has just
 * begun
 */
const subscriptions = (since: number | null): object[] => [
  {
    channels: ['blocks', 'actions', 'mempool', 'network', 'attestation'],
    params: { snapshot: true, ...(since === null ? {} : { since_action_index: since }) }
  },
  { channels: ['address'], params: { addresses: ['A', 'B'], snapshot: true } },
  { channels: ['token'], params: { ticks: ['TOKA', 'TOKB'], snapshot: true } },
  { channels: ['market'], params: { tick1: 'TOKA', tick2: 'TOKB', snapshot: true } },
  { channels: ['dispenser', 'bet_feed'], params: { action_index: '2', snapshot: true } }
];

/** Follows every channel until a time, and cuts its own connection now and then: it comes again with what it knows. */
export async function follow(port: number, until: number): Promise<Followed> {
  const faults: string[] = [];
  const types = new Set<string>();
  let [frames, cuts] = [0, 0];
  let since: number | null = null;
  while (performance.now() < until) {
    const connection = new FollowedConnection(port, since);
    await sleep(Math.max(0, Math.min(CUT_MS, until - performance.now())));
    connection.cut();
    cuts++;
    frames += connection.frames;
    since = connection.newest;
    faults.push(...connection.faults);
    for (const type of connection.types) types.add(type);
  }
  return { frames, cuts, types, faults };
}

class FollowedConnection {
  frames = 0;
  readonly types = new Set<string>();
  readonly faults: string[] = [];
  /** The newest action that it was told of. */
  newest: number | null;
  readonly #socket: WebSocket;
  #replayed: number;

  constructor(port: number, since: number | null) {
    this.newest = since;
    this.#replayed = since ?? 0;
    this.#socket = new WebSocket(`ws://127.0.0.1:${port}/RBTC/api/websocket`);
    this.#socket.on('error', ({ message }) => this.faults.push(message));
    this.#socket.on('message', (data) => this.#take(JSON.parse(String(data)) as Frame));
    this.#socket.once('open', () => {
      for (const message of subscriptions(since))
        this.#socket.send(JSON.stringify({ action: 'subscribe', ...message }));
    });
  }

  cut(): void {
    if (this.frames === 0) this.faults.push('no frame came');
    this.#socket.terminate();
  }

  #take(frame: Frame): void {
    const { type, data } = frame;
    const fields = FRAMES[type];
    const wrong =
      fields === undefined ? ['the type is unknown'] : [...faultsOf(frame, EVERY), ...faultsOf(data, fields)];
    if ((this.frames === 0) !== (type === 'WELCOME')) wrong.push('WELCOME is the first one, once');
    if (type === 'error') wrong.push('it is an error');
    if (type === 'REORG') this.#replayed = 0;
    if (type === 'NEW_ACTION') {
      const index = Number(data['action_index']);
      if (frame.catch_up && index <= this.#replayed) wrong.push(`it comes after action ${this.#replayed}`);
      if (frame.catch_up) this.#replayed = index;
      this.newest = Math.max(this.newest ?? 0, index);
    }
    this.frames++;
    this.types.add(type);
    for (const fault of wrong) this.faults.push(`${JSON.stringify(frame).slice(0, 300)}: ${fault}`);
  }
}
