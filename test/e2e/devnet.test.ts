import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PATIENCE_MS } from '../support/patience.ts';
import { noteSecrets, recordFile } from '../support/records.ts';

const COMMAND_LINE = fileURLToPath(new URL('../../scripts/platform-node', import.meta.url));
const WALLET = fileURLToPath(new URL('../../docs/examples/wallet.sh', import.meta.url));
const RUN_DEADLINE_MS = 180_000;

interface Run {
  readonly child: ChildProcess;
  readonly stdout: string[];
  readonly stderr: string[];
  /** Resolves with the first line of either output that matches. */
  line(pattern: RegExp, deadlineMs: number): Promise<string>;
  exit(deadlineMs: number): Promise<number | null>;
}

const started: ChildProcess[] = [];
after(() => {
  for (const child of started) child.kill('SIGTERM');
});

function startDevnet(...args: string[]): Run {
  const child = spawn(COMMAND_LINE, ['devnet', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  started.push(child);
  const watchers = new Set<(line: string) => void>();
  const collect = (stream: NodeJS.ReadableStream): string[] => {
    const lines: string[] = [];
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const watch of watchers) watch(line);
    });
    return lines;
  };
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const within = async <T>(promise: Promise<T>, ms: number, what: string): Promise<T> => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () =>
        late.reject(
          new Error(`${what} did not happen within ${ms} ms; it said:\n${[...stdout, ...stderr].slice(-20).join('\n')}`)
        ),
      ms
    );
    return await Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
  };
  return {
    child,
    stdout,
    stderr,
    line: (pattern, ms) =>
      within(
        new Promise((resolve, reject) => {
          watchers.add((line) => pattern.test(line) && resolve(line));
          exited.then(
            (code) => reject(new Error(`ended with ${code}; it said:\n${stderr.slice(-20).join('\n')}`)),
            reject
          );
        }),
        ms,
        String(pattern)
      ),
    exit: (ms) => within(exited, ms, 'the end')
  };
}

/** Processes that work in the directory or were started for it. */
function processesOf(directory: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        const inDirectory = readlinkSync(`/proc/${pid}/cwd`).startsWith(`${directory}/`);
        return inDirectory || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${directory}/`);
      } catch {
        return false; // it ended meanwhile
      }
    })
    .map(Number);
}

/** Keeps the logs of its services, with the secrets in the environment of its processes. (The devnet itself tells its key to who started it.) */
function recordServices(directory: string): void {
  for (const pid of processesOf(directory)) {
    const pairs = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    noteSecrets(Object.fromEntries(pairs.map((pair) => pair.split('=', 2) as [string, string])));
  }
  const logs = join(directory, 'logs');
  for (const name of readdirSync(logs)) recordFile(join(logs, name), {});
}

/** The example in the documents: it issues a token and sends 5 of the 5,000 that it minted, with a long memo in two transactions. */
async function useWallet(...services: readonly string[]): Promise<void> {
  const { stdout } = await promisify(execFile)(WALLET, services, { timeout: RUN_DEADLINE_MS });
  const lines = stdout.trim().split('\n');
  assert.match(lines[0]!, /^ISSUE\|0\|WALLET\d+\|.* in [0-9a-f]{64}$/);
  assert.match(lines[1]!, /"amount":"5000(?:\.00)?"/, stdout);
  assert.match(lines[2]!, /^SEND\|0\|WALLET\d+\|5\|rltc1\w+\|(?:thanks){30} in [0-9a-f]{64}$/);
  assert.match(lines[3]!, /"amount":"5(?:\.00)?"/, stdout);
}

test('a wallet of curl issues and sends; Ctrl-C leaves no process; the next start continues, until a part ends by itself', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'platform-devnet-e2e-'));
  const start = async () => {
    const run = startDevnet('--dir', directory, '--interval', '300');
    await run.line(/all parts run/, PATIENCE_MS);
    const line = await run.line(/^node \d+ .*replicas: decoder \d+, indexer \d+/, PATIENCE_MS);
    // MariaDB, litecoind, and five services with a guardian each.
    assert.ok(processesOf(directory).length >= 12, `${processesOf(directory).length} processes`);
    recordServices(directory);
    const addressOf = (service: string) =>
      new RegExp(`^${service}: (\\S+)`, 'm').exec([...run.stdout, ...run.stderr].join('\n'))![1]!;
    return { run, height: Number(/^node (\d+)/.exec(line)?.[1]), addressOf };
  };
  const assertHeld = async (explorer: string) => {
    const holders = await (await fetch(`${explorer}/api/holders/DEV1`)).json();
    assert.ok((holders as { data: readonly unknown[] }).data.length > 0, JSON.stringify(holders));
  };
  try {
    const first = await start();
    await useWallet(first.addressOf('miner'), first.addressOf('encoder'), first.addressOf('explorer'));
    await assertHeld(first.addressOf('explorer'));
    first.run.child.kill('SIGINT');
    assert.equal(await first.run.exit(PATIENCE_MS), 0, first.run.stderr.join('\n'));
    assert.deepEqual(processesOf(directory), []);

    const second = await start();
    assert.ok(second.height > first.height, `heights ${first.height}, ${second.height}`);
    await assertHeld(second.addressOf('explorer'));
    process.kill(Number(readFileSync(join(directory, 'litecoind/data/regtest/bitcoind.pid'), 'utf8')), 'SIGKILL');
    assert.equal(await second.run.exit(PATIENCE_MS), 70, 'PROCESS_EXITED');
    assert.match(second.run.stderr.join('\n'), /platform-node devnet: litecoind ended; its log is .*debug\.log/);
    assert.deepEqual(processesOf(directory), []);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
