import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2';
import { connect, NO_JOIN_BUFFERS, rows } from '../../src/db/connection.ts';
import { LISTS } from '../../src/explorer/lists/lists.ts';
import { cursorsOf, markOf } from '../../src/explorer/read/cursor.ts';
import { IndexHints } from '../../src/explorer/read/index-hints.ts';
import { pageStatement } from '../../src/explorer/read/list-reader.ts';
import { NEWEST_BLOCK, tipIn } from '../../src/explorer/read/tip.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { startExplorer } from '../../test/support/explorer-process.ts';
import { createDatabase, startOwnServer } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { writeDecoderTip, writeLedger } from './support/explorer-ledger.ts';
import { alternate, type Figure, median, p99, report } from './support/figures.ts';
import { Helper, memoryMb } from './support/processes/helper.ts';
import type { HttpLoad, HttpLoadAsk } from './support/processes/http-load.ts';

const typed = (value: string | number) => (typeof value === 'number' ? mysql.TypedParameter.BIGINT(value) : value);
const LOOKS = 300;
const WARM = 20;
const LOAD = 6_000;
const CONNECTIONS = 16;
const RUNS = 5;
/** Milliseconds for all of them at 3,000 a second; one that takes longer must do 0.6 of what the driver alone does. */
const LOAD_MS = LOAD / 3;
/** Heaps grow for some ten runs before they are collected, and by turns: what is left by that, the lowest of so many, is compared. */
const MORE_RUNS = 80;
const DEPTHS = [0, 1_000, 900_000] as const;
const LIMIT = 20;
const TOKENS = 300_000;
/** Longest wait for totals; a list that cannot be counted within its limit has none. */
const TOTALS_MS = 60_000;
/** As an operator gives a database of this size; the sort buffer makes its keys faster. */
const SERVER = ['--innodb-buffer-pool-size=4G', '--innodb-log-file-size=1G', '--innodb-sort-buffer-size=64M'];
const NO_REFERENCE = { reference: 0, unit: 'ms', compare: 'above' } as const;

/**
 * Paths to ask: lists that are long in the ledger of the bench, tokens found by their names, and empty lists of an address with
 * many actions.
 */
const PATHS = [
  'blocks',
  'actions',
  'history/a1/address',
  'history/TOKA/token',
  'history/all/recent',
  'sends/a1/address',
  'sends/a1/destination',
  'sends/TOKA/token',
  'sends/a77/source',
  'sends/5/block',
  'credits/a1/address',
  'credits/TOKA/token',
  'debits/a77/address',
  'holders/TOKA',
  'balances/a1',
  'tokens',
  'tokens/DEV*',
  'tokens/NOPE*',
  'tokens/Main/subtoken',
  'holders/NOPE',
  'token/main.2',
  'search/d',
  'search/NOPE',
  'orders/a1/address',
  'swaps/a1/address',
  'dispensers/a1/address',
  'destroys/a1/address'
];

const isList = (path: string) => path.split('/')[0]! in LISTS;

const { json, isPagesOnly, ...size } = readArguments(
  'npm run bench -- explorer [--actions 5000000] [--busy 1000000] [--pages] [--json FILE]',
  {
    actions: { type: 'string' },
    busy: { type: 'string' },
    /** Only how long pages take. */
    pages: { type: 'boolean', default: false },
    json: { type: 'string' }
  },
  ({ json, pages, actions = '5000000', busy = '1000000' }) => ({
    json,
    isPagesOnly: pages,
    actions: Number(actions),
    busy: Number(busy)
  })
);

const CURSOR_KEY = 'the key of a bench, which signs nothing else';

await runProgram(async () => {
  const { root } = await startOwnServer(SERVER);
  const [indexer, decoder] = [await createDatabase('indexer', root), await createDatabase('decoder', root)];
  await writeDecoderTip(decoder, size);
  const began = performance.now();
  await writeLedger(indexer, { ...size, tokens: TOKENS });
  console.log(`ledger of ${size.actions} actions written in ${Math.round((performance.now() - began) / 1000)} s`);
  const explorer = await startExplorer(
    { indexer, decoder },
    { EXPLORER_RATE_LIMIT_RPM: '100000000', LOG_LEVEL: 'warn', EXPLORER_CACHE_MB: '0', EXPLORER_CURSOR_KEY: CURSOR_KEY }
  );
  const load = new Helper<HttpLoadAsk>('http-load.ts');
  const cursors = cursorsOf(CURSOR_KEY, 'bitcoin-regtest');
  const reader = await connect(indexer);
  const tip = tipIn(await rows(reader, NEWEST_BLOCK))!;
  reader.destroy();
  const ofAll = (depth: number) => size.actions - depth;
  /** Returns the action of the busy address at a depth. */
  const ofBusy = (depth: number) => (size.busy - depth) * Math.max(1, Math.floor(size.actions / size.busy));
  /** The keys that stand at a depth of the long lists. */
  const KEYS: Readonly<Record<string, (depth: number) => number>> = {
    actions: ofAll,
    'history/TOKA/token': ofAll,
    'sends/TOKA/token': ofAll,
    'credits/TOKA/token': ofAll,
    'history/a1/address': ofBusy,
    'sends/a1/address': ofBusy,
    'sends/a1/destination': ofBusy,
    'credits/a1/address': ofBusy,
    'history/all/recent': ofAll
  };
  const wire = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

  /** The path of the page at a depth: by a page number to 1,000 rows, beyond them by a cursor; undefined where the list is shorter. */
  async function pageAt(path: string, depth: number): Promise<string | undefined> {
    if (depth === 0) return isList(path) ? `/api/${path}?limit=${LIMIT}` : `/api/${path}`;
    if (depth <= 1_000) {
      const answer = await fetch(`${explorer.url}/api/${path}?limit=100&page=${depth / 100}`);
      const { next } = (await answer.json()) as { next?: string | null };
      return next ? `/api/${path}?limit=${LIMIT}&cursor=${next}` : undefined;
    }
    const key = KEYS[path]?.(depth);
    if (key === undefined || key < 1) return undefined;
    const [method = '', query, type] = path.split('/');
    const named = { ...(query === undefined ? {} : { query }), ...(type === undefined ? {} : { type }) };
    const mark = markOf({ method, ...named, parameters: {}, order: 'desc' }, query ?? '');
    return `/api/${path}?limit=${LIMIT}&cursor=${cursors.write(mark, tip, { key: String(key), given: 1 })}`;
  }

  /** Asks for each list until its total is counted: to count is no part of what is measured. */
  async function awaitTotals(): Promise<void> {
    const until = performance.now() + TOTALS_MS;
    for (const path of PATHS.filter(isList))
      for (let total: unknown = null; total === null && performance.now() < until; ) {
        const answer = await fetch(`${explorer.url}/api/${path}?limit=${LIMIT}`);
        ({ total } = (await answer.json()) as { total: unknown });
        if (total === null) await sleep(500);
      }
  }

  await awaitTotals();
  const figures: Figure[] = [];
  for (const path of PATHS) {
    for (const depth of isList(path) ? DEPTHS : [0]) {
      const page = await pageAt(path, depth);
      if (page === undefined) continue;
      const ask = { type: 'load', port: explorer.port, requests: [wire(page)], connections: 1 } as const;
      await load.ask<HttpLoad>({ ...ask, count: WARM });
      const { eachMs } = await load.ask<HttpLoad>({ ...ask, count: LOOKS });
      const what = `${path} at row ${depth}, p99`;
      figures.push({ what, measured: p99([...eachMs]), ...NO_REFERENCE, most: 20, aim: 8 });
    }
  }

  if (isPagesOnly) {
    report('explorer', figures, json);
    return load.end();
  }

  /** The statement of the page by the driver alone, prepared, over as many connections with the explorer's settings. */
  async function bare(): Promise<number> {
    const connections = await Promise.all(Array.from({ length: 4 }, () => connect(indexer)));
    for (const connection of connections) await rows(connection, NO_JOIN_BUFFERS);
    const list = LISTS['balances']!;
    const hints = new IndexHints((work) => work((sql, values) => rows(connections[0]!, sql, values)));
    await hints.refresh();
    const page = {
      filter: hints.of(list.types['address']!),
      limit: LIMIT,
      offset: 0,
      cursor: null,
      isDescending: true
    };
    const start = performance.now();
    await Promise.all(
      connections.map(async (connection, place) => {
        for (let at = place; at < LOAD; at += connections.length) {
          const { sql, values } = pageStatement(list, { ...page, value: `a${1 + (at % 9_000)}` });
          await connection.execute({ sql, values: values.map(typed) });
        }
      })
    );
    const wallMs = performance.now() - start;
    for (const connection of connections) connection.destroy();
    return wallMs;
  }

  const requests = Array.from({ length: LOAD }, (_, at) => wire(`/api/balances/a${1 + (at % 9_000)}?limit=${LIMIT}`));
  const serve = async (from: { readonly port: number }) =>
    (await load.ask<HttpLoad>({ type: 'load', port: from.port, requests, connections: CONNECTIONS, count: LOAD }))
      .wallMs;
  const served = () => serve(explorer);
  await served();
  const compared = await alternate(RUNS, served, bare);
  figures.push({
    what: `${LOAD} balances, each read from MariaDB; the prepared statement alone through the driver`,
    ...compared,
    unit: 'ms',
    compare: 'times',
    most: Math.max(1 / 0.6, LOAD_MS / compared.reference),
    aim: 1 / 0.8
  });
  const lowest = async () => {
    let least = Number.POSITIVE_INFINITY;
    for (let run = 0; run < MORE_RUNS; run++) {
      await served();
      least = Math.min(least, memoryMb(explorer.pid, 'VmRSS'));
    }
    return least;
  };
  await lowest(); // until then the heaps take their size
  figures.push({
    what: `lowest RSS in ${MORE_RUNS * LOAD} requests, against that in as many before them`,
    reference: await lowest(),
    measured: await lowest(),
    unit: 'MB',
    compare: 'above',
    most: 32,
    aim: 8
  });
  const caching = await startExplorer(
    { indexer, decoder },
    { EXPLORER_RATE_LIMIT_RPM: '100000000', LOG_LEVEL: 'warn' }
  );
  await serve(caching);
  const kept = await serve(caching);
  const etag = (await fetch(`${caching.url}/api/balances/a1`)).headers.get('etag')!;
  const again = `GET /api/balances/a1 HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${etag}\r\n\r\n`;
  const ask = { type: 'load', port: caching.port, requests: [again], connections: 1, status: 304 } as const;
  await load.ask<HttpLoad>({ ...ask, count: WARM });
  const { eachMs } = await load.ask<HttpLoad>({ ...ask, count: LOOKS });
  figures.push({ what: '304, median', measured: median([...eachMs]), ...NO_REFERENCE, most: 1, aim: 1 });
  report('explorer', figures, json);
  const perSecond = (ms: number) => Math.round((LOAD / ms) * 1000);
  console.log(
    `${perSecond(compared.measured)} balances a second (must 3,000, aim 6,000); ${perSecond(kept)} that are kept`
  );
  load.end();
});
