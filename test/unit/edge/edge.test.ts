import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Origin } from '../../../src/edge/origin.ts';
import { checkReader } from '../../../src/edge/rights.ts';
import { hasCode } from '../../../src/errors.ts';
import type { Nats } from '../../../src/sync/relay/link.ts';

const ID = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' } as const;

test('the origin has had enough of an edge: its caller is told to come later, and is not taken for hasty', async () => {
  const server = createServer((_, response) => response.writeHead(429, { 'retry-after': '7' }).end('{"error":"x"}'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = new Origin(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, undefined);
  const lines: unknown[] = [];
  const raw = Object.assign(new EventEmitter(), { url: '/schema/decoder/litecoin/regtest' });
  const reply = { raw, header: (...line: unknown[]) => lines.push(...line) } as unknown as FastifyReply;
  const request = { raw, headers: {} } as unknown as FastifyRequest;
  await assert.rejects(origin.answer(request, reply), (caught) => hasCode(caught, 'ACTOR_BUSY'));
  assert.deepEqual(lines, ['retry-after', '7']);
  await origin.close();
  server.close();
});

test('STREAM_WRITABLE is ruled out by a refusal for want of rights alone', async () => {
  const answering = (fault: object) => {
    const publish = () => Promise.reject(Object.assign(new Error('refused'), fault));
    return { messages: { publish } } as unknown as Nats;
  };
  await assert.rejects(checkReader(answering({ code: 10_071 }), ID), (caught) => hasCode(caught, 'STREAM_WRITABLE'));
  await assert.rejects(checkReader(answering({ message: 'timeout' }), ID), /timeout/);
  await checkReader(answering({ message: 'Permissions Violation for Publish to "platform.v1.a"' }), ID);
});
