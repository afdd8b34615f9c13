import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeTemporaryDirectory } from '../../src/devnet/directory.ts';
import { startPlatform } from '../../src/devnet/platform.ts';
import { choosePorts, DEVNET, newApiKey } from '../../src/devnet/settings.ts';
import { type HostileOptions, type HostileReport, runHostile } from './run.ts';
import { TOLL } from './toll.ts';

const PROGRAM = fileURLToPath(new URL('../../scripts/platform-node', import.meta.url));

/** Payloads may be in taproot scripts, and decoders look for what is paid to TOLL. */
const PROFILE = {
  name: 'hostile',
  activations: { TAPROOT_ENVELOPE: 0 },
  roles: { [DEVNET.name]: { FEE_DESTINATION: TOLL } }
};

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
  const profile = join(directory, 'profile.json');
  writeFileSync(profile, JSON.stringify(PROFILE));
  const settings = { directory, seed, tell, profile, ports: await choosePorts({}), ...keys };
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
