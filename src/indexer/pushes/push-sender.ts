import { createActor, type InspectionEvent } from 'xstate';
import { Effects } from '../../../actors/runtime/thread/effects.ts';
import { hubPushMachine } from '../../../machines/indexer/hub-push.ts';
import type { Pool } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { AnsweredError, callMethod, reasonOf } from '../../service/rpc/call-method.ts';
import {
  countRefused,
  noteFailure,
  raiseGeneration,
  readOldest,
  removePush,
  setAside,
  type WaitingPush
} from './queue.ts';

/** Hubs, queue and observers of a sender of pushes. */
interface PushSenderOptions {
  /** Hubs in the order in which they are tried, until one answers. */
  readonly hubs: readonly { readonly host: string; readonly port: number }[];
  readonly apiKey: string | undefined;
  /** Pool of the indexer database, with a connection that blocks do not need. */
  readonly pool: Pool;
  readonly log: Logger;
  /** Observes the machine's changes of state. */
  readonly inspect: (inspection: InspectionEvent) => void;
}

const PAUSES = { firstPauseMs: 1_000, longestPauseMs: 60_000, lookMs: 1_000 };
const HUB_PATIENCE_MS = 10_000;
/**
 * Codes of an answer that only another version of the hub changes: it does not know the method, or not these
 * parameters.
 */
const REFUSED_CODES: readonly (number | undefined)[] = [-32601, -32602];
/** Highest generation that is believed. It is far above the rollbacks of any chain. */
const MOST_GENERATION = 2 ** 31;

/** Answer of a hub to a push. */
interface Answer {
  readonly accepted?: unknown;
  readonly reason?: unknown;
  readonly generation?: unknown;
}

/**
 * Sends a hub the pushes that wait in the table, in their order and one at a time.
 *
 * A push leaves the table when a hub has taken it. So after a crash it is sent again, before any later one. A push that
 * the hub answers and does not take is set aside and sent again, less and less often. Blocks never wait for a hub: they
 * only add to the table.
 */
export class PushSender {
  readonly #options: PushSenderOptions;
  readonly #machine;
  readonly #effects: Effects;
  #lastRefusal = 'it was before this start';
  #refusedFault: string | null = null;

  constructor(options: PushSenderOptions) {
    this.#options = options;
    this.#effects = new Effects({
      toFault: (caught) => PlatformError.from(caught),
      onFault: (fault, _, isNew) => {
        if (isNew) options.log.warn({ code: fault.code }, `pushes to the hub wait: ${fault.message}`);
      },
      onSuccess: () => undefined
    });
    const send = this.#effects.effect<void>('send', (signal) => this.#sendAll(signal));
    this.#machine = createActor(hubPushMachine.provide({ actors: { send } }), {
      input: PAUSES,
      inspect: options.inspect
    });
  }

  start(): void {
    this.#machine.start();
  }

  /** Wakes the sender: a push was queued. */
  wake(): void {
    this.#machine.send({ type: 'push.queued' });
  }

  /** Ends the sender, and aborts the call under way. */
  async stop(): Promise<void> {
    this.#machine.send({ type: 'stop.requested' });
    await this.#effects.ended;
  }

  /** Reason for which pushes wait; null while they are taken. */
  get fault(): string | null {
    return this.#effects.lastFault ?? this.#refusedFault;
  }

  /** Sends all pushes that are due. @throws {PlatformError} HUB_UNREACHABLE, DATABASE_UNAVAILABLE */
  async #sendAll(signal: AbortSignal): Promise<void> {
    const { pool } = this.#options;
    for (let push = await readOldest(pool); push && !signal.aborted; push = await readOldest(pool)) {
      const outcome = await this.#send(push, signal);
      const isRaised = await this.#raise(push, outcome);
      if (outcome.refused === null) await removePush(pool, push.id);
      else if (!isRaised) await this.#refuse(push, outcome.refused);
    }
    const refused = await countRefused(pool);
    this.#refusedFault =
      refused === 0
        ? null
        : `the hub refused ${refused} pushes, which are sent again later; last reason: ${this.#lastRefusal}`;
  }

  /**
   * Raises the generation above that of the hub's row: a lower one could not take that row back later. @returns whether
   * it was raised
   */
  async #raise({ id, method, params }: WaitingPush, { refused, generation }: Outcome): Promise<boolean> {
    const { source_chain: coin, push_generation: own } = JSON.parse(params) as Record<string, unknown>;
    if (generation === null || typeof coin !== 'string' || typeof own !== 'number') return false;
    const isBehind = refused === null ? generation > own : generation >= own;
    if (!isBehind || generation >= MOST_GENERATION) return false;
    this.#options.log.warn(
      { push: method, generation },
      'the hub has a row of a later generation: later pushes get a higher one'
    );
    await raiseGeneration(this.#options.pool, id, coin, refused === null ? generation : generation + 1);
    return true;
  }

  async #refuse(push: WaitingPush, reason: string): Promise<void> {
    const { pool, log } = this.#options;
    this.#lastRefusal = `${push.method}: ${reason}`;
    log.warn(
      { push: push.method, params: push.params },
      `the hub refused a push, which is sent again later: ${reason}`
    );
    const lost = await setAside(pool, push.id, reason);
    if (lost > 0) log.error({ lost }, 'the hub refuses too many pushes: the oldest were dropped');
  }

  async #send(push: WaitingPush, signal: AbortSignal): Promise<Outcome> {
    const { hubs, apiKey, pool } = this.#options;
    const reasons: string[] = [];
    for (const { host, port } of hubs) {
      const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
      const patience = AbortSignal.any([signal, AbortSignal.timeout(HUB_PATIENCE_MS)]);
      try {
        const answer = await callMethod(url, push.method, JSON.parse(push.params) as object, {
          apiKey,
          signal: patience
        });
        return outcomeOf(Object(answer) as Answer);
      } catch (caught) {
        signal.throwIfAborted();
        if (caught instanceof AnsweredError && REFUSED_CODES.includes(caught.code))
          return { refused: caught.message, generation: null };
        reasons.push(`${host}:${port} ${reasonOf(caught)}`);
      }
    }
    const reason = reasons.join('; ');
    await noteFailure(pool, push.id, reason);
    throw new PlatformError('HUB_UNREACHABLE', { reason: `${push.method}: ${reason}` });
  }
}

/** Result of a push. */
interface Outcome {
  /** Reason for which the hub did not take it; null when the hub has it. */
  readonly refused: string | null;
  /** Generation of the row that the hub has instead, or had before; null if it names none. */
  readonly generation: number | null;
}

function outcomeOf({ accepted, reason, generation }: Answer): Outcome {
  const known = typeof generation === 'number' && Number.isSafeInteger(generation) ? generation : null;
  const isTaken = accepted !== false || reason === 'duplicate';
  return { refused: isTaken ? null : String(reason).slice(0, 200), generation: known };
}
