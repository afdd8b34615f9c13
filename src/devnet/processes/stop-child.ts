import type { ChildProcess } from 'node:child_process';

const STOP_DEADLINE_MS = 30_000;

/** Stops a process, with SIGKILL when it takes too long. Returns when it is gone. */
export async function stopChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill(signal);
  const patience = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
  await gone;
  clearTimeout(patience);
}
