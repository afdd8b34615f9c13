import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { createExplored } from '../../support/explorer-database.ts';
import { runExplorer } from '../../support/explorer-process.ts';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { startServiceProcess } from '../../support/service-process.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const POLL_MS = 200;

let explored: Awaited<ReturnType<typeof createExplored>>;
let hub: RunningHub;
let explorer: Awaited<ReturnType<typeof runExplorer>>;

type Named = Partial<Pick<Awaited<ReturnType<typeof createExplored>>, 'indexer' | 'decoder'>>;

/** Names databases of a network to the hub; those of null are taken away. */
async function name(coin: string, network: string, databases: Named | null): Promise<void> {
  const modules = (['indexer', 'decoder'] as const).flatMap((service) => {
    const at: DatabaseCoordinates | undefined = (databases ?? explored)[service];
    if (!at) return [];
    const params = { db_host: at.host, db_port: String(at.port), name: at.name, user: at.user, pass: at.pass };
    const values = Object.entries(params).map(([param, value]) => [param, databases ? value : null]);
    return [[`platform-${service}`, Object.fromEntries(values)]];
  });
  await update({ [coin]: { [network]: Object.fromEntries(modules) } });
}

async function update(config: object): Promise<void> {
  const { json } = await hub.call('updateconfig', { config });
  assert.equal(json.error, undefined, JSON.stringify(json));
}

const status = async (path: string) => (await fetch(explorer.url + path)).status;
const becomes = (path: string, wanted: number) =>
  eventually(`${path} answers ${wanted}`, async () => (await status(path)) === wanted);

before(async () => {
  explored = await createExplored();
  hub = await runHub();
  await name('bitcoin', 'regtest', explored);
  explorer = await runExplorer({
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: String(hub.port),
    HUB_REPOLL_INTERVAL: String(POLL_MS),
    EXPLORER_RATE_LIMIT_RPM: '100000'
  });
});
after(async () => {
  await hub.stop();
  await explored.store.close();
});

test('networks that the hub names later are served without a restart, and end when it names them no longer', async () => {
  assert.equal(await status('/api/blocks'), 200, 'the only network needs no code');
  assert.equal(await status('/RLTC/api/blocks'), 503);
  await name('litecoin', 'regtest', explored);
  await becomes('/RLTC/api/blocks', 200);
  assert.equal(await status('/RBTC/api/blocks'), 200);
  assert.equal(await status('/api/blocks'), 404, 'of two networks one is to be named');

  const socket = new WebSocket(`${explorer.url.replace('http', 'ws')}/RLTC/api/stream`);
  await once(socket, 'message');
  await name('litecoin', 'regtest', null);
  const [code] = await once(socket, 'close');
  assert.equal(code, 1012);
  await becomes('/RLTC/api/blocks', 503);
  await becomes('/api/blocks', 200);
});

test('pages of several networks are below their codes, and lead to each other', async () => {
  await name('litecoin', 'regtest', explored);
  await becomes('/RLTC/api/blocks', 200);
  const page = async (path: string) => await (await fetch(explorer.url + path)).text();
  const home = await page('/');
  assert.match(home, /href="\/RLTC\/"/);
  assert.match(home, /href="\/RBTC\/"/);
  const links = [...(await page('/rltc')).matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path!);
  const own = links.filter((path) => !/^\/(?:console|docs|openapi)/.test(path));
  assert.ok(own.length > 3);
  for (const path of new Set(own)) {
    assert.match(path, /^\/RLTC\//);
    assert.equal(await status(path), 200, path);
  }
  const found = await fetch(`${explorer.url}/RLTC/search?q=TOKA`, { redirect: 'manual' });
  assert.equal(found.headers.get('location'), '/RLTC/token/TOKA');
  assert.equal(await status('/block/1'), 404, 'of two networks one is to be named');
  for (const path of ['/DOGE/block/1', '/DOGE/', '/Doge/']) assert.equal(await status(path), 503, path);
  for (const path of ['/Rltc/', '/rLTC/block/1', '/Rltc/search?q=TOKA', '/Rltc'])
    assert.equal(await status(path), 200, path);
});

test('a database that moves is followed, and one that is named by half leaves the network as it is', async () => {
  await name('litecoin', 'regtest', { indexer: { ...explored.indexer, name: 'is_nowhere' } });
  await becomes('/RLTC/api/blocks', 503);
  assert.equal(await status('/RBTC/api/blocks'), 200, 'the other network does not notice');
  await name('litecoin', 'regtest', { indexer: explored.indexer });
  await becomes('/RLTC/api/blocks', 200);
  await update({ litecoin: { regtest: { 'platform-decoder': { user: null } } } });
  await eventually('the missing account is logged', async () =>
    /litecoin-regtest: .*DECODER_DB_USER/.test(explorer.output())
  );
  assert.equal(await status('/RLTC/api/blocks'), 200);
});

test('a hub that goes away changes nothing; status says for how long', async () => {
  const age = async () => {
    const { data } = (await (await fetch(`${explorer.url}/api/status`)).json()) as {
      data: Readonly<Record<string, { readonly hub_config_age_seconds: number | null }>>;
    };
    return data['RBTC']?.hub_config_age_seconds ?? -1;
  };
  await eventually('the hub has just answered', async () => (await age()) === 0);
  await hub.stop();
  await eventually('the hub is missed', async () => /error connecting to the hub/.test(explorer.output()));
  assert.equal(await status('/RBTC/api/blocks'), 200);
  await eventually('its last answer is older', async () => (await age()) >= 2);
});

test('without a network and without a hub it says what to set', async () => {
  for (const [env, fault] of [
    [{}, /variable NETWORK: .* or set HUB_API_HOST/],
    [{ HUB_API_HOST: '127.0.0.1', INDEXER_DB_NAME: 'ledger' }, /INDEXER_DB_NAME: of one network; set NETWORK too/]
  ] as const) {
    const { exited, output } = startServiceProcess('explorer', { ...env });
    assert.equal(await exited, 78);
    assert.match(output(), fault);
  }
});
