import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { findProgram } from '../../src/config/programs.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { stopChild } from '../../src/devnet/processes/stop-child.ts';
import { atEnd } from '../../test/support/cleanup.ts';
import { GUARDED_CONFIGURATION, makeNatsKeys, type NatsKeys } from '../../test/support/sync/guarded-nats.ts';
import { eventually, temporaryDirectory } from '../../test/support/sync/sync-process.ts';

const SERVERS = 3;
const PROGRAMS = ['/usr/sbin/nats-server', '/usr/local/bin/nats-server'];
const CONNECT_MS = 2_000;

/** One nats-server of the cluster. */
export class NatsNode {
  readonly name: string;
  readonly url: string;
  readonly #configuration: string;
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;

  /** @param disk where it stores streams. @param env variables with the users' keys */
  constructor(
    at: number,
    ports: readonly number[],
    routes: readonly number[],
    disk: string,
    env: Readonly<Record<string, string>>
  ) {
    this.#env = env;
    this.name = `nats-${at + 1}`;
    this.url = `nats://127.0.0.1:${ports[at]}`;
    this.#configuration = join(disk, 'nats-server.conf');
    const peers = routes.map((port) => `nats://127.0.0.1:${port}`).join(', ');
    // Clients come by links of their own, which can be cut: no server names the addresses of the others to them.
    writeFileSync(
      this.#configuration,
      `server_name: ${this.name}
listen: 127.0.0.1:${ports[at]}
jetstream { store_dir: "${join(disk, 'store')}", max_file_store: 256MB, max_memory_store: 16MB }
cluster { name: platform, listen: 127.0.0.1:${routes[at]}, no_advertise: true, routes: [${peers}] }
${readFileSync(GUARDED_CONFIGURATION, 'utf8')}`
    );
    atEnd(() => this.end());
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  start(): void {
    this.#child = spawn(findProgram('nats-server', PROGRAMS), ['-c', this.#configuration], {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], ...this.#env }
    });
  }

  async end(): Promise<void> {
    if (this.#child) await stopChild(this.#child, 'SIGKILL');
  }
}

/** Three nats-servers, each with a copy of each stream; two of them suffice. */
export class NatsCluster {
  readonly nodes: readonly NatsNode[];
  readonly keys: NatsKeys;

  private constructor(nodes: readonly NatsNode[], keys: NatsKeys) {
    this.nodes = nodes;
    this.keys = keys;
  }

  /** @param disk place of the first server's streams; null: a directory like those of the others */
  static async start(disk: string | null): Promise<NatsCluster> {
    const ports = await Promise.all(Array.from({ length: SERVERS }, freePort));
    const routes = await Promise.all(Array.from({ length: SERVERS }, freePort));
    const keys = makeNatsKeys();
    const nodes = ports.map(
      (_, at) => new NatsNode(at, ports, routes, at === 0 && disk ? disk : temporaryDirectory('nats'), keys.env)
    );
    for (const node of nodes) node.start();
    const cluster = new NatsCluster(nodes, keys);
    await eventually('JetStream has a leader', () => cluster.isReady());
    return cluster;
  }

  async isReady(): Promise<boolean> {
    return this.#ask((manager) => manager.getAccountInfo()).then(
      () => true,
      () => false
    );
  }

  /** The server that leads a stream; undefined while none does. */
  async leaderOf(stream: string): Promise<NatsNode | undefined> {
    const info = await this.#ask((manager) => manager.streams.info(stream)).catch(() => undefined);
    return this.nodes.find(({ name }) => name === info?.cluster?.leader);
  }

  async #ask<T>(work: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>): Promise<T> {
    const servers = this.nodes.map(({ url }) => url);
    const connection = await connect({
      servers,
      reconnect: false,
      timeout: CONNECT_MS,
      authenticator: this.keys.asReader
    });
    try {
      return await work(await jetstreamManager(connection, { timeout: CONNECT_MS }));
    } finally {
      await connection.close();
    }
  }
}
