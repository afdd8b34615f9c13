import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import Type from 'typebox';
import { callMethod } from '../../src/service/rpc/call-method.ts';
import { rpcMethod } from '../../src/service/rpc/method.ts';
import { openBrowser } from '../support/browser.ts';
import { atEnd } from '../support/cleanup.ts';
import { createExplored } from '../support/explorer-database.ts';
import { startExplorer } from '../support/explorer-process.ts';
import { openRpc } from '../support/frame.ts';
import { runHub } from '../support/hub/run-hub.ts';

const STRANGER = 'stranger.example.org';
const SECRET = 'secret-of-a-database';

/** What a page of a stranger tries with a service: everything that a page can. */
const ATTACK = `async ([base, socketPath]) => {
  const got = [];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getallconfigs', params: {} });
  for (const [name, path, options] of [
    ['metrics', '/metrics', {}],
    ['debug', '/debug/live', {}],
    ['blocks', '/api/blocks', {}],
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

test('a page of another origin, also by rebinding, gets nothing from a service on the loopback', async () => {
  const explorer = await startExplorer(await createExplored());
  const hub = await runHub();
  await callMethod(
    hub.url,
    'updateconfig',
    { config: { LTC: { regtest: { 'platform-indexer': { pass: SECRET } } } } },
    { signal: AbortSignal.timeout(10_000) }
  );
  // What every other service is made of.
  let paid = 0;
  const [summary, result] = ['Pays', Type.Number()];
  const getallconfigs = rpcMethod({ ...{ summary, result }, write: true, run: () => ++paid });
  const payer = openRpc({ methods: { getallconfigs } });
  await payer.listen({ host: '127.0.0.1', port: 0 });
  atEnd(async () => {
    await payer.close();
    await hub.stop();
  });
  const { port: payerPort } = payer.server.address() as AddressInfo;
  const page = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>hello</p>'));
  page.listen(0, '127.0.0.1');
  await once(page, 'listening');
  atEnd(async () => void page.close());
  const { port } = page.address() as AddressInfo;
  const browser = await openBrowser({ args: [`--host-resolver-rules=MAP ${STRANGER} 127.0.0.1`] });
  for (const [url, socketPath] of [
    [explorer.url, '/api/websocket'],
    [hub.url, '/hub-db/subscribe'],
    [`http://127.0.0.1:${payerPort}`, '/nothing']
  ] as const) {
    const tab = await browser.newPage();
    await tab.goto(`http://${STRANGER}:${port}/`);
    assert.deepEqual(
      await tab.evaluate(`(${ATTACK})(${JSON.stringify([url, socketPath])})`),
      [],
      `another origin: ${url}`
    );
    // By now the stranger's name points at the service: its page is of the same origin.
    const rebound = `http://${STRANGER}:${new URL(url).port}`;
    await tab.goto(`${rebound}/livez`);
    assert.match(await tab.innerText('body'), /HOST_UNKNOWN|not known by the name/);
    assert.deepEqual(
      await tab.evaluate(`(${ATTACK})(${JSON.stringify([rebound, socketPath])})`),
      [],
      `rebound: ${url}`
    );
    await tab.goto(`${url}/livez`);
    assert.match(await tab.innerText('body'), /live/, 'its own page is served');
    await tab.close();
  }
  assert.equal(paid, 0);
});
