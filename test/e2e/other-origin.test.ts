import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { openBrowser } from '../support/browser.ts';
import { atEnd } from '../support/cleanup.ts';
import { testServer } from '../support/mariadb.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { startPlatform } from '../support/services.ts';
import { eventually, replicasAt, temporaryDirectory } from '../support/sync/sync-process.ts';

const STRANGER = 'stranger.example.org';
const SOCKETS: Readonly<Record<string, string>> = {
  explorer: '/api/websocket',
  hub: '/hub-db/subscribe',
  sync: '/subscribe/indexer/litecoin/regtest',
  replica: '/subscribe/indexer/litecoin/regtest'
};

/** Attempts of a stranger's page on a service: everything that a page can do. */
const ATTACK = `async ([base, socketPath]) => {
  const got = [];
  const calls = ['getallconfigs', 'health', 'mine', 'create_tx'].map((method, id) => ({ jsonrpc: '2.0', id, method, params: {} }));
  const body = JSON.stringify(calls);
  for (const [name, path, options] of [
    ['metrics', '/metrics', {}],
    ['debug', '/debug/live', {}],
    ['blocks', '/api/blocks', {}],
    ['status', '/status', {}],
    ['descriptions', '/openapi.json', {}],
    ['call', '/', { method: 'POST', headers: { 'content-type': 'application/json' }, body }],
    ['call as text', '/', { method: 'POST', headers: { 'content-type': 'text/plain' }, body }]
  ]) {
    try {
      const answer = await fetch(base + path, options);
      const text = await answer.text();
      if (answer.ok) got.push(name + ': ' + text.slice(0, 200));
      else if (answer.status !== 421 && answer.status !== 404 && answer.status !== 415) got.push(name + ' ' + answer.status);
    } catch {}
  }
  const heard = await new Promise((resolve) => {
    const socket = new WebSocket(base.replace('http', 'ws') + socketPath);
    socket.onopen = () => resolve('a socket is open');
    socket.onmessage = ({ data }) => resolve(data);
    socket.onerror = () => resolve('');
    setTimeout(() => resolve(''), 3000);
  });
  return heard === '' ? got : [...got, heard];
}`;

const { services } = await startPlatform('');
const source = services.find(({ name }) => name === 'sync')!;
const replicaPort = await freePort();
startServiceProcess('sync', {
  ...source.env,
  SYNC_MODE: 'client',
  SYNC_SOURCES: source.url,
  SYNC_API_PORT: String(replicaPort),
  SYNC_STATE_DIR: temporaryDirectory('replica-state'),
  REPLICA_DB_PREFIX: 'replica_',
  ...replicasAt(await testServer())
});
const replica = { name: 'replica', url: `http://127.0.0.1:${replicaPort}` };
await eventually('the replica answers', async () => {
  return (await fetch(`${replica.url}/livez`).catch(() => undefined))?.status === 200;
});
const page = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>hello</p>'));
page.listen(0, '127.0.0.1');
await once(page, 'listening');
atEnd(async () => void page.close());
const { port } = page.address() as AddressInfo;
const browser = await openBrowser({ args: [`--host-resolver-rules=MAP ${STRANGER} 127.0.0.1`] });

for (const { name, url } of [...services, replica])
  test(`a page of another origin, also by rebinding, gets nothing from a ${name} without a key on the loopback`, async () => {
    const socketPath = SOCKETS[name] ?? '/nothing';
    const tab = await browser.newPage();
    const attack = (base: string) => tab.evaluate(`(${ATTACK})(${JSON.stringify([base, socketPath])})`);
    await tab.goto(`http://${STRANGER}:${port}/`);
    assert.deepEqual(await attack(url), [], 'another origin');
    // By now the stranger's name points at the service: its page is of the same origin.
    const rebound = `http://${STRANGER}:${new URL(url).port}`;
    await tab.goto(`${rebound}/livez`);
    assert.match(await tab.innerText('body'), /HOST_UNKNOWN|not known by the name/);
    assert.deepEqual(await attack(rebound), [], 'rebound');
    await tab.goto(`${url}/livez`);
    assert.match(await tab.innerText('body'), /live/, 'its own page is served');
    assert.notDeepEqual(await attack(url), [], 'and reads what it shows');
    await tab.close();
  });
