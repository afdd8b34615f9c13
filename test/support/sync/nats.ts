import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { Objm } from '@nats-io/obj';
import { type Authenticator, connect } from '@nats-io/transport-node';
import { findProgram } from '../../../src/config/programs.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { stopChild } from '../../../src/devnet/processes/stop-child.ts';
import { atEnd } from '../cleanup.ts';
import { eventually, temporaryDirectory } from './sync-process.ts';

/** A message of a stream, with its body wherever that is. */
interface StreamMessage {
  readonly sequence: number;
  /** Its headers, without `Platform-` before their names. */
  readonly head: Readonly<Record<string, string>>;
  readonly text: string;
}

interface TestNatsOptions {
  /** A configuration file, and the environment that it names. */
  readonly file?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Proves who reads. */
  readonly authenticator?: Authenticator;
}

/** A nats-server of the calling test file's own, with JetStream on disk. */
export class TestNats {
  readonly url: string;
  readonly #port: number;
  readonly #directory = temporaryDirectory('nats');
  #child: ChildProcess | undefined;

  readonly #configuration: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #access: { readonly authenticator?: Authenticator };

  private constructor(port: number, { file, env = {}, authenticator }: TestNatsOptions) {
    this.#port = port;
    this.#configuration = file === undefined ? [] : ['-c', file];
    this.#env = env;
    this.#access = authenticator ? { authenticator } : {};
    this.url = `nats://127.0.0.1:${port}`;
  }

  static async start(options: TestNatsOptions = {}): Promise<TestNats> {
    const nats = new TestNats(await freePort(), options);
    atEnd(() => nats.end());
    await nats.start();
    return nats;
  }

  /** Starts it at its port, with what it had stored. */
  async start(): Promise<void> {
    const words = [...this.#configuration, '-a', '127.0.0.1', '-p', String(this.#port), '-js', '-sd', this.#directory];
    this.#child = spawn(findProgram('nats-server', ['/usr/sbin/nats-server', '/usr/local/bin/nats-server']), words, {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], ...this.#env }
    });
    await eventually('nats-server answers', async () => {
      const connection = await connect({ servers: this.url, reconnect: false, ...this.#access }).catch(() => null);
      await connection?.close();
      return connection !== null;
    });
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#child) await stopChild(this.#child, signal);
  }

  /** The value of this name that a server keeps; null when there is none. */
  async value(name: string): Promise<Record<string, unknown> | null> {
    const connection = await connect({ servers: this.url, reconnect: false, ...this.#access });
    try {
      return (await (await new Kvm(jetstream(connection)).open('PLATFORM')).get(name))?.json() ?? null;
    } finally {
      await connection.close();
    }
  }

  /** All messages of a stream, oldest first; none when there is no such stream. */
  async read(stream: string): Promise<StreamMessage[]> {
    const connection = await connect({ servers: this.url, reconnect: false, ...this.#access });
    try {
      const manager = await jetstreamManager(connection);
      const info = await manager.streams.info(stream).catch(() => null);
      const messages: StreamMessage[] = [];
      for (let sequence = info?.state.first_seq ?? 1; sequence <= (info?.state.last_seq ?? 0); sequence++) {
        const found = await manager.streams.getMessage(stream, { seq: sequence });
        if (!found) continue;
        const head = Object.fromEntries(
          [...found.header].map(([name, values]) => [name.replace('Platform-', ''), String(values[0])])
        );
        const body = head['Key']
          ? await (await new Objm(jetstream(connection)).open(head['Bucket']!)).getBlob(head['Key'])
          : found.data;
        const text = Buffer.from(body!).toString();
        if (createHash('sha256').update(text).digest('hex') !== head['Sha256']) throw new Error('a body was changed');
        messages.push({ sequence, head, text });
      }
      return messages;
    } finally {
      await connection.close();
    }
  }
}
