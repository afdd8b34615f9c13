import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import type { Kvm } from '@nats-io/kv';
import type { Objm } from '@nats-io/obj';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger } from '../../log.ts';

/** Milliseconds before the next attempt to connect: first, then at most. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;
const CONNECT_TIMEOUT_MS = 5_000;
const PING_INTERVAL_MS = 5_000;

export interface LinkOptions {
  /** `nats://` or `tls://` addresses of one cluster, without credentials. */
  readonly urls: readonly string[];
  /** Path of a file with the seed of an nkey, or with credentials (a JWT and its seed). */
  readonly creds: string | undefined;
  readonly token: string | undefined;
  readonly log: Logger;
}

/** One connection to NATS, as long as it stands. */
export interface Nats {
  readonly streams: JetStreamManager;
  readonly messages: JetStreamClient;
  readonly values: Kvm;
  readonly objects: Objm;
  /** Aborted when the connection is gone. */
  readonly lost: AbortSignal;
}

/**
 * The process's connection to NATS: kept up from the start, and made anew after a loss, for as long as it takes.
 *
 * Nothing waits in it for a connection: who publishes asks `current` and begins again from what the stream has.
 */
export class NatsLink {
  readonly #options: LinkOptions;
  readonly #stopping = new AbortController();
  readonly #changes = new EventTarget();
  readonly #running: Promise<void>;
  #current: Nats | null = null;
  #reason: string | null = 'not connected yet';

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Null while there is no connection. */
  get current(): Nats | null {
    return this.#current;
  }

  /** Reason why there is no connection; null while there is one. */
  get reason(): string | null {
    return this.#reason;
  }

  /** Waits for a connection. @throws {Error} when the signal is aborted */
  async connected(signal: AbortSignal): Promise<Nats> {
    while (!this.#current) await once(this.#changes, 'up', { signal });
    return this.#current;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        await this.#live();
        pauseMs = FIRST_PAUSE_MS;
      } catch (caught) {
        this.#fail(caught);
      }
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    }
  }

  /** Keeps one connection, from its first to its last moment. */
  async #live(): Promise<void> {
    const { log, urls } = this.#options;
    const connection = await this.#connect();
    const lost = new AbortController();
    const stop = () => void connection.close();
    this.#stopping.signal.addEventListener('abort', stop, { once: true });
    try {
      if (this.#stopping.signal.aborted) return;
      const [{ jetstream, jetstreamManager }, { Kvm: Values }, { Objm: Objects }] = await Promise.all([
        import('@nats-io/jetstream'),
        import('@nats-io/kv'),
        import('@nats-io/obj')
      ]);
      // The account need not be allowed to read its own limits.
      const streams = await jetstreamManager(connection, { checkAPI: false });
      const messages = jetstream(connection);
      const [values, objects] = [new Values(messages), new Objects(messages)];
      this.#current = { streams, messages, values, objects, lost: lost.signal };
      this.#reason = null;
      log.info({ server: connection.getServer() }, 'connected to NATS');
      this.#changes.dispatchEvent(new Event('up'));
      const cause = await connection.closed();
      if (!this.#stopping.signal.aborted) this.#fail(cause ?? new Error(`the connection to ${urls.join(', ')} ended`));
    } finally {
      this.#current = null;
      lost.abort();
      this.#stopping.signal.removeEventListener('abort', stop);
      await connection.close();
    }
  }

  async #connect(): Promise<NatsConnection> {
    const { urls, creds, token } = this.#options;
    const { connect, credsAuthenticator, nkeyAuthenticator } = await import('@nats-io/transport-node');
    const secret = creds === undefined ? undefined : await readFile(creds);
    const isSeed = secret !== undefined && /^SU[A-Z2-7]+$/.test(secret.toString().trim());
    return connect({
      servers: [...urls],
      name: 'platform-node sync',
      timeout: CONNECT_TIMEOUT_MS,
      pingInterval: PING_INTERVAL_MS,
      // The client would send what it has buffered after a loss, though the stream may have moved on meanwhile.
      reconnect: false,
      ...(secret && {
        authenticator: isSeed ? nkeyAuthenticator(Buffer.from(secret.toString().trim())) : credsAuthenticator(secret)
      }),
      ...(token && { token }),
      ...(urls.some((url) => url.startsWith('tls://')) && { tls: {} })
    });
  }

  #fail(cause: unknown): void {
    const reason = `NATS cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}`;
    if (this.#reason !== reason) this.#options.log.warn({ err: cause }, reason);
    this.#reason = reason;
  }
}
