import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads';
import { PlatformError, type WireError } from '../src/errors.ts';
import { entryUrl } from '../src/program.ts';
import { type AskOptions, Channel, type Exchange, type Handlers, type Protocol } from './channel.ts';
import type { HostAsks } from './notices.ts';

/** What the thread of a kind of actor starts from. */
export function actorEntry(kind: 'decoder' | 'replica' | 'source'): URL {
  return entryUrl(`actors/${kind}-actor`);
}

export interface HandleOptions<ToMain extends Protocol> {
  readonly entry: URL;
  /** Shown by debuggers and in traces. */
  readonly name: string;
  readonly workerData: unknown;
  readonly resourceLimits?: ResourceLimits;
  readonly handlers: Handlers<ToMain>;
  readonly onNotice: (type: string, body: unknown) => void;
  readonly onFault: (error: PlatformError, type: string) => void;
  /** Sees each ask of either side when it is settled. */
  readonly onMessage?: (exchange: Exchange) => void;
  readonly mailboxLimit: number;
}

/** The main thread's end of one actor: its thread, the channel to it, and its death. */
export class ActorHandle<ToActor extends Protocol = Protocol, ToMain extends Protocol = Protocol> {
  readonly #thread: Worker;
  readonly #channel: Channel<ToMain, ToActor & HostAsks>;
  readonly #exited = Promise.withResolvers<PlatformError>();
  #fault: PlatformError | undefined;

  constructor(options: HandleOptions<ToMain>) {
    const { entry, name, workerData, resourceLimits = {} } = options;
    this.#thread = new Worker(entry, { name, workerData, resourceLimits });
    this.#channel = new Channel(this.#thread, {
      handlers: options.handlers,
      mailboxLimit: options.mailboxLimit,
      onFault: options.onFault,
      ...(options.onMessage ? { onExchange: options.onMessage } : {}),
      onNotice: (type, body) => {
        if (type === 'fault') this.#fault = PlatformError.fromWire(body as WireError);
        else options.onNotice(type, body);
      }
    });
    this.#thread.once('error', (cause) => {
      this.#fault ??= PlatformError.from(cause, 'ACTOR_EXITED');
    });
    this.#thread.once('exit', (exitCode) => this.#die(exitCode));
  }

  /** Fulfilled when the thread is gone, with what ended it: the error it reported, else ACTOR_EXITED. Never rejects. */
  get exited(): Promise<PlatformError> {
    return this.#exited.promise;
  }

  /** @throws {PlatformError} ACTOR_TIMEOUT, ACTOR_EXITED, or whatever the actor itself threw */
  ask<K extends keyof (ToActor & HostAsks) & string>(
    type: K,
    body: (ToActor & HostAsks)[K]['request'],
    options?: AskOptions
  ): Promise<(ToActor & HostAsks)[K]['reply']> {
    return this.#channel.ask(type, body, options);
  }

  tell(type: string, body: unknown, transfer?: readonly Transferable[]): void {
    this.#channel.tell(type, body, transfer);
  }

  /** Ends the thread at once. A statement that it had running may go on in MariaDB. */
  async terminate(): Promise<void> {
    await this.#thread.terminate();
  }

  #die(exitCode: number): void {
    const reason = this.#fault ? this.#fault.message : 'the thread ended';
    const death = new PlatformError('ACTOR_EXITED', { reason, exitCode }, { cause: this.#fault });
    this.#channel.close(death);
    this.#exited.resolve(this.#fault ?? death);
  }
}
