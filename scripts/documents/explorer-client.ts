import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { explorerVariables } from '../../src/config/services/explorer.ts';
import { createExplorerApp } from '../../src/explorer/app.ts';
import { ONE_NETWORK } from '../../src/explorer/routes/api.ts';
import { silentLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { openServiceBase } from '../../src/service/base.ts';
import { NO_ACTORS } from '../../src/service/no-actors.ts';
import type { OpenApi } from '../../src/service/openapi.ts';
import { ROOT } from '../root.ts';

/** Path of the types of an explorer's requests and answers, for clients. */
export const TYPES_FILE = join(ROOT, 'docs', 'examples', 'explorer-api.ts');

/** Packages that make the types. They need an older compiler than this project: npm fetches both when they are used. */
const PACKAGES = ['openapi-typescript@7.13.0', 'typescript@5.9.3'];

/** Returns `/openapi.json` of an explorer without the paths that omit the network's code: they repeat the others. */
export async function explorerDocument(): Promise<string> {
  const { values: config } = loadConfig(explorerVariables, {
    env: { NETWORK: 'LTC' },
    unneeded: () => Object.keys(explorerVariables)
  });
  const base = await openServiceBase('explorer', undefined, createMetrics({ service: 'explorer', actors: () => [] }));
  const app = createExplorerApp({
    ...base,
    config,
    log: silentLogger,
    actors: NO_ACTORS,
    coins: () => [],
    hubAgeS: () => null
  });
  const { body } = await app.inject('/openapi.json');
  await app.close();
  await base.close();
  const document = JSON.parse(body) as OpenApi;
  const isOwn = (path: OpenApi['paths'][string]) => !Object.values(path).some(({ tags }) => tags.includes(ONE_NETWORK));
  const paths = Object.entries(document.paths).filter(([, path]) => isOwn(path));
  return JSON.stringify({ ...document, paths: Object.fromEntries(paths) });
}

/**
 * Returns the file's first line, with a digest of the document. The version of the program alone does not change the
 * types, nor the digest.
 */
export function headOf(document: string): string {
  const { info: _, ...described } = JSON.parse(document) as Record<string, unknown>;
  const digest = createHash('sha256').update(JSON.stringify(described)).digest('hex');
  return `// Made by \`npm run client\` from the document with the SHA-256 ${digest}.\n`;
}

async function writeTypes(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-client-'));
  try {
    const [source, made] = [join(directory, 'openapi.json'), join(directory, 'types.ts')];
    const document = await explorerDocument();
    writeFileSync(source, document);
    const packages = PACKAGES.map((name) => `--package=${name}`);
    execFileSync('npm', ['exec', '--yes', ...packages, '--', 'openapi-typescript', source, '--output', made], {
      cwd: directory,
      stdio: ['ignore', 'inherit', 'inherit']
    });
    writeFileSync(TYPES_FILE, headOf(document) + readFileSync(made, 'utf8'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (import.meta.main) await writeTypes();
