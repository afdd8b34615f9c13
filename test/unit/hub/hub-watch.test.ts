import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHubClient } from '../../../src/hub/client.ts';
import { AnswerDoubt } from '../../../src/hub/doubt.ts';
import { watchHub } from '../../../src/hub/hub-watch.ts';

const treeOf = (...chains: string[]) =>
  Object.fromEntries(chains.map((chain) => [chain, { regtest: { 'x-indexer': { name: 'D' } } }]));

test('an answer that removes everything or most is kept off for minutes, one that removes half counts', () => {
  const doubts = new AnswerDoubt();
  const judge = (names: string, at: number) => doubts.judge(new Set(names), at) === null;
  assert.equal(judge('', 0), true, 'nothing was known');
  assert.equal(judge('abcd', 1), true);
  assert.equal(judge('ab', 2), true);
  assert.equal(judge('', 3), false);
  assert.equal(judge('x', 300_002), false, 'others instead of the known ones are no better');
  assert.equal(judge('ab', 300_002), true);
  assert.equal(judge('', 300_003), false, 'the doubt begins anew');
  assert.equal(judge('', 600_003), true);
});

test('a hub whose database is empty for a while stops nothing, and is told as one that does not answer', async (t) => {
  let tree = treeOf('litecoin', 'dogecoin');
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: tree })));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const taken: string[][] = [];
  const answers: boolean[] = [];
  const errors: string[] = [];
  const stopping = new AbortController();
  const watching = watchHub({
    hub: createHubClient({ hosts: [{ host: '127.0.0.1', port }], timeoutMs: 1_000 }),
    repollMs: 5,
    maxWaitMs: 1_000,
    doubtMs: 400,
    signal: stopping.signal,
    log: { error: (_: unknown, line?: string) => void errors.push(String(line)) } as never,
    namesOf: (configs) => new Set(Object.keys(configs)),
    onAnswer: (answered) => void answers.push(answered),
    onConfigs: async (configs) => void taken.push(Object.keys(configs))
  });
  const until = async (what: string, isDone: () => boolean) => {
    for (const end = Date.now() + 10_000; !isDone(); await sleep(5)) assert.ok(Date.now() < end, what);
  };
  await until('it is named', () => taken.length > 0);
  tree = {};
  await until('it is doubted', () => answers.at(-1) === false);
  tree = treeOf('litecoin', 'dogecoin');
  await until('it counts again', () => answers.at(-1) === true);
  assert.ok(taken.every((names) => names.length === 2));
  assert.match(errors.join(), /no longer names 2 of 2 that it named/);
  tree = {};
  await until('it holds for long enough', () => taken.at(-1)?.length === 0);
  stopping.abort();
  await watching;
});
