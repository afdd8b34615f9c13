import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename } from 'node:path';

const [wanted, ...options] = process.argv.slice(2);
const benches = new Map(globSync('lab/bench/*.ts').map((file) => [basename(file, '.ts'), file]));
const file = benches.get(wanted ?? '');

if (file === undefined) {
  console.error(
    `usage: npm run bench -- <${[...benches.keys()].sort().join('|')}> [options]\n--help behind a name says which options`
  );
  process.exitCode = 64;
} else {
  // As scripts/platform-node sets it for the services, and before the process begins, for the pool's size is fixed then.
  const env = { UV_THREADPOOL_SIZE: '8', ...process.env };
  process.exitCode = spawnSync(process.execPath, [file, ...options], { stdio: 'inherit', env }).status ?? 1;
}
