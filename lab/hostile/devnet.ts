import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { makeTemporaryDirectory } from '../../src/devnet/directory.ts';
import { startPlatform } from '../../src/devnet/platform.ts';
import { choosePorts, newApiKey } from '../../src/devnet/settings.ts';
import { type HostileOptions, type HostileReport, runHostile } from './run.ts';

const PROGRAM = fileURLToPath(new URL('../../scripts/platform-node', import.meta.url));

/** Starts a devnet, attacks it and stops it. Its directory is kept where there were faults. */
export async function hostileDevnet({
  seed,
  tell,
  ...options
}: Omit<HostileOptions, 'signal'> & {
  readonly seed: string;
  readonly tell: (line: string) => void;
}): Promise<HostileReport & { readonly directory: string }> {
  const directory = makeTemporaryDirectory();
  const keys = { apiKey: newApiKey(), hubs: [], shell: process.env, program: [PROGRAM] as const };
  const settings = { directory, seed, tell, ports: await choosePorts({}), ...keys };
  const ending = new AbortController();
  const platform = await startPlatform(settings, ending.signal);
  try {
    const work = runHostile(platform, settings, { ...options, signal: ending.signal });
    work.catch(() => undefined); // told by the race
    const report = await Promise.race([work, platform.death]);
    if (report.faults.length === 0) rmSync(directory, { recursive: true, force: true });
    return { ...report, directory };
  } finally {
    ending.abort();
    await platform.stop();
  }
}
