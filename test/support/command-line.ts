import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PATIENCE_MS } from './patience.ts';
import { recordPipes } from './records.ts';

const COMMAND_LINE = fileURLToPath(new URL('../../scripts/platform-node', import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line to its end, in an empty directory and with no variables but PATH and the given ones. */
export async function runCommandLine(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {}
): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-cli-'));
  try {
    const child = spawn(COMMAND_LINE, args, {
      cwd: directory,
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: PATIENCE_MS
    });
    recordPipes(child, env);
    const [stdout, stderr, code] = await Promise.all([
      readAll(child.stdout),
      readAll(child.stderr),
      new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
    ]);
    return { code, stdout, stderr };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
