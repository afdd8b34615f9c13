import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { configMethods } from '../../../src/hub/methods/config.ts';
import { validatorMethods } from '../../../src/hub/methods/validators.ts';
import type { HubDatabase } from '../../../src/hub/store/database.ts';
import { silentLogger } from '../../../src/log.ts';
import { AuditLog } from '../../../src/service/audit/audit-log.ts';
import { createFrame } from '../../../src/service/frame.ts';
import { NO_ACTORS } from '../../../src/service/life/no-actors.ts';
import { definitionOf, openRpc } from '../../support/frame.ts';

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'audit-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

const entry = { at: '2026-01-01T00:00:00Z', from: '192.0.2.7', operation: 'o', target: 't', reason: null };

test('the audit log keeps its newest entries over a restart, in two files of a bounded size', async (t) => {
  const directory = directoryOf(t);
  const log = new AuditLog(directory, silentLogger);
  log.add({ ...entry, outcome: 'first' });
  await log.written;
  writeFileSync(join(directory, 'audit.jsonl'), `${' '.repeat(1_100_000)}\n`, { flag: 'a' });
  for (let at = 0; at < 1_005; at++) log.add({ ...entry, outcome: `${at}` });
  await log.written;
  assert.ok(readFileSync(join(directory, 'audit.jsonl')).length < 1_048_576);
  const again = new AuditLog(directory, silentLogger).newest;
  assert.deepEqual([again.length, again[0]!.outcome, again.at(-1)!.outcome], [1_000, '1004', '5']);
  assert.deepEqual(again, log.newest);
});

test('an entry behind a line that a crash cut is read after a restart, and lines that are no entries are left out', async (t) => {
  const directory = directoryOf(t);
  writeFileSync(join(directory, 'audit.jsonl'), `{}\n7\n${JSON.stringify({ ...entry, outcome: 'cut' }).slice(0, -9)}`);
  const log = new AuditLog(directory, silentLogger);
  for (const outcome of ['first', 'second']) log.add({ ...entry, outcome });
  await log.written;
  const again = new AuditLog(directory, silentLogger).newest;
  assert.deepEqual(
    again.map(({ outcome }) => outcome),
    ['second', 'first']
  );
});

test('an operation is noted whose caller has hung up before its answer', async (t) => {
  const [asked, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const pause = () => {
    asked.resolve();
    return done.promise;
  };
  const actors = { ...NO_ACTORS, control: { ...NO_ACTORS.control, pause } };
  const app = createFrame(definitionOf({ keys: { readers: ['reader'], operators: ['operator'] }, actors }));
  t.after(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const head = ['POST /debug/actors/indexer/litecoin/regtest/pause HTTP/1.1', 'Host: 127.0.0.1', 'Content-Length: 0'];
  socket.write(`${[...head, 'Authorization: Bearer operator'].join('\r\n')}\r\n\r\n`);
  await asked.promise;
  socket.destroy();
  const connections = () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));
  while ((await connections()) > 0) await sleep(5);
  done.resolve();
  await sleep(20);
  const answer = await app.inject({ url: '/debug/audit', headers: { authorization: 'Bearer reader' } });
  assert.deepEqual(
    answer.json<{ outcome: string }[]>().map(({ outcome }) => outcome),
    ['done']
  );
});

test('GET /debug/audit: each operation of an operator, with address, reason and outcome, also what was refused', async (t) => {
  const asked: string[] = [];
  const pause = async (_: unknown, by: string) => void asked.push(by);
  const stateDirectory = directoryOf(t);
  const definition = definitionOf({
    keys: { readers: ['reader'], operators: ['operator'] },
    actors: { ...NO_ACTORS, control: { ...NO_ACTORS.control, pause } },
    stateDirectory
  });
  const app = createFrame(definition);
  t.after(() => app.close());
  const press = async (action: string, key: string) => {
    const url = `/debug/actors/indexer/litecoin/regtest/${action}`;
    return (await app.inject({ method: 'POST', url, headers: { authorization: `Bearer ${key}` } })).statusCode;
  };
  assert.equal(await press('pause?reason=disk%20change', 'operator'), 202);
  assert.equal(await press('kill', 'reader'), 401);
  assert.ok((await press('restart', 'operator')) >= 400);
  assert.deepEqual(asked, ['from 127.0.0.1: disk change']);
  const answer = await app.inject({ url: '/debug/audit', headers: { authorization: 'Bearer reader' } });
  const entries =
    answer.json<{ operation: string; target: string; reason: string | null; outcome: string; from: string }[]>();
  assert.deepEqual(
    entries.map(({ operation, reason, outcome, from }) => [operation.split('/').at(-1), reason, outcome, from]),
    [
      ['restart', null, 'refused with 404', '127.0.0.1'],
      ['pause', 'disk change', 'done', '127.0.0.1']
    ]
  );
  assert.ok(entries.every(({ target }) => target === 'indexer/litecoin/regtest'));
  assert.equal((await app.inject({ url: '/debug/audit' })).statusCode, 401);
});

test('updateconfig is noted with the names that it writes, without their values, and a validator that is removed by its address', async (t) => {
  const database = { write: async () => undefined } as unknown as HubDatabase;
  const settings = { pushNeedsKey: true, isTrusted: () => true, minimumStakes: {} };
  const configuring = configMethods(database, null, { hasKey: true, readNeedsKey: undefined });
  const methods = Object.assign(validatorMethods(database, settings), configuring);
  const app = openRpc({ methods }, { keys: { readers: ['reader'] } });
  t.after(() => app.close());
  const headers = { authorization: 'Bearer reader' };
  const module = { pass: 'secret', port: '3306' };
  const removed = { jsonrpc: '2.0', method: 'deregistervalidator', params: { addr: 'validator.example:10001' }, id: 1 };
  await app.inject({ method: 'POST', url: '/', headers, payload: removed });
  for (const [network, params] of [
    ['mainnet', module],
    ['regtest', { odd: '1' }]
  ] as const) {
    const config = { litecoin: { [network]: { 'x-indexer': params } } };
    const payload = { jsonrpc: '2.0', method: 'updateconfig', params: { config }, id: 1 };
    await app.inject({ method: 'POST', url: '/', headers, payload });
  }
  const entries = (await app.inject({ url: '/debug/audit', headers })).json<{ target: string; outcome: string }[]>();
  assert.deepEqual(
    entries.map(({ target, outcome }) => [target, outcome]),
    [
      ['litecoin/regtest/x-indexer/odd', 'refused: REQUEST_INVALID'],
      ['litecoin/mainnet/x-indexer/pass, litecoin/mainnet/x-indexer/port', 'done'],
      ['validator.example:10001', 'done']
    ]
  );
});
