import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { atEnd } from '../../../../test/support/cleanup.ts';

const ANSWER_DEADLINE_MS = 60_000;

/** Another process of a bench, asked one thing after another. */
export class Helper<Ask extends { readonly type: string }> {
  readonly child: ChildProcess;
  readonly #waiting: ((reply: unknown) => void)[] = [];

  /** @param file beside this one @param env variables beside those of this process */
  constructor(file: string, env: Readonly<Record<string, string>> = {}) {
    const path = fileURLToPath(new URL(`./${file}`, import.meta.url));
    const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const;
    this.child = fork(path, { serialization: 'advanced', stdio: [...stdio], env: { ...process.env, ...env } });
    this.child.on('message', (reply) => this.#waiting.shift()?.(reply));
    atEnd(async () => this.end());
  }

  async ask<T = null>(message: Ask): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push(resolve);
    const late = setTimeout(() => reject(new Error(`no answer to ${message.type}`)), ANSWER_DEADLINE_MS);
    this.child.send(message);
    return promise.then((reply) => reply as T).finally(() => clearTimeout(late));
  }

  /** Lets it compute in time that nobody else wants: who attacks a service in the field does not share its cores. */
  giveWay(): this {
    setPriority(this.child.pid!, constants.priority.PRIORITY_LOW);
    return this;
  }

  end(): void {
    this.child.kill('SIGKILL');
  }
}

/** CPU time that a process has used. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Memory of a process, in MB of 2^20 bytes: what it holds now, or the most since its peak was forgotten. */
export function memoryMb(pid: number, which: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${which}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
}
