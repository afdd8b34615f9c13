import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { createAddressReader } from '../../../src/service/callers/address.ts';
import { createAuthenticator } from '../../../src/service/callers/auth.ts';

const from = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  }) as unknown as IncomingMessage;

test('addresses: IPv4-mapped as IPv4, IPv6 by its first 64 bits, forged headers ignored', () => {
  const read = createAddressReader();
  assert.equal(read(from('192.0.2.1')), '192.0.2.1');
  assert.equal(read(from('::ffff:192.0.2.1')), '192.0.2.1');
  assert.equal(read(from('192.0.2.1', '10.0.0.1')), '192.0.2.1');
  const same = ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:0db8:0001:0002::'];
  assert.equal(new Set(same.map((address) => read(from(address)))).size, 1);
  assert.notEqual(read(from('2001:db8:1:3::1')), read(from('2001:db8:1:2::1')));
  assert.equal(read(from('::1')), '0:0:0:0::/64');
  assert.equal(read(from('fe80::1%eth0')), 'fe80:0:0:0::/64');
});

test('addresses: behind listed proxies the nearest entry that is none of them counts', () => {
  const read = createAddressReader(['10.0.0.1', '172.16.0.0/12', '::1']);
  assert.equal(read(from('10.0.0.1', '203.0.113.7')), '203.0.113.7');
  assert.equal(read(from('::ffff:10.0.0.1', '198.51.100.1, 203.0.113.7, 172.16.5.5')), '203.0.113.7');
  assert.equal(read(from('::1', '203.0.113.7')), '203.0.113.7');
  assert.equal(read(from('192.0.2.1', '203.0.113.7')), '192.0.2.1', 'the peer is no proxy');
  assert.equal(read(from('10.0.0.1', '203.0.113.7:1234')), '203.0.113.7', 'gateways may write the port');
  assert.equal(read(from('10.0.0.1', '[2001:db8:1:2::7]:80, 172.16.5.5:9')), '2001:db8:1:2::/64');
  assert.equal(read(from('10.0.0.1', '[2001:db8:1:2::7]')), '2001:db8:1:2::/64');
  assert.equal(read(from('10.0.0.1', 'garbage')), '10.0.0.1');
  assert.equal(read(from('10.0.0.1')), '10.0.0.1');
});

test('CONFIG_INVALID: TRUST_PROXY names what is no address', () => {
  for (const entry of ['localhost', '10.0.0.0/99', '']) {
    assert.throws(() => createAddressReader([entry]), { code: 'CONFIG_INVALID' }, entry);
  }
});

test('a token in the WebSocket subprotocols counts for upgrades, beside the protocol itself', () => {
  const { admits } = createAuthenticator({ readers: ['s3cret'] });
  const bearer = `bearer.${Buffer.from('s3cret').toString('base64url')}`;
  const offer = (value: string) => ({ 'sec-websocket-protocol': value });
  assert.equal(admits(offer(`${bearer}, platform-sync.v1`), true), true);
  assert.equal(admits(offer(`platform-sync.v1,${bearer}`), true), true);
  assert.equal(admits(offer(`${bearer}, platform-sync.v1`), false), false);
  assert.equal(admits(offer(bearer), true), false);
  assert.equal(admits({ authorization: 'bearer s3cret' }, false), true);
  assert.equal(admits({ authorization: 'Bearer s3cre' }, false), false);
  assert.equal(createAuthenticator({ operators: ['s3cret'] }).configured, false);
});
