import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { recordFile } from '../../test/support/records.ts';

const COMMAND_LINE = fileURLToPath(new URL('../../scripts/platform-node', import.meta.url));
/** Like a unit with `Restart=always`. */
const RESTART_MS = 200;
/** A service that lost its guardian may take so long to end. */
const ORPHAN_DEADLINE_MS = 20_000;
const STOP_DEADLINE_MS = 25_000;
const ASK_AGAIN_MS = 10_000;
/** Names what this run started, in the environment of each process. */
export const MARK = 'PLATFORM_CHAOS_RUN';

/** A service with its guardian, as an operator's init system runs it: whenever the guardian is gone it is started again. */
export class Service {
  readonly name: string;
  readonly url: string;
  readonly #command: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #directory: string;
  readonly #key: string;
  #guardian: ChildProcess | null = null;
  #ending = false;
  /** Work to do before the next start. */
  #meanwhile: (() => Promise<void>) | null = null;
  #life: Promise<void> = Promise.resolve();
  /** Promises that were broken, in sentences. */
  readonly violations: string[] = [];

  constructor(of: {
    name: string;
    command: string;
    url: string;
    key: string;
    directory: string;
    env: Record<string, string>;
  }) {
    this.name = of.name;
    this.url = of.url;
    this.#command = of.command;
    this.#env = of.env;
    this.#directory = of.directory;
    this.#key = of.key;
  }

  start(): void {
    closeSync(openSync(this.#logFile, 'a'));
    recordFile(this.#logFile, this.#env);
    this.#life = this.#live();
  }

  async #live(): Promise<void> {
    while (!this.#ending) {
      const output = await open(this.#logFile, 'a');
      const guardian = spawn(COMMAND_LINE, [this.#command], {
        cwd: this.#directory,
        env: {
          PATH: process.env['PATH'],
          PLATFORM_NODE_NO_TELEMETRY: '1',
          NODE_OPTIONS: '--inspect-port=127.0.0.1:0',
          ...this.#env
        },
        stdio: ['ignore', output.fd, output.fd]
      });
      this.#guardian = guardian;
      await output.close();
      const service = () => childOf(guardian.pid!);
      let last: number | null = null;
      const watching = setInterval(() => (last = service() ?? last), 100);
      await new Promise((resolve) => guardian.once('exit', resolve));
      clearInterval(watching);
      for (const deadline = Date.now() + ORPHAN_DEADLINE_MS; last && isAlive(last); await sleep(50)) {
        if (Date.now() < deadline) continue;
        this.violations.push(`${this.name}: the service outlived its guardian`);
        process.kill(last, 'SIGKILL');
        last = null;
      }
      if (!this.#ending) await sleep(RESTART_MS);
      await this.#meanwhile?.();
      this.#meanwhile = null;
    }
  }

  get guardianPid(): number | null {
    return this.#guardian?.exitCode === null && this.#guardian.signalCode === null ? this.#guardian.pid! : null;
  }

  /** The service's own process; null while there is none. */
  get pid(): number | null {
    return this.guardianPid === null ? null : childOf(this.guardianPid);
  }

  get #logFile(): string {
    return join(this.#directory, `${this.name}.log`);
  }

  log(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  async get(path: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.#key}` };
    try {
      const response = await fetch(`${this.url}${path}`, { headers, signal: AbortSignal.timeout(2_000) });
      return response.ok ? ((await response.json()) as Record<string, unknown>) : null;
    } catch {
      return null;
    }
  }

  async post(path: string): Promise<boolean> {
    const headers = { authorization: `Bearer ${this.#key}` };
    const signal = AbortSignal.timeout(2_000);
    return fetch(`${this.url}${path}`, { method: 'POST', headers, signal }).then(
      ({ ok }) => ok,
      () => false
    );
  }

  /** Asks a JSON-RPC service. @returns null when it does not answer */
  async rpc(method: string): Promise<unknown> {
    return fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
      signal: AbortSignal.timeout(2_000)
    }).then(
      (response) => response.json(),
      () => null
    );
  }

  /** Stops it in order, and has something done before its guardian is started again. @returns false: it is doing so already */
  async restart(meanwhile: () => Promise<void>): Promise<boolean> {
    if (this.#meanwhile) return false;
    const done = Promise.withResolvers<void>();
    this.#meanwhile = () => meanwhile().then(done.resolve, done.reject);
    const ask = () => this.#guardian?.kill('SIGTERM');
    ask();
    // The first word may have reached one that was about to end.
    const again = setInterval(ask, ASK_AGAIN_MS);
    await done.promise.finally(() => clearInterval(again));
    return true;
  }

  async stop(): Promise<void> {
    this.#ending = true;
    const guardian = this.#guardian;
    const patience = setTimeout(() => {
      this.violations.push(`${this.name}: did not stop on SIGTERM within ${STOP_DEADLINE_MS / 1000} s`);
      for (const pid of [this.pid, this.guardianPid]) if (pid) process.kill(pid, 'SIGKILL');
    }, STOP_DEADLINE_MS);
    if (this.guardianPid !== null) guardian?.kill('SIGTERM');
    await this.#life;
    clearTimeout(patience);
  }
}

export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function childOf(pid: number): number | null {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? null : Number(children.split(' ')[0]);
  } catch {
    return null;
  }
}

/** Every living process that carries this mark, with its command line. */
export function processesOf(mark: string): { readonly pid: number; readonly command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        if (!readFileSync(`/proc/${name}/environ`, 'utf8').split('\0').includes(`${MARK}=${mark}`)) return [];
        if (!isAlive(Number(name))) return [];
        return [{ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ') }];
      } catch {
        return [];
      }
    });
}
