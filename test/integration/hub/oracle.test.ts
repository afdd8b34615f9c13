import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { hubVariables } from '../../../src/config/services/hub.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { callMethod } from '../../../src/service/rpc/call-method.ts';
import {
  coingeckoAnswer,
  coinmarketcapAnswer,
  krakenAnswer,
  startPriceService
} from '../../support/hub/price-service.ts';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { databaseEnv, startServiceProcess } from '../../support/service-process.ts';
import { sql } from '../../support/sql.ts';

/** An actor as the console shows it. */
interface Shown {
  readonly id: { readonly kind: string };
  readonly report: { readonly phase: string; readonly lastError: string | null } | null;
}

async function start(t: TestContext, env: Record<string, string>) {
  const hub = await runHub(env);
  t.after(hub.stop);
  return { hub };
}

async function until<T>(what: string, find: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(50)) {
    const found = await find();
    if (found !== undefined) return found;
  }
  throw new Error(`not in time: ${what}`);
}

const priceOf = async (hub: RunningHub, pair: string) => {
  const { result } = (await hub.call('getprice', { pair })).json;
  return result?.error ? undefined : result;
};
/** Returns the console's facts about rounds of prices. */
const shown = async (hub: RunningHub) => {
  const { databases } = (await (await fetch(`${hub.url}/debug/live`)).json()) as {
    readonly databases: readonly Shown[];
  };
  return databases.find(({ id }) => id.kind === 'prices')?.report ?? null;
};
const lastErrorOf = async (hub: RunningHub) => (await shown(hub))?.lastError ?? null;
/** Waits until the round in work is kept or dropped. */
const roundEnd = (hub: RunningHub) =>
  until('the round is over', async () => {
    const report = await shown(hub);
    return report?.phase === 'waiting' ? report : undefined;
  });
const rounds = (hub: RunningHub) =>
  sql(hub.database, 'SELECT COUNT(*) AS pairs, MIN(status) AS least FROM price_snapshots GROUP BY round_number');

test('a round keeps the median of three sources of each pair; pairs without a price are skipped; readers get each row', async (t) => {
  const answering = (answer: object) => startPriceService((_, response) => response.end(JSON.stringify(answer)));
  const gecko = await answering(coingeckoAnswer(64_000));
  const kraken = await answering(krakenAnswer(64_100.5));
  let isFree = true;
  const cap = await startPriceService(({ path }, response) => {
    if (isFree && path.includes('CAD')) response.writeHead(400).end('{"status":{"error_code":400}}');
    else response.end(JSON.stringify(coinmarketcapAnswer(70_000)));
    isFree = true;
  });
  const { hub } = await start(t, {
    PRICE_SOURCES: 'coingecko, kraken,coinmarketcap',
    PRICE_SOURCE_COINGECKO_URL: gecko.url,
    PRICE_SOURCE_KRAKEN_URL: `${kraken.url}/`,
    PRICE_SOURCE_COINMARKETCAP_URL: cap.url,
    COINMARKETCAP_API_KEY: 'cap-account-secret',
    ORACLE_ROUND_INTERVAL: '3600000'
  });
  const price = await until('a price', () => priceOf(hub, 'BTC/USD').then((found) => found ?? undefined));
  assert.deepEqual([price.price, price.status, price.validator_count], ['64100.50000000', 'finalized', 1]);
  assert.equal((await priceOf(hub, 'BTC/KRW')).price, '64000.00000000');
  const all = (await hub.call('getpricesnapshots', { status: 'all', limit: 100 })).json.result;
  const rows: { coin_pair: string; status: string }[] = all.snapshots ?? all.rows ?? all;
  assert.equal(rows.length, 36);
  assert.deepEqual(
    new Set(rows.filter(({ status }) => status === 'skipped').map(({ coin_pair }) => coin_pair.split('/')[0])),
    new Set(['LTC', 'DOGE'])
  );
  // One question a round, but for the account that may convert to one currency only.
  assert.deepEqual([gecko.requests.length, kraken.requests.length, cap.requests.length], [1, 1, 2]);
  assert.equal(cap.requests[0]!.headers['x-cmc_pro_api_key'], 'cap-account-secret');
  assert.equal(gecko.requests[0]!.headers['x-cmc_pro_api_key'], undefined);
  const socket = new WebSocket(`ws://127.0.0.1:${hub.port}/hub-db/subscribe?since_id=price_snapshots:0`);
  t.after(() => socket.terminate());
  const sent: { type: string }[] = [];
  socket.on('message', (data) => sent.push(JSON.parse(String(data))));
  await until('36 rows', async () =>
    sent.filter(({ type }) => type === 'row:inserted').length === 36 ? true : undefined
  );
  const { status, json } = await hub.call('health');
  const { oracle_last_finalized_age_s: age, oracle_stale, oracle_staleness_threshold_s } = json.result;
  assert.deepEqual([status, oracle_stale, oracle_staleness_threshold_s], [200, false, 7_200]);
  assert.ok(age >= 0 && age < 30);
});

test('a source that floods or redirects stalls nothing: the others count, and the log names it', async () => {
  const bad = await startPriceService(({ path }, response) => {
    if (path.startsWith('/0/')) response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end();
    else response.end('['.repeat(5_000_000));
  });
  const good = await startPriceService((_, response) => response.end(JSON.stringify(coinmarketcapAnswer(50_000))));
  const port = await freePort();
  const { output } = startServiceProcess('hub', {
    ...databaseEnv('HUB', await createDatabase('hub')),
    HUB_HOST: '127.0.0.1',
    HUB_PORT: String(port),
    PRICE_SOURCES: 'coingecko,kraken,coinmarketcap',
    PRICE_SOURCE_COINGECKO_URL: bad.url,
    PRICE_SOURCE_KRAKEN_URL: bad.url,
    PRICE_SOURCE_COINMARKETCAP_URL: good.url,
    COINMARKETCAP_API_KEY: 'cap-account-secret',
    ORACLE_ROUND_INTERVAL: '3600000'
  });
  const ask = () =>
    callMethod(`http://127.0.0.1:${port}/`, 'getprice', { pair: 'BTC/USD' }, { signal: AbortSignal.timeout(5_000) });
  const asked = () => ask().then((reply) => ('error' in Object(reply) ? undefined : reply));
  await until('a price', () => asked().catch(() => undefined));
  for (const source of ['coingecko', 'kraken']) assert.match(output(), new RegExp(`"msg":"${source} gave no prices`));
  assert.ok(!/coinmarketcap gave no prices|cap-account-secret/.test(output()));
});

test('429 is asked again, three times in all; then the round is skipped, and after ORACLE_STALENESS_THRESHOLD_S health is 503', async (t) => {
  const busy = await startPriceService((_, response) => response.writeHead(429, { 'retry-after': '0' }).end());
  const env = {
    PRICE_SOURCES: 'coingecko',
    PRICE_SOURCE_COINGECKO_URL: busy.url,
    ORACLE_ROUND_INTERVAL: '3600000'
  };
  const { hub } = await start(t, env);
  const [round] = await until('the round', async () =>
    (await rounds(hub)).length > 0 ? await rounds(hub) : undefined
  );
  assert.deepEqual({ ...round }, { pairs: 36, least: 'skipped' });
  assert.equal(busy.requests.length, 3);
  assert.equal((await roundEnd(hub)).lastError, 'no source gave a price');
  assert.equal((await hub.call('health')).status, 200, 'for two hours');
  await hub.stop();
  const strict = await runHub({ ...env, ORACLE_STALENESS_THRESHOLD_S: '2' }, { database: hub.database });
  t.after(strict.stop);
  const { json } = await until('stale', async () => {
    const answer = await strict.call('health');
    return answer.status === 503 ? answer : undefined;
  });
  assert.deepEqual(
    [json.result.status, json.result.oracle_stale, json.result.oracle_last_finalized_age_s],
    ['degraded', true, null]
  );
});

test('a source that hangs costs a round PRICE_FETCH_TIMEOUT, and the others count', async (t) => {
  const waits: number[] = [];
  const silent = await startPriceService((_, response) => {
    const began = performance.now();
    response.once('close', () => waits.push(performance.now() - began));
  });
  const good = await startPriceService((_, response) => response.end(JSON.stringify(krakenAnswer(50_000))));
  const { hub } = await start(t, {
    PRICE_SOURCES: 'coingecko,kraken',
    PRICE_SOURCE_COINGECKO_URL: silent.url,
    PRICE_SOURCE_KRAKEN_URL: good.url,
    PRICE_FETCH_TIMEOUT: '1500',
    ORACLE_ROUND_INTERVAL: '3600000'
  });
  await until('a price', () => priceOf(hub, 'BTC/USD').then((found) => found ?? undefined));
  const [waitedMs] = waits as [number];
  assert.equal(waits.length, 1, 'a source that hangs is asked once');
  assert.ok(waitedMs > 1_000 && waitedMs < 9_000, `${waitedMs} ms: a second and a half, not ten`);
  assert.equal(await lastErrorOf(hub), 'coingecko gave no price');
  assert.equal(hubVariables.PRICE_FETCH_TIMEOUT.fallback, 10_000);
});

test('rounds follow one another; a price moves by a quarter at most; a hub that starts again within a round keeps it', async (t) => {
  let bitcoin = 100;
  const source = await startPriceService((_, response) => response.end(JSON.stringify(coingeckoAnswer(bitcoin))));
  const env = { PRICE_SOURCES: 'coingecko', PRICE_SOURCE_COINGECKO_URL: source.url, ORACLE_ROUND_INTERVAL: '1000' };
  const { hub } = await start(t, env);
  await until('a price', () => priceOf(hub, 'BTC/USD').then((found) => found ?? undefined));
  bitcoin = 1_000;
  await until('the next price', async () =>
    (await priceOf(hub, 'BTC/USD')).price === '125.00000000' ? true : undefined
  );
  await hub.stop();
  const restart = async () => {
    const asked = source.requests.length;
    const again = await runHub({ ...env, ORACLE_ROUND_INTERVAL: '86400000' }, { database: hub.database });
    t.after(again.stop);
    await until('a question', async () => (source.requests.length > asked ? true : undefined));
    await roundEnd(again);
    const { price, round_number } = await priceOf(again, 'BTC/USD');
    await again.stop();
    return { price, round_number };
  };
  const known = await rounds(hub);
  const last = await restart();
  assert.equal(known.length, (await rounds(hub)).length, 'today has a price');
  await sql(hub.database, 'UPDATE price_snapshots SET block_timestamp = block_timestamp - 86400');
  // Of a longer interval there were fewer rounds since 1970; the next one is the newest all the same.
  const { round_number } = await restart();
  assert.equal(round_number, last.round_number + 1);
});

test('a round without any price is replaced by the prices of a hub that starts again within it, and readers are told', async (t) => {
  let isUp = false;
  const source = await startPriceService((_, response) => {
    if (isUp) response.end(JSON.stringify(coingeckoAnswer(100)));
    else response.writeHead(400).end();
  });
  const env = { PRICE_SOURCES: 'coingecko', PRICE_SOURCE_COINGECKO_URL: source.url, ORACLE_ROUND_INTERVAL: '86400000' };
  const { hub } = await start(t, env);
  await until('the skipped round', async () => ((await rounds(hub)).length > 0 ? true : undefined));
  await hub.stop();
  isUp = true;
  const again = await runHub(env, { database: hub.database });
  t.after(again.stop);
  const { price, push_generation, round_number } = await until('a price', async () => {
    return (await priceOf(again, 'BTC/USD')) ?? undefined;
  });
  assert.deepEqual([price, push_generation, (await rounds(again)).length], ['100.00000000', 1, 1]);
  const socket = new WebSocket(`ws://127.0.0.1:${again.port}/hub-db/subscribe?since_id=removals:0`);
  t.after(() => socket.terminate());
  const sent: { type: string }[] = [];
  socket.on('message', (data) => sent.push(JSON.parse(String(data))));
  const removal = await until('the removal', async () => sent.find(({ type }) => type === 'row:deleted'));
  assert.deepEqual(removal, {
    type: 'row:deleted',
    id: 1,
    table: 'price_snapshots',
    round_number,
    retraction_generation: 1,
    schema_version: 4,
    source_chain: null,
    from_action_index: null,
    to_action_index: null
  });
});

test('a clock that was an hour ahead and is set right stops no prices, and no age is taken for fresh', async (t) => {
  let bitcoin = 100;
  const source = await startPriceService((_, response) => response.end(JSON.stringify(coingeckoAnswer(bitcoin))));
  const env = { PRICE_SOURCES: 'coingecko', PRICE_SOURCE_COINGECKO_URL: source.url, ORACLE_ROUND_INTERVAL: '600000' };
  const { hub } = await start(t, env);
  const before = await until('a price', () => priceOf(hub, 'BTC/USD').then((found) => found ?? undefined));
  await hub.stop();
  // What was kept while the clock was ahead: six rounds of ten minutes.
  await sql(
    hub.database,
    'UPDATE price_snapshots SET round_number = round_number + 6, block_timestamp = block_timestamp + 3600, oldest_at = oldest_at + 3600, created_at = created_at + INTERVAL 1 HOUR'
  );
  const stale = await runHub({}, { database: hub.database });
  t.after(stale.stop);
  assert.ok((await priceOf(stale, 'BTC/USD')).age_s < -3_000, 'an age below 0 is shown as it is');
  await stale.stop();
  bitcoin = 110;
  const again = await runHub({ ...env, ORACLE_STALENESS_THRESHOLD_S: '1200' }, { database: hub.database });
  t.after(again.stop);
  const price = await until('the next price', async () => {
    const found = await priceOf(again, 'BTC/USD');
    return found.price === '110.00000000' ? found : undefined;
  });
  assert.equal(price.round_number, before.round_number + 7);
  assert.deepEqual([price.sources, price.deviation], [1, '0.0000']);
  assert.equal((await again.call('health')).status, 200);
  await sql(hub.database, 'UPDATE price_snapshots SET block_timestamp = UNIX_TIMESTAMP() + 3600');
  const { status, json } = await again.call('health');
  assert.deepEqual([status, json.result.oracle_stale], [503, true]);
  assert.ok(json.result.oracle_last_finalized_age_s < -3_000);
});

test('a pair of which sources disagree is stale in health, by name, though others are fresh; one that no source tells is not', async (t) => {
  const prices = { BTC: 64_000, LTC: 80 };
  let tick = 0;
  const next = (price: number) => price + tick++ * 1e-6;
  const gecko = await startPriceService((_, response) => {
    const litecoin = { usd: next(80), eur: next(70) };
    response.end(JSON.stringify({ bitcoin: { usd: next(64_000) }, litecoin }));
  });
  const kraken = await startPriceService((_, response) => {
    const result = {
      XXBTZUSD: { c: [String(next(prices.BTC)), '1'] },
      XLTCZUSD: { c: [String(next(prices.LTC)), '1'] }
    };
    response.end(JSON.stringify({ error: [], result }));
  });
  const { hub } = await start(t, {
    PRICE_SOURCES: 'coingecko,kraken',
    PRICE_SOURCE_COINGECKO_URL: gecko.url,
    PRICE_SOURCE_KRAKEN_URL: kraken.url,
    ORACLE_ROUND_INTERVAL: '1000',
    ORACLE_STALENESS_THRESHOLD_S: '3',
    HUB_RATE_LIMIT_RPM: '10000'
  });
  await until('a price', () => priceOf(hub, 'BTC/USD').then((found) => found ?? undefined));
  // As from a time when there was a source for it.
  await sql(hub.database, "UPDATE price_snapshots SET status = 'finalized' WHERE coin_pair = 'DOGE/USD'");
  const healthy = () =>
    until('fresh prices', async () => {
      const { status, json } = await hub.call('health');
      return status === 200 ? json : undefined;
    });
  await healthy();
  prices.BTC *= 1.2;
  const { result } = await until('a stale price', async () => {
    const { status, json } = await hub.call('health');
    return status === 503 ? json : undefined;
  });
  assert.deepEqual([result.db, result.oracle_stale, result.oracle_stale_pair], [true, true, 'BTC/USD']);
  assert.ok(result.oracle_last_finalized_age_s > 3);
  assert.match(String(await lastErrorOf(hub)), /sources of BTC\/USD differ by \d+\.\d %/);
  await until('a fresh price beside it', async () => {
    const { age_s: age } = await priceOf(hub, 'LTC/USD');
    return age <= 3 || undefined;
  });
  prices.BTC = 64_000;
  assert.equal((await healthy()).result.oracle_stale_pair, undefined);
});

test('a clock of this machine that is an hour off is told of; rows and ages have the time of the sources', async (t) => {
  const HOUR_S = 3_600;
  const at = () => Math.floor(Date.now() / 1_000) + HOUR_S;
  const say = (answer: () => object) =>
    startPriceService((_, response) =>
      response.setHeader('date', new Date(at() * 1_000).toUTCString()).end(JSON.stringify(answer()))
    );
  const gecko = await say(() => ({
    bitcoin: { ...coingeckoAnswer(64_000).bitcoin, last_updated_at: at() - 1_000 }
  }));
  const kraken = await say(() => krakenAnswer(64_000));
  const { hub } = await start(t, {
    PRICE_SOURCES: 'coingecko,kraken',
    PRICE_SOURCE_COINGECKO_URL: gecko.url,
    PRICE_SOURCE_KRAKEN_URL: kraken.url,
    ORACLE_ROUND_INTERVAL: '600000'
  });
  const price = await until('a price', () => priceOf(hub, 'BTC/USD').then((found) => found ?? undefined));
  const near = (seconds: number, expected: number) => assert.ok(Math.abs(seconds - expected) < 60, `${seconds} s`);
  near(price.block_timestamp, at());
  near(price.age_s, 1_000);
  assert.deepEqual([price.sources, price.bounded], [2, 0]);
  const { status, json } = await hub.call('health');
  assert.equal(status, 200);
  near(json.result.oracle_last_finalized_age_s, 0);
  near(json.result.clock_off_s, HOUR_S);
  assert.match(String(await lastErrorOf(hub)), /the clock of this machine is 3\d\d\d s behind/);
});

test('CONFIG_INVALID: a source that is none, and coinmarketcap without its key', async () => {
  const { findHubFaults } = await import('../../../src/config/services/hub.ts');
  const { hubConfigOf } = await import('../../support/hub-config.ts');
  const to = { host: 'h', port: 1, name: 'n', user: 'u', pass: 'p' };
  assert.throws(() => hubConfigOf(to, { PRICE_SOURCES: 'coingeko' }), {
    message: /PRICE_SOURCES.*coingecko, kraken, coinmarketcap/s
  });
  const faults = findHubFaults(hubConfigOf(to, { PRICE_SOURCES: 'coinmarketcap' }));
  assert.deepEqual(faults, ['PRICE_SOURCES names coinmarketcap, which needs COINMARKETCAP_API_KEY']);
  const twice = { PRICE_SOURCES: 'kraken,Kraken', ORACLE_MIN_SOURCES: '2' };
  assert.match(String(findHubFaults(hubConfigOf(to, twice))), /kraken twice/, 'one source is no two');
});

test('settings that change nothing are named at the start, with what to do', async () => {
  const { findHubWarnings } = await import('../../../src/config/services/hub.ts');
  const { hubConfigOf } = await import('../../support/hub-config.ts');
  const to = { host: 'h', port: 1, name: 'n', user: 'u', pass: 'p' };
  const key = { COINMARKETCAP_API_KEY: 'k' };
  assert.deepEqual(findHubWarnings(hubConfigOf(to, key)), [
    'COINMARKETCAP_API_KEY is set and not used: add coinmarketcap to PRICE_SOURCES, or unset it'
  ]);
  const lone = { ORACLE_MIN_SOURCES: '2', TELEMETRY_ENABLED: 'false', TELEMETRY_IP_SALT: 's' };
  assert.deepEqual(findHubWarnings(hubConfigOf(to, lone)), [
    'ORACLE_MIN_SOURCES is set and not used: PRICE_SOURCES names no source, so this hub finds no prices',
    'TELEMETRY_IP_SALT is set and not used: TELEMETRY_ENABLED=false rejects all pings'
  ]);
  assert.deepEqual(findHubWarnings(hubConfigOf(to, { ...key, PRICE_SOURCES: 'coinmarketcap' })), []);
});
