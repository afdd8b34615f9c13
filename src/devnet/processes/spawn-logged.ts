import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

/** Starts a program in a process group of its own; what it prints goes to the end of a file. */
export function spawnLogged(
  program: string,
  args: readonly string[],
  logFile: string,
  options: Omit<SpawnOptions, 'stdio' | 'detached'> = {}
): ChildProcess {
  const log = openSync(logFile, 'a');
  try {
    return spawn(program, args, { ...options, stdio: ['ignore', log, log], detached: true });
  } finally {
    closeSync(log);
  }
}
