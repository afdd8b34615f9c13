import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { ClientLimiter } from '../../../src/service/ingress/client-limiter.ts';
import { placeFor } from '../../../src/service/stream/place-for.ts';

const placed = ['a', 'a', 'b', 'a', 'b'].map((address, id) => ({ address, id }));

test('while all places are taken, the newest of the address that has the most gives way to one that has fewer', () => {
  assert.equal(placeFor(placed, 'c', 6), 'free');
  assert.deepEqual(placeFor(placed, 'c', 5), { address: 'a', id: 3 });
  assert.equal(placeFor(placed, 'b', 5), null, 'it would have as many');
  assert.equal(placeFor(placed, 'a', 5), null);
  const ones = ['a', 'b', 'c'].map((address) => ({ address }));
  assert.equal(placeFor(ones, 'd', 3), null);
});

test('a network of IPv6 gives way as a whole, also where each of its addresses has one place', () => {
  const network = Array.from({ length: 3 }, (_, n) => ({ address: `2001:db8:7:${n}::/64`, n }));
  assert.equal(placeFor(network, '198.51.100.1', 3), network[2]);
  assert.equal(placeFor(network, '2001:db8:7:9::/64', 3), null, 'one more of it');
  const provider = Array.from({ length: 3 }, (_, n) => ({ address: `2001:db8:${n}:0::/64`, n }));
  assert.equal(placeFor(provider, '198.51.100.1', 3), provider[2]);
});

test('no more connections are let in than there are places, however many come in one turn of the event loop', async () => {
  const addresses = new WeakMap<Socket, string>();
  const limiter = new ClientLimiter({
    maxPerAddress: 100,
    maxConnections: 8,
    addressOf: (socket) => addresses.get(socket)!
  });
  const sockets = Array.from({ length: 40 }, () => new Socket());
  const isIn = sockets.map((socket, n) => {
    addresses.set(socket, n < 8 ? '192.0.2.1' : '198.51.100.1');
    return limiter.arrive(socket);
  });
  const staying = (address: string) =>
    sockets.filter((socket, n) => isIn[n] && !socket.destroyed && addresses.get(socket) === address).length;
  assert.deepEqual([staying('192.0.2.1'), staying('198.51.100.1')], [4, 4]);
  const [last] = sockets.filter(({ destroyed }) => !destroyed).slice(-1);
  last!.destroy();
  await once(last!, 'close');
  const next = new Socket();
  addresses.set(next, '203.0.113.1');
  assert.ok(limiter.arrive(next), 'a place is free again, one alone');
  for (const socket of [...sockets, next]) socket.destroy();
});
