import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Pid files of MariaDB, litecoind and NATS. The services end by themselves when the devnet is gone. */
const PID_FILES = ['mariadb/mariadb.pid', 'litecoind/data/regtest/bitcoind.pid', 'nats/nats.pid'];
const STOP_DEADLINE_MS = 20_000;

/** Stops processes that a killed devnet left running in its directory, and no others, whatever its pid files say. */
export async function stopLeftovers(directory: string): Promise<void> {
  for (const file of PID_FILES) {
    const path = join(directory, file);
    const pid = existsSync(path) ? Number.parseInt(readFileSync(path, 'utf8'), 10) : 0;
    if (!isOurs(pid, directory)) continue;
    process.kill(pid, 'SIGTERM');
    const deadline = performance.now() + STOP_DEADLINE_MS;
    while (isOurs(pid, directory) && performance.now() < deadline) await sleep(50);
    if (isOurs(pid, directory)) process.kill(pid, 'SIGKILL');
  }
}

/** Returns whether the process lives and was started for this directory: its number may have been reused. */
function isOurs(pid: number, directory: string): boolean {
  try {
    return pid > 0 && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${directory}/`);
  } catch {
    return false;
  }
}
