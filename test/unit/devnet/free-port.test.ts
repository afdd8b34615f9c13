import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { choosePorts } from '../../../src/devnet/settings.ts';

test('a free port is one that can be listened on, outside the range of outgoing connections', async () => {
  const [first, last] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/).map(Number);
  for (let i = 0; i < 50; i++) {
    const port = await freePort();
    assert.ok(port < first! || port > last!, `${port} is within ${first} to ${last}`);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    await new Promise((resolve) => server.close(resolve));
  }
});

test('PORT_IN_USE: the devnet begins on no port on which another program listens, and names it', async (t) => {
  const server = createServer();
  const hub = await freePort();
  await new Promise<void>((resolve) => server.listen(hub, '127.0.0.1', resolve));
  t.after(() => server.close());
  await assert.rejects(choosePorts({ hub, miner: await freePort() }), {
    code: 'PORT_IN_USE',
    message: new RegExp(`another program listens on hub: 127\\.0\\.0\\.1:${hub} `)
  });
  assert.equal((await choosePorts({})).hub > 0, true);
});

test('ports that are asked for one after the other are all different, though nothing listens on them yet', async () => {
  const ports = new Set<number>();
  for (let asked = 0; asked < 600; asked++) ports.add(await freePort());
  assert.equal(ports.size, 600);
});

test('a free port is never one that fetch refuses to ask', async (t) => {
  const drawn = [10_080, 10_080, 10_081];
  t.mock.method(crypto, 'randomInt', () => drawn.shift() ?? 10_082);
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  assert.notEqual(await freePort(), 10_080);
  await assert.rejects(fetch('http://127.0.0.1:10080/'), ({ cause }: Error) => /bad port/.test(String(cause)));
});
