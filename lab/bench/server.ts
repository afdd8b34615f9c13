import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { connect } from '../../src/db/connection.ts';
import { planSnapshot } from '../../src/replication/source/reading/snapshot-plan.ts';
import { lookupDigest } from '../../src/replication/tables/lookup-digest.ts';
import { readLayout } from '../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import type { SnapshotQuery } from '../../src/wire/data/snapshot.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { sql } from '../../test/support/sql.ts';
import { PAIR_KEY, startPair } from '../../test/support/sync/sync-pair.ts';
import { eventually, type SyncProcess, temporaryDirectory } from '../../test/support/sync/sync-process.ts';
import { createSource } from './support/dataset.ts';
import { alternate, type Figure, median, p99, report } from './support/figures.ts';
import { chooseParts, type DatasetSize, readRows, sizeText } from './support/parts.ts';
import { memoryMb } from './support/processes/helper.ts';
import { type Read, readFast } from './support/processes/reader.ts';

const RUNS = 3;
/** Runs of work that takes a few milliseconds, of which a single pause of the machine would be most. */
const SHORT_RUNS = 101;
const READERS = 32;
/** Runs of many readers at once: the first one has the compiling after a start, and some have a pause of the machine. */
const CROWD_RUNS = 9;
/** After its body has been sent, a build reads checksums for this long at most: they belong to its rows. */
const CHECKSUMS_MS = 100;
const SINCE_BLOCKS = 100;
const LARGE_ROWS = 5_000_000;
const READY_DEADLINE_MS = 120_000;
const SNAPSHOT = '/snapshot/indexer/litecoin/regtest';
const KEY = { authorization: `Bearer ${PAIR_KEY}` };
const GZIP = { ...KEY, 'accept-encoding': 'gzip' };
const ZSTD = { ...KEY, 'accept-encoding': 'zstd, gzip;q=0.5' };

/** A sync server over a dataset of its own. */
interface Site {
  readonly source: DatabaseCoordinates;
  readonly server: SyncProcess;
  readonly snapshots: string;
  readonly rows: string;
  readonly writeBlock: () => Promise<void>;
}

async function openSite(size: DatasetSize): Promise<Site> {
  const source = await createDatabase('bench');
  const writeBlock = await createSource(source, size);
  const snapshots = temporaryDirectory('bench-snapshots');
  const { server } = await startPair('indexer', source, {
    LOG_LEVEL: 'info',
    SNAPSHOT_CACHE_DIR: snapshots,
    SNAPSHOT_RATE_FULL: 100_000,
    BLOCK_POLL_INTERVAL: 250
  });
  const site = { source, server, snapshots, rows: sizeText(size), writeBlock };
  await isQuiet(site);
  return site;
}

/** Waits until the server has nothing to do. */
async function isQuiet({ source, server }: Site): Promise<void> {
  const [tip] = await sql(source, 'SELECT MAX(block_index) AS height FROM blocks');
  await eventually('the server has caught up', READY_DEADLINE_MS, async () => {
    const { body } = await server.get('/status/indexer/litecoin/regtest');
    return body['block_height'] === Number(tip?.['height']) && body['lag_blocks'] === 0;
  });
  await sleep(1_000);
}

/** A new tip, so that the next snapshot is built and not shared. */
async function addBlock(site: Site): Promise<void> {
  await site.writeBlock();
  await isQuiet(site);
}

/** Wall time of a shell command. */
async function time(command: string, { port, pass }: DatabaseCoordinates): Promise<number> {
  const began = performance.now();
  const child = spawn('sh', ['-c', command], {
    env: { ...process.env, MYSQL_TCP_PORT: String(port), MYSQL_PWD: pass }
  });
  child.stderr.pipe(process.stderr);
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${command}: exit ${code}`);
  return performance.now() - began;
}

function newestArtifact({ snapshots }: Site): string {
  const files = readdirSync(snapshots).map((name) => join(snapshots, name));
  return files.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]!;
}

async function measureCold(site: Site): Promise<Figure[]> {
  const { source, server, rows } = site;
  const dump = `mariadb-dump --host=127.0.0.1 --user=${source.user} --single-transaction ${source.name} | gzip -1 > /dev/null`;
  const cold = (headers: Record<string, string>) => async () => {
    await addBlock(site);
    return (await readFast(`${server.url}${SNAPSHOT}`, headers)).ms;
  };
  const figures: Figure[] = [];
  for (const [coding, headers] of [
    ['gzip', GZIP],
    ['zstd', ZSTD]
  ] as const) {
    const both = await alternate(RUNS, cold(headers), () => time(dump, source));
    const what = `full snapshot, cold, ${coding}, ${rows}, against mariadb-dump --single-transaction piped to gzip -1`;
    figures.push({ what, ...both, unit: 'ms', compare: 'times', most: 2, aim: 1 });
  }
  return figures;
}

async function measureAgain(site: Site): Promise<Figure[]> {
  await readFast(`${site.server.url}${SNAPSHOT}`, GZIP);
  await isQuiet(site); // what follows a build is no part of this
  const fileServer = fork(fileURLToPath(new URL('./support/processes/file-server.ts', import.meta.url)), [
    newestArtifact(site)
  ]);
  const [port] = await once(fileServer, 'message');
  const both = await alternate(
    SHORT_RUNS,
    async () => (await readFast(`${site.server.url}${SNAPSHOT}`, GZIP)).ms,
    async () => (await readFast(`http://127.0.0.1:${port}/`)).ms
  );
  fileServer.disconnect();
  const what = `the same height again, ${site.rows}, against the file itself over loopback HTTP`;
  return [{ what, ...both, unit: 'ms', compare: 'times', most: 1.3, aim: 1 }];
}

async function rowsRead({ source }: Site): Promise<number> {
  const [row] = await sql(source, "SHOW GLOBAL STATUS LIKE 'Rows_read'");
  return Number(row?.['Value']);
}

/** Latencies of `/status` while something runs. */
async function probe<T>(site: Site, work: () => Promise<T>): Promise<{ readonly times: number[]; readonly result: T }> {
  const worker = new Worker(new URL('./support/processes/latency-probe.ts', import.meta.url), {
    workerData: { url: `${site.server.url}/status`, headers: KEY, pauseMs: 2 }
  });
  const result = await work();
  const answer = once(worker, 'message');
  worker.postMessage('stop');
  const [times] = (await answer) as [number[]];
  return { times, result };
}

async function measureMany(site: Site): Promise<Figure[]> {
  const url = `${site.server.url}${SNAPSHOT}`;
  const walls: [number[], number[]] = [[], []];
  const scans: [number[], number[]] = [[], []];
  const latencies: [number[], number[]] = [[], []];
  for (let run = 0; run < CROWD_RUNS; run++) {
    for (const [side, readers] of [1, READERS].entries() as IterableIterator<[0 | 1, number]>) {
      await addBlock(site);
      const before = await rowsRead(site);
      const began = performance.now();
      const readAll = async () => {
        const all: Promise<Read>[] = Array.from({ length: readers }, () => readFast(url, GZIP));
        await Promise.all(all);
        return performance.now() - began;
      };
      if (side === 0) walls[0].push(await readAll());
      else {
        const { times, result } = await probe(site, readAll);
        walls[1].push(result);
        latencies[1].push(p99(times));
      }
      await sleep(CHECKSUMS_MS);
      scans[side].push((await rowsRead(site)) - before);
    }
    latencies[0].push(p99((await probe(site, () => sleep(2_000))).times));
  }
  const pair = ([reference, measured]: [number[], number[]]) => ({
    measured: median(measured),
    reference: median(reference)
  });
  const what = `${READERS} full snapshots at once, ${site.rows}`;
  return [
    { what: `${what}, against one cold`, ...pair(walls), unit: 'ms', compare: 'times', most: 2, aim: 1.2 },
    { what: `${what}: rows that MariaDB read`, ...pair(scans), unit: 'rows', compare: 'times', most: 1.05, aim: 1.01 },
    {
      what: `${what}: p99 of /status, against idle`,
      ...pair(latencies),
      unit: 'ms',
      compare: 'above',
      most: 15,
      aim: 3
    }
  ];
}

async function measureSince(site: Site): Promise<Figure[]> {
  const { source, server } = site;
  const connection = await connect(source);
  const layout = await readLayout(connection, 'indexer');
  const [tip] = await sql(source, 'SELECT MAX(block_index) AS height FROM blocks');
  const since = Number(tip?.['height']) - SINCE_BLOCKS;
  // What a client holds that is so many blocks behind.
  const lookups: Record<string, { id: number; digest: string }> = {};
  for (const plan of layout.plans.filter((each) => each.class === 'lookup')) {
    const [highest] = await sql(source, `SELECT MAX(id) AS id FROM ${plan.name}`);
    const id = Number(highest?.['id']) - 1_000;
    if (id <= 0) continue;
    lookups[plan.name] = { id, digest: await lookupDigest(connection, plan, id) };
  }
  const query: SnapshotQuery = {
    since,
    until: null,
    skipLookups: false,
    lookups,
    infraOnly: false,
    inclusive: false,
    older: null,
    parts: false
  };
  const id = { dbType: 'indexer', chain: 'litecoin', network: 'regtest' } as const;
  const { tables, updatedRows } = await planSnapshot(connection, { id, query, localTables: [] });
  const { connection: raw } = connection as unknown as {
    connection: { format(text: string, values: unknown[]): string };
  };
  const reads = [...tables, ...(updatedRows ?? [])].map((read) => `${raw.format(read.sql, [...read.values])};`);
  await connection.end();
  const file = join(temporaryDirectory('bench-since'), 'reads.sql');
  writeFileSync(file, reads.join('\n'));
  const stated = Object.entries(lookups).map(([table, { id: held, digest }]) => `${table}:${held}:${digest}`);
  const command = `mariadb --host=127.0.0.1 --user=${source.user} ${source.name} < ${file} > /dev/null`;
  let asked = 0;
  const both = await alternate(
    2 * RUNS + 1,
    // One block less each time: the same work, and never the same artifact.
    async () =>
      (await readFast(`${server.url}${SNAPSHOT}/since/${since + asked++}?lookups=${stated.join(',')}`, GZIP)).ms,
    () => time(command, source)
  );
  const what = `since-snapshot of ${SINCE_BLOCKS} blocks with lookup ids, ${site.rows}, against the mariadb client`;
  return [{ what, ...both, unit: 'ms', compare: 'times', most: 5, aim: 2 }];
}

const forgetPeak = ({ child }: SyncProcess) => writeFileSync(`/proc/${child.pid}/clear_refs`, '5');

async function measureMemory(site: Site): Promise<Figure[]> {
  forgetPeak(site.server);
  const reference = memoryMb(site.server.child.pid!, 'VmRSS');
  await readFast(`${site.server.url}${SNAPSHOT}`, GZIP);
  const measured = memoryMb(site.server.child.pid!, 'VmHWM');
  const what = `peak RSS, ${site.rows}, against idle`;
  return [{ what, measured, reference, unit: 'MB', compare: 'above', most: 150, aim: 64 }];
}

/** Memory comes first, on a server that has built nothing yet. */
const MEASURES: Readonly<Record<string, (site: Site) => Promise<Figure[]>>> = {
  memory: measureMemory,
  cold: measureCold,
  again: measureAgain,
  many: measureMany,
  since: measureSince
};

const options = readArguments(
  `npm run bench -- server [--only ${Object.keys(MEASURES).join()}] [--rows 100000,1100000,1M] [--large] [--json FILE]`,
  {
    json: { type: 'string' },
    /** Dataset sizes; the last one's memory is measured too. */
    rows: { type: 'string', default: '100000,1100000' },
    only: { type: 'string' },
    /** Memory at 5 million rows as well. */
    large: { type: 'boolean', default: false }
  },
  ({ only, rows, ...others }) => ({ ...others, rows: readRows(rows), measures: chooseParts(only, MEASURES) })
);

await runProgram(async () => {
  const figures: Figure[] = [];
  const note = (...found: Figure[]) => {
    figures.push(...found);
    for (const { what, measured, reference, unit } of found)
      console.error(`${what}: ${measured.toFixed(1)} ${unit}, reference ${reference.toFixed(1)} ${unit}`);
  };
  for (const rows of options.rows) {
    const site = await openSite(rows);
    for (const measure of options.measures) note(...(await measure(site)));
    await site.server.end();
  }
  if (options.large) note(...(await measureMemory(await openSite(LARGE_ROWS))));
  report('server', figures, options.json);
});
