import { createActor, type InspectionEvent } from 'xstate';
import { hubPushMachine } from '../../machines/indexer/hub-push.ts';
import type { Pool } from '../../src/db/core/connection.ts';
import { PlatformError } from '../../src/errors.ts';
import { noteFailure, readOldest, removePush, type WaitingPush } from '../../src/indexer/pushes/queue.ts';
import type { Logger } from '../../src/log.ts';
import { AnsweredError, callMethod, reasonOf } from '../../src/service/rpc/call-method.ts';
import { Effects } from '../runtime/thread/effects.ts';

export interface PushSenderOptions {
  /** Tried in order, until one answers. */
  readonly hubs: readonly { readonly host: string; readonly port: number }[];
  readonly apiKey: string | undefined;
  /** Of the indexer database. It has a connection that blocks do not need. */
  readonly pool: Pool;
  readonly log: Logger;
  /** Sees the machine's changes of state. */
  readonly inspect: (inspection: InspectionEvent) => void;
}

const PAUSES = { firstPauseMs: 1_000, longestPauseMs: 60_000, lookMs: 1_000 };
const HUB_PATIENCE_MS = 10_000;
/** The hub will never take such a push: it knows no such method, or not these parameters. */
const REFUSED_CODES: readonly (number | undefined)[] = [-32601, -32602];

/**
 * Tells a hub what waits in the table of pushes, in its order and one at a time.
 *
 * A push leaves the table when a hub has answered it, so after a crash it is told again, before any later one. Blocks never wait
 * for a hub: they only add to the table.
 */
export class PushSender {
  readonly #options: PushSenderOptions;
  readonly #machine;
  readonly #effects: Effects;

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

  /** Something was queued. */
  wake(): void {
    this.#machine.send({ type: 'push.queued' });
  }

  /** Ends after the call under way is given up. */
  async stop(): Promise<void> {
    this.#machine.send({ type: 'stop.requested' });
    await this.#effects.ended;
  }

  /** Why pushes wait; null while they are taken. */
  get fault(): string | null {
    return this.#effects.lastFault;
  }

  /** @throws {PlatformError} HUB_UNREACHABLE, DATABASE_UNAVAILABLE */
  async #sendAll(signal: AbortSignal): Promise<void> {
    const { pool } = this.#options;
    for (let push = await readOldest(pool); push && !signal.aborted; push = await readOldest(pool)) {
      await this.#send(push, signal);
      await removePush(pool, push.id);
    }
  }

  async #send(push: WaitingPush, signal: AbortSignal): Promise<void> {
    const { hubs, apiKey, pool, log } = this.#options;
    const reasons: string[] = [];
    for (const { host, port } of hubs) {
      const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
      const patience = AbortSignal.any([signal, AbortSignal.timeout(HUB_PATIENCE_MS)]);
      try {
        const answer = await callMethod(url, push.method, JSON.parse(push.params) as object, {
          apiKey,
          signal: patience
        });
        const { accepted, reason } = Object(answer) as { readonly accepted?: boolean; readonly reason?: string };
        if (accepted === false)
          log.info({ push: push.method, params: push.params }, `the hub did not take a push: ${reason}`);
        return;
      } catch (caught) {
        signal.throwIfAborted();
        if (caught instanceof AnsweredError && REFUSED_CODES.includes(caught.code)) {
          log.error({ push: push.method, params: push.params }, `the hub refused a push for good: ${caught.message}`);
          return;
        }
        reasons.push(`${host}:${port} ${reasonOf(caught)}`);
      }
    }
    const reason = reasons.join('; ');
    await noteFailure(pool, push.id, reason);
    throw new PlatformError('HUB_UNREACHABLE', { reason: `${push.method}: ${reason}` });
  }
}
