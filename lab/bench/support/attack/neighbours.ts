import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { DigestKey } from '../../../../src/wire/data/digest.ts';
import { createDatabase } from '../../../../test/support/mariadb.ts';
import { addEmptyBlock, sql } from '../../../../test/support/sql.ts';
import { createIndexer } from '../../../../test/support/sync/generated-indexer.ts';
import { startPair } from '../../../../test/support/sync/sync-pair.ts';
import { eventually, temporaryDirectory } from '../../../../test/support/sync/sync-process.ts';
import { type Figure, median, p99 } from '../figures.ts';
import { Helper } from '../processes/helper.ts';
import { BASE, type NeighbourCrowdAsk, type Neighbours } from '../processes/neighbour-crowd.ts';

const FIRST_HEIGHT = 100;
/** More than a source watches for changes. */
const BLOCKS = 1_300;
const WEIGHT_ROWS = 100_000;
const CACHE_BYTES = 2 ** 20;
const BLOCK_EVERY_MS = 400;
/** 120 blocks: the p99 is the second longest of them. */
const LOOK_MS = 48_000;
/** Pause between two questions of the caller that must be answered. */
const PAUSE_MS = 2_000;
/** Time within which a caller that comes again when it is told to must have its answer. */
const PATIENCE_MS = 15_000;

const now = () => performance.timeOrigin + performance.now();

interface Look {
  readonly delays: number[];
  /** Milliseconds until one caller of another address had its whole answer, each. */
  readonly snapshots: number[];
  readonly digests: number[];
  /** Results instead of each answer that was not there in time. */
  readonly refused: readonly string[];
  readonly heldBytes: number;
}

/** Measures the cost of callers of a few addresses for one of another, with the limits that a server has by itself. */
export async function measureNeighbours(): Promise<Figure[]> {
  const source = await createDatabase('neighbours');
  await createIndexer(source, { seed: 'neighbours', blocks: BLOCKS, rows: 3_000 });
  await sql(
    source,
    // Larger than what a kernel takes for who does not read; its block is so old that no new one costs more.
    'CREATE TABLE weight (block_index INT NOT NULL, id INT NOT NULL PRIMARY KEY, text VARCHAR(200) NOT NULL, KEY (block_index))',
    `INSERT INTO weight SELECT ${FIRST_HEIGHT}, seq, CONCAT(SHA2(seq, 512), MD5(seq)) FROM seq_1_to_${WEIGHT_ROWS}`
  );
  const directory = temporaryDirectory('neighbours');
  const { server, status } = await startPair('indexer', source, {
    SYNC_API_KEY: '',
    SNAPSHOT_CACHE_DIR: directory,
    SNAPSHOT_CACHE_MAX_BYTES: CACHE_BYTES,
    SNAPSHOT_RATE_FULL: 100_000,
    LOG_LEVEL: 'error'
  });
  await eventually('the source polls', 60_000, async () => (await status(server))['phase'] === 'polling.caughtUp');
  const port = Number(new URL(server.url).port);
  const times = new Map<number, number>();
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      const began = performance.now();
      times.set(await addEmptyBlock(source), now());
      await sleep(Math.max(1, BLOCK_EVERY_MS - (performance.now() - began)));
    }
  })();
  const received: [height: number, at: number][] = [];
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/subscribe/${BASE}`);
  socket.on('message', (data: Buffer) => {
    const height = /"block_index":(\d+)/.exec(data.toString('latin1', 0, 400))?.[1];
    if (height !== undefined) received.push([Number(height), now()]);
  });
  const heldBytes = () =>
    readdirSync(directory).reduce(
      (sum, name) => sum + (statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0),
      0
    );
  const look = async (): Promise<Look> => {
    received.length = 0;
    const [snapshots, digests]: [number[], number[]] = [[], []];
    const refused: string[] = [];
    let held = 0;
    const until = performance.now() + LOOK_MS;
    const repeat = async (took: number[], ask: () => Promise<number | string>) => {
      while (performance.now() < until) {
        const found = await ask();
        if (typeof found === 'string') refused.push(found);
        else took.push(found);
        await sleep(PAUSE_MS);
      }
    };
    const watching = (async () => {
      for (; performance.now() < until; await sleep(100)) held = Math.max(held, heldBytes());
    })();
    await Promise.all([
      watching,
      repeat(snapshots, () => patiently(() => fetch(`${server.url}/snapshot/${BASE}`))),
      repeat(digests, () =>
        // As a replica that compares asks: digests of all tables, then the ranges of one that differs.
        patiently(async () => {
          const all = await fetch(`${server.url}/digest/${BASE}`);
          if (!all.ok) return all;
          const { key } = (await all.json()) as DigestKey;
          return fetch(`${server.url}/digest/${BASE}?table=index_addresses&key=${key}`);
        })
      )
    ]);
    const delays = received.map(([height, at]) => at - (times.get(height) ?? at));
    return { delays, snapshots, digests, refused, heldBytes: held };
  };
  await look(); // warm-up
  const idle = await look();
  console.log(
    '| neighbours | block p50 | p99 | snapshot p50 | digest p50 | not answered | held | their answers |\n|---|---|---|---|---|---|---|---|'
  );
  const print = (what: string, seen: Look, answers = '') =>
    console.log(
      `| ${what} | ${[median(seen.delays), p99(seen.delays), median(seen.snapshots), median(seen.digests)].map((ms) => `${Math.round(ms)} ms`).join(' | ')} | ${seen.refused.join(', ') || 0} | ${Math.round(seen.heldBytes / 1e6)} MB | ${answers} |`
    );
  print('none', idle);
  const looks: (readonly [Neighbours, Look])[] = [];
  for (const what of ['questions', 'digests', 'slow readers', 'leavers'] satisfies Neighbours[]) {
    const crowd = new Helper<NeighbourCrowdAsk>('neighbour-crowd.ts').giveWay();
    const begun = crowd.ask({ type: 'begin', what, port, heights: FIRST_HEIGHT });
    const seen = await look();
    await begun;
    print(what, seen, JSON.stringify(await crowd.ask({ type: 'end' })));
    crowd.end();
    looks.push([what, seen]);
    await sleep(2_000);
  }
  const after = await look();
  print('none', after);
  const reference = { ...idle, delays: [...idle.delays, ...after.delays] };
  const figures = looks.flatMap(([what, seen]) => figuresOf(what, seen, reference));
  isOver = true;
  await writing;
  socket.terminate();
  await server.end();
  return figures;
}

/** Milliseconds until the whole answer, coming again when told to; what came instead when that takes too long. */
async function patiently(ask: () => Promise<Response>): Promise<number | string> {
  const began = performance.now();
  const answers: string[] = [];
  while (performance.now() - began < PATIENCE_MS) {
    const response = await ask().catch(() => undefined);
    const body = await response?.arrayBuffer().catch(() => undefined);
    if (body && response?.status === 200) return performance.now() - began;
    const text = body ? Buffer.from(body).toString('utf8', 0, 120) : 'cut';
    answers.push(response ? `${response.status} ${text}` : 'no answer');
    // Five blocks a second: the key of a digest was an older tip's.
    if (response?.status !== 409) await sleep(1_000);
  }
  return [...new Set(answers)].join(' · ');
}

const WHAT: Readonly<Record<Neighbours, string>> = {
  questions: '200 connections that ask for schema, roots, proofs and HEAD /snapshot',
  digests: '128 digests a second, whose callers leave',
  'slow readers': '50 readers of since-snapshots who read nothing',
  leavers: '25 since-snapshots a second, whose callers leave'
};

function figuresOf(what: Neighbours, seen: Look, idle: Look): Figure[] {
  const times = { unit: 'ms', compare: 'times', most: 2, aim: 1.3 } as const;
  return [
    {
      what: `${WHAT[what]}: commit to receipt for another address, p50, against none`,
      measured: median(seen.delays),
      reference: median(idle.delays),
      ...times
    },
    { what: 'the same: p99', measured: p99(seen.delays), reference: p99(idle.delays), ...times },
    {
      what: 'snapshots and digests that another address had not within 15 s',
      measured: seen.refused.length,
      reference: 0,
      unit: '',
      compare: 'above',
      most: 0,
      aim: 0
    }
  ];
}
