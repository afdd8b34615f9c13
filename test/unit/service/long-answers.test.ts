import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import Type from 'typebox';
import { KeptResult } from '../../../src/service/rpc/kept-result.ts';
import { rpcMethod } from '../../../src/service/rpc/method.ts';
import { StreamedResult } from '../../../src/service/rpc/streamed-result.ts';
import { atEnd } from '../../support/cleanup.ts';
import { openRpc } from '../../support/frame.ts';
import { until } from '../../support/listener.ts';
import { RawClient } from '../../support/raw-client.ts';

const MEGABYTE = 'x'.repeat(1_000_000);
const [summary, result] = ['A method', Type.Unknown()];
const call = (method: string, id: unknown = 1) => ({ jsonrpc: '2.0', method, id });

/** A service whose answers are a megabyte each, and the calls that it has carried out. */
async function open() {
  const done: string[] = [];
  const note =
    <T>(name: string, make: () => T) =>
    () => {
      done.push(name);
      return make();
    };
  const pages = async function* () {
    for (let page = 0; page < 20; page++) {
      done.push(`page ${page}`);
      const rows = Buffer.from(`,${JSON.stringify({ page, text: MEGABYTE })}`);
      yield rows;
      rows.fill('!'); // whoever asks for the next page is done with this one
    }
  };
  const nothing = () => Readable.from([]) as AsyncIterable<Uint8Array>;
  const methods = {
    big: rpcMethod({ summary, result, write: false, run: note('big', () => ({ text: MEGABYTE })) }),
    rows: rpcMethod({
      summary,
      result,
      write: false,
      run: note('rows', () => StreamedResult.ofRows(pages, { before: '{"rows":', after: ',"watermark":7}' }))
    }),
    none: rpcMethod({ summary, result, write: false, run: () => StreamedResult.ofRows(nothing) }),
    kept: rpcMethod({ summary, result, write: false, run: () => new KeptResult({ kept: true }) }),
    store: rpcMethod({ summary, result, write: true, run: note('store', () => 'stored') })
  };
  const app = openRpc({ methods });
  await app.listen({ host: '127.0.0.1', port: 0 });
  atEnd(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const post = async (body: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body: JSON.stringify(body) });
    await new Promise((resolve) => setTimeout(resolve, 200)); // more is there than the kernel takes
    return (await response.json()) as { id: number; result: unknown }[];
  };
  /** Asks and reads nothing of the answer. */
  const askDeaf = async (calls: unknown) => {
    const body = JSON.stringify(calls);
    const client = await RawClient.open(`127.0.0.1:${port}`, { deaf: true });
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    return client.say(head + body);
  };
  return { done, post, askDeaf };
}

describe('a long answer is made at the pace of its reader', () => {
  test('a batch: the next call is carried out when the answers before it are taken', async () => {
    const { done, post, askDeaf } = await open();
    const client = await askDeaf([...Array.from({ length: 40 }, (_, id) => call('big', id)), call('store')]);
    await until(() => done.length > 1, 'it has begun');
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.ok(done.length < 12, `${done.length} calls are done for a caller that reads nothing`);
    client.socket.destroy();
    await until(() => done.includes('store'), 'what it asked to be written is written');
    assert.ok(done.length < 14, 'what nobody reads is not made');
    const replies = await post([
      call('big', 1),
      call('kept', 2),
      call('none', 3),
      call('nonesuch', 4),
      call('rows', 5)
    ]);
    assert.deepEqual(
      replies.map(({ id }) => id),
      [1, 2, 3, 4, 5]
    );
    assert.deepEqual([replies[1]!.result, replies[2]!.result], [{ kept: true }, []]);
  });

  test('a result in parts: they are made as they are read', async () => {
    const { done, post, askDeaf } = await open();
    const client = await askDeaf(call('rows'));
    await until(() => done.length > 1, 'it has begun');
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.ok(done.length < 12, `${done.length} pages are read for a caller that reads nothing`);
    const { length } = done;
    client.socket.destroy();
    await once(client.socket, 'close');
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(done.length <= length + 1, 'nothing is read for who has left');
    const { result } = (await post(call('rows'))) as unknown as { result: { rows: unknown[]; watermark: number } };
    assert.deepEqual([result.rows.length, result.watermark], [20, 7]);
  });
});
