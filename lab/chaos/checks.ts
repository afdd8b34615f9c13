import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../src/db/connection.ts';
import { appendBlocks } from '../../test/support/sync/generated-indexer.ts';
import { differences } from '../../test/support/sync/sync-pair.ts';
import { eventually } from '../../test/support/sync/sync-process.ts';
import { judgeIndexer } from './indexed.ts';
import type { Service } from './service.ts';
import { EPOCH, type Indexed, isIndexed, type System } from './system.ts';

const SETTLE_DEADLINE_MS = 120_000;
/** Growth that a process may have: pools and caches fill. */
const MORE_MEMORY_MB = 200;
const MORE_FILES = 60;
const MORE_THREADS = 8;
const REST_MS = 3_000;
/** Memory that nobody uses goes back late, when the collector comes by. */
const RETURN_DEADLINE_MS = 60_000;

interface Footprint {
  readonly memoryMb: number;
  readonly threads: number;
  readonly files: number;
}

/** Returns the present footprint of each service. */
export function measure({ services }: System): ReadonlyMap<Service, Footprint> {
  return new Map(services.flatMap((service) => (service.pid === null ? [] : [[service, footprint(service.pid)]])));
}

function footprint(pid: number): Footprint {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const figure = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return {
    memoryMb: figure('VmRSS') / 1_024,
    threads: figure('Threads'),
    files: readdirSync(`/proc/${pid}/fd`).length
  };
}

/** @returns what is not as it must be, in sentences */
export async function checkAfterwards(system: System, before: ReadonlyMap<Service, Footprint>): Promise<string[]> {
  const found = [...system.violations, ...system.subscribers.flatMap(({ violations }) => violations)];
  // What changed in rows that are far below the tip is found at the end of an epoch.
  const height = await appendBlocks(system.source, EPOCH - ((await system.sourceHeight()) % EPOCH), 'peace');
  found.push(...(await system.settle(height, SETTLE_DEADLINE_MS)));
  for (const replica of system.clients) {
    const verdict = await system.compare(replica);
    if (!verdict.equal) found.push(`${replica.service.name} differs: ${JSON.stringify(differences(verdict))}`);
  }
  if (system.indexed) found.push(...(await checkIndexer(system.indexed)));
  const left = async () => {
    await sleep(REST_MS);
    const now = measure(system);
    return [...before].flatMap(([service, then]) => grown(service, then, now.get(service)));
  };
  const deadline = Date.now() + RETURN_DEADLINE_MS;
  let more = await left();
  while (more.length > 0 && Date.now() < deadline) more = await left();
  found.push(...more);
  found.push(...(await strangers(system)));
  return found;
}

async function checkIndexer({ service, decoder, indexer }: Indexed): Promise<string[]> {
  const isThere = await eventually('the indexer has all blocks', SETTLE_DEADLINE_MS, () => isIndexed(service)).then(
    () => true,
    () => false
  );
  if (!isThere) return [`the indexer has not all blocks: ${JSON.stringify(await service.rpc('health'))}`];
  return await judgeIndexer(decoder, indexer);
}

function grown({ name }: Service, then: Footprint, now: Footprint | undefined): string[] {
  if (!now) return [`${name}: there is no process`];
  const faults: string[] = [];
  if (now.memoryMb > then.memoryMb + MORE_MEMORY_MB)
    faults.push(`${name}: ${Math.round(now.memoryMb)} MB resident, ${Math.round(then.memoryMb)} at the start`);
  if (now.threads > then.threads + MORE_THREADS)
    faults.push(`${name}: ${now.threads} threads, ${then.threads} at the start`);
  if (now.files > then.files + MORE_FILES) faults.push(`${name}: ${now.files} open files, ${then.files} at the start`);
  return faults;
}

/** Connections in which something runs though there is nothing to do. */
async function strangers(system: System): Promise<string[]> {
  const connection = await connect(system.mariadb.root);
  const found = await rows<{ info: string; seconds: number }>(
    connection,
    "SELECT info, time AS seconds FROM information_schema.PROCESSLIST WHERE command = 'Query' AND time > 10 AND id <> CONNECTION_ID() AND user = 'platform'"
  );
  await connection.end();
  return found.map(({ info, seconds }) => `a statement runs for ${seconds} s: ${info}`);
}
