import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Stops a process; every thread of it stands still when this returns, which the signal alone does not wait for. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const deadline = Date.now() + 10_000;
  while (!threadStates(pid).every((state) => state === 'T')) {
    if (Date.now() > deadline) throw new Error(`process ${pid} does not stop: ${threadStates(pid).join('')}`);
    await sleep(1);
  }
}

export function thaw(pid: number): void {
  process.kill(pid, 'SIGCONT');
}

/** The letters that the kernel shows for a process's threads. */
function threadStates(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    try {
      return /\) (\S)/.exec(readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8'))?.[1] ?? [];
    } catch {
      return []; // it has ended
    }
  });
}
