import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { freeze, thaw } from '../support/freeze.ts';
import { startTestLitecoind } from '../support/litecoin.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { readRules } from '../support/prometheus.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from '../support/service-process.ts';
import { startSyncProcess } from '../support/sync/sync-process.ts';

/** Age of a fault by which it must be told; the look that sees it may come later on a busy machine. */
const TOLD_S = 10;
const KEY = 'key-of-the-standing-parts';

type Body = Readonly<Record<string, unknown>>;

/** One running service, and where it tells its state. */
interface Told {
  readonly pid: number;
  readonly url: string;
  log(): string;
}

/** One expectation: a service that shows the fault, by the part of each of its doors that changes. */
interface Shown {
  readonly service: string;
  /** Tells whether the body of `GET /status` shows it. */
  readonly status?: (body: Body) => boolean;
  /** True where `GET /readyz` is not ready. */
  readonly isUnready?: boolean;
  /** A line of `GET /metrics`, and the alert that reads it. */
  readonly metric: readonly [line: RegExp, alert: string];
  /** Metrics that tell nothing meanwhile. */
  readonly unknown?: readonly string[];
  readonly log?: RegExp;
}

/** A row of the console: service, state and reason. */
type Row = readonly [service: string, state: string, reason: RegExp];

async function get(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${KEY}` },
    signal: AbortSignal.timeout(5_000)
  });
  return { status: response.status, text: await response.text() };
}

const alarmOf = (body: Body) =>
  body['alarm'] as { code: string; reason: string; remedy: string; for_s: number } | undefined;

/** Whether an alarm tells code and remedy, in time. */
const tells = (code: string) => (body: Body) => {
  const alarm = alarmOf(body);
  return alarm?.code === code && alarm.reason.length > 0 && alarm.remedy.length > 0 && alarm.for_s <= TOLD_S;
};

async function startPlatform() {
  const coin = await startTestLitecoind({ flags: ['-txindex=1'] });
  await coin.node.mine(3);
  const { root, pid: mariadb } = await startOwnServer();
  const services = new Map<string, Told>();
  const start = async (service: string, prefix: string, env: Readonly<Record<string, string>>, name = service) => {
    const port = await freePort();
    const place = { [`${prefix}_HOST`]: '127.0.0.1', [`${prefix}_PORT`]: String(port) };
    const { child, output } = startServiceProcess(name, { ...nodeEnv(coin.node), ...place, ...env });
    const running = { pid: child.pid!, url: `http://127.0.0.1:${port}`, log: output };
    services.set(service, running);
    return { ...running, port };
  };
  const at = (prefix: string, database: DatabaseCoordinates) => databaseEnv(prefix, database);
  const base = await createDatabase('standing_decoder', root);
  const hub = await start('hub', 'HUB', { ...at('HUB', await createDatabase('standing_hub')), NETWORK: '' });
  const decoder = await start('decoder', 'DECODER_API', at('DECODER', base));
  const tracked = at('UTXO', await createDatabase('standing_tracker', root));
  const tracker = await start('tracker', 'UTXO_TRACKER_API', tracked, 'utxo');
  const encoder = await start('encoder', 'ENCODER_API', { UTXO_TRACKER_URL: tracker.url });
  const miner = await start('miner', 'REGTEST_MINER_API', { IDLE_MINE_INTERVAL_MS: '0' });
  await until('the hub is named the database', async () => {
    const { host, port, name, user, pass } = base;
    const module = { db_host: host, db_port: String(port), name, user, pass };
    const params = { config: { litecoin: { regtest: { 'platform-decoder': module } } } };
    const response = await fetch(hub.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'updateconfig', params })
    });
    return Object.hasOwn((await response.json()) as object, 'result');
  });
  const sync = await startSyncProcess({
    SYNC_MODE: 'server',
    SYNC_API_KEY: KEY,
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hub.port,
    HUB_REPOLL_INTERVAL: 1_000,
    CONSOLE_SERVICES: [decoder, tracker, encoder, miner].map(({ url }) => url).join(),
    CONSOLE_SERVICES_KEY: KEY
  });
  services.set('sync', { pid: sync.child.pid!, url: sync.url, log: sync.log });
  const rows = async () => {
    const { text } = await get(`${sync.url}/debug/live`);
    const { platform } = JSON.parse(text) as {
      platform: { rows: readonly { service: string; state: string; reason: string | null; lag: number | null }[] };
    };
    return platform.rows;
  };
  return { coin, mariadb, services, rows };
}

/** Waits until it holds. @throws {Error} that names what did not */
async function until(what: string, isTrue: () => Promise<boolean>, limitMs = PATIENCE_MS): Promise<void> {
  for (const end = Date.now() + limitMs; ; await sleep(100)) {
    if (await isTrue().catch(() => false)) return;
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
  }
}

test('a part that stands still is told within ten seconds, wherever it shows, with reason and remedy', async (t) => {
  const { coin, mariadb, services, rows } = await startPlatform();
  const of = (name: string) => services.get(name)!;
  const isReady = async (name: string) => (await get(`${of(name).url}/readyz`)).status === 200;
  const isWell = async () => {
    const words = await Promise.all([...services.keys()].map(isReady));
    const states = (await rows()).map(({ state }) => state);
    return words.every(Boolean) && states.length >= 6 && states.every((state) => state === 'well');
  };
  await until('all is well', isWell, 2 * PATIENCE_MS);

  const NODE = /^the coin node does not answer; check NODE_URL/;
  const RESTS: readonly Row[] = [
    ['decoder', 'waiting', /^rests on the coin node/],
    ['sync server', 'waiting', /^rests on the coin node/]
  ];
  const table: readonly { stops: string; pid: () => number; shown: readonly Shown[]; console: readonly Row[] }[] = [
    {
      stops: 'node',
      pid: () => coin.node.pid,
      shown: [
        {
          service: 'decoder',
          status: tells('NODE_UNREACHABLE'),
          isUnready: true,
          metric: [/^decoder_node_up{.*} 0$/m, 'PlatformNodeAway'],
          unknown: ['decoder_lag_blocks'],
          log: /waiting: the coin node does not answer/
        },
        {
          service: 'tracker',
          status: tells('NODE_UNREACHABLE'),
          isUnready: true,
          metric: [/^tracker_node_up{.*} 0$/m, 'PlatformNodeAway'],
          unknown: ['tracker_lag_blocks'],
          log: /waiting: the coin node does not answer/
        },
        {
          service: 'encoder',
          status: tells('NODE_UNREACHABLE'),
          isUnready: true,
          metric: [/^encoder_node_up 0$/m, 'PlatformNodeAway'],
          log: /the coin node cannot be used: the coin node does not answer/
        },
        {
          service: 'miner',
          status: ({ reason }) => reason === 'the coin node does not answer',
          isUnready: true,
          metric: [/^miner_node_up 0$/m, 'PlatformNodeAway'],
          log: /the coin node does not answer/
        }
      ],
      console: [['coin node', 'failed', NODE], ...RESTS]
    },
    {
      stops: 'MariaDB',
      pid: () => mariadb,
      shown: [
        {
          service: 'decoder',
          status: tells('DATABASE_UNAVAILABLE'),
          isUnready: true,
          metric: [/^decoder_readiness{state="unavailable"} 1$/m, 'PlatformServiceUnusable'],
          log: /waiting: the database does not answer/
        },
        {
          service: 'tracker',
          status: tells('DATABASE_UNAVAILABLE'),
          isUnready: true,
          metric: [/^tracker_readiness{state="unavailable"} 1$/m, 'PlatformServiceUnusable'],
          log: /waiting: the database does not answer/
        },
        {
          service: 'sync',
          isUnready: true,
          metric: [/^sync_database_silent_seconds{.*} [1-9]/m, 'PlatformSilent'],
          log: /has answered nothing for/
        }
      ],
      console: [['decoder', 'waiting', /the database does not answer/]]
    },
    {
      stops: 'hub',
      pid: () => of('hub').pid,
      shown: [
        {
          service: 'sync',
          metric: [/^sync_hub_up 0$/m, 'PlatformHubDown'],
          log: /error connecting to the hub/
        }
      ],
      console: []
    },
    {
      stops: 'source',
      pid: () => of('decoder').pid,
      shown: [], // of a sync server whose source stands still: silence.test.ts
      console: [
        ['decoder', 'failed', /./],
        ['sync server', 'waiting', /^rests on the decoder, which does not answer/]
      ]
    },
    {
      stops: 'tracker',
      pid: () => of('tracker').pid,
      shown: [
        {
          service: 'encoder',
          status: ({ tracker_reachable, tracker_fault }) =>
            tracker_reachable === false && tracker_fault === 'the UTXO tracker does not answer',
          isUnready: true,
          metric: [/^encoder_readiness{state="unavailable"} 1$/m, 'PlatformServiceUnusable'],
          log: /the UTXO tracker does not answer/
        }
      ],
      console: [['encoder', 'waiting', /^the UTXO tracker does not answer/]]
    }
  ];

  const alerts = readRules().groups.flatMap(({ rules }) => rules);
  for (const { stops, pid, shown, console } of table)
    await t.test(stops, async () => {
      await freeze(pid());
      try {
        for (const { service, status, isUnready, metric, unknown = [], log } of shown) {
          const { url } = of(service);
          const missing = async () => {
            const found: string[] = [];
            if (status && !status(JSON.parse((await get(`${url}/status`)).text) as Body)) found.push('status');
            if (isUnready && (await isReady(service))) found.push('readyz');
            const { text } = await get(`${url}/metrics`);
            if (!metric[0].test(text)) found.push(String(metric[0]));
            for (const name of unknown) if (new RegExp(`^${name}{`, 'm').test(text)) found.push(name);
            if (log && !log.test(of(service).log())) found.push('log');
            return found;
          };
          await until(
            `${service} tells that the ${stops} stands still`,
            async () => (await missing()).length === 0,
            20_000
          ).catch(async (caught: Error) => assert.fail(`${caught.message}: ${await missing()}`));
          const name = /\w+/.exec(metric[0].source.slice(1))![0];
          const rule = alerts.find(({ alert }) => alert === metric[1]);
          assert.ok(rule?.expr.includes(name), `${metric[1]} reads ${name}`);
        }
        for (const [service, state, reason] of console)
          await until(`the console: ${service} is ${state}`, async () =>
            (await rows()).some(
              (row) => row.service === service && row.state === state && reason.test(row.reason ?? '')
            )
          );
      } finally {
        thaw(pid());
      }
      await until(`all is well after the ${stops}`, isWell, 2 * PATIENCE_MS);
    });
});
