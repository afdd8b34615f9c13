import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { confirmByName } from '../../../src/cli/commands/confirm.ts';
import { FileTail } from '../../../src/cli/commands/log-tails.ts';
import { runCommandLine } from '../../support/command-line.ts';

const KEY = 'key-of-installation';
const NAME = 'indexer/litecoin/regtest';
const WHY = ['--confirm', NAME, '--reason', 'rows were compared'];

/** A service that shows one actor and takes orders. */
interface StandIn {
  readonly server: Server;
  readonly port: number;
  readonly orders: string[];
  state: string;
  halt: object | null;
}

async function listen(service: string, mode: string): Promise<StandIn> {
  const server = createServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${KEY}`) {
      response.writeHead(401).end(JSON.stringify({ error: 'Unauthorized' }));
      return;
    }
    if (request.method === 'POST') standIn.orders.push(request.url ?? '');
    const cleared = { ok: true, cleared: true, was: { reason: 'hash-mismatch' } };
    const report = { phase: 'live', lagBlocks: 0, lastError: null, replica: { halt: standIn.halt } };
    const actor = { key: NAME, state: standIn.state, reason: null, waiting: null, restarts: { total: 2 }, report };
    const id = { dbType: 'indexer', chain: 'litecoin', network: 'regtest' };
    const entries = [
      { kind: 'message', seq: 1, at: 1_000, actor: id, type: 'report', direction: 'in', ms: 1 },
      { kind: 'transition', seq: 2, at: 2_000, actor: id, machine: 'replica', event: 'go', from: null, to: 'live' },
      { kind: 'blocks', seq: 3, at: 3_000, actor: id, direction: 'in', first: 7, last: 9 }
    ];
    const isFirst = request.url === '/debug/live?after=0';
    const live = { service, mode, seq: 3, entries: isFirst ? entries : [], databases: [actor] };
    response.end(JSON.stringify(request.method === 'POST' ? cleared : live));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = (server.address() as AddressInfo).port;
  const standIn: StandIn = { server, port, orders: [], state: 'running', halt: null };
  return standIn;
}

let directory: string;
let client: StandIn;
let source: StandIn;
let installation: Record<string, string>;

before(async () => {
  [source, client] = await Promise.all([listen('sync', 'server'), listen('sync', 'client')]);
  directory = mkdtempSync(join(tmpdir(), 'platform-operator-'));
  mkdirSync(join(directory, 'logs'));
  writeFileSync(join(directory, 'api-key'), `${KEY}\n`);
  installation = {
    UP_STATE_DIR: directory,
    UP_SERVICES: 'hub,sync,replica',
    HUB_PORT: '1',
    SYNC_API_PORT: String(source.port),
    UP_REPLICA_PORT: String(client.port)
  };
});

after(() => {
  for (const { server } of [source, client]) server.close();
  rmSync(directory, { recursive: true, force: true });
});

beforeEach(() => {
  for (const standIn of [source, client]) {
    standIn.orders.length = 0;
    [standIn.state, standIn.halt] = ['running', null];
  }
});

test('halt list finds the services of an installation with its key; halt clear asks for name and reason first', async () => {
  const none = await runCommandLine(['halt'], installation);
  assert.deepEqual(none, { code: 0, stdout: 'nothing is halted\n', stderr: '' });
  client.halt = { reason: 'hash-mismatch' };
  const listed = await runCommandLine(['halt', 'list'], installation);
  assert.match(listed.stdout, new RegExp(`^replica +${NAME} +hash-mismatch; find out which sources are right`, 'm'));
  const bare = await runCommandLine(['halt', 'clear', NAME], installation);
  assert.equal(bare.code, 64);
  assert.match(bare.stderr, new RegExp(`halt clear needs --confirm ${NAME}`));
  assert.deepEqual(client.orders, []);
  const cleared = await runCommandLine(['halt', 'clear', NAME, ...WHY, '--json'], installation);
  assert.deepEqual(JSON.parse(cleared.stdout), { service: 'replica', database: NAME, cleared: 'hash-mismatch' });
  assert.deepEqual(client.orders, [`/halt/clear/${NAME}?reason=rows%20were%20compared`]);
  assert.deepEqual(source.orders, []);
});

test('halt clear of a service that ends its halt itself names the command; of nothing it says so', async () => {
  client.halt = { reason: 'hash-mismatch' };
  const url = ['--url', `http://127.0.0.1:${client.port}`, '--key', KEY];
  const [elsewhere, unknown, wrongKey, down] = await Promise.all([
    runCommandLine(['halt', 'clear', NAME, '--service', 'sync', ...WHY], installation),
    runCommandLine(['halt', 'clear', 'decoder/litecoin/regtest', ...url]),
    runCommandLine(['halt', 'list', '--url', `http://127.0.0.1:${client.port}`, '--key', 'wrong']),
    runCommandLine(['halt', 'list', '--url', 'http://127.0.0.1:1'])
  ]);
  assert.deepEqual([elsewhere.code, unknown.code, wrongKey.code, down.code], [64, 64, 77, 69], down.stderr);
  assert.match(unknown.stderr, /no running client has a replica decoder\/litecoin\/regtest/);
});

test('actor: list, and pause, restart and resume of one; of two services with the same actor one must be named', async () => {
  const listed = await runCommandLine(['actor', 'list'], installation);
  assert.match(listed.stdout, new RegExp(`^sync +${NAME} +running +live +2 +-$`, 'm'));
  assert.match(listed.stdout, new RegExp(`^replica +${NAME} `, 'm'));
  const both = await runCommandLine(['actor', 'pause', NAME, ...WHY], installation);
  assert.equal(both.code, 64);
  assert.match(both.stderr, /is an actor of sync, replica: name one with --service/);
  const one = ['--service', 'replica'];
  const unconfirmed = await runCommandLine(['actor', 'restart', NAME, ...one, '--confirm', 'indexer'], installation);
  assert.equal(unconfirmed.code, 64);
  const idle = await runCommandLine(['actor', 'resume', NAME, ...one], installation);
  assert.match(idle.stdout, /is running: there is nothing to resume/);
  assert.deepEqual(client.orders, []);
  const paused = await runCommandLine(['actor', 'pause', NAME, ...one, ...WHY], installation);
  assert.equal(paused.code, 0, paused.stderr);
  client.state = 'paused';
  const resumed = await runCommandLine(['actor', 'resume', NAME, ...one, '--json'], installation);
  assert.deepEqual(JSON.parse(resumed.stdout), { service: 'replica', actor: NAME, action: 'resume' });
  assert.deepEqual(client.orders, [
    `/debug/actors/${NAME}/pause?reason=rows%20were%20compared`,
    `/debug/actors/${NAME}/restart?reason=`
  ]);
  assert.equal((await runCommandLine(['actor', 'kill', NAME], installation)).code, 64);
});

test('logs: of an installation the lines of its files in the order of their times; of a URL the events of the timeline', async () => {
  const write = (part: string, lines: readonly object[]) =>
    writeFileSync(join(directory, 'logs', `${part}.log`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  write('server', [
    { level: 30, time: 1_000, msg: 'first' },
    { level: 50, time: 3_000, msg: 'third', database: NAME }
  ]);
  write('client', [{ level: 40, time: 2_000, msg: 'second', err: { message: 'a cause' } }]);
  const [all, last, timeline, missing] = await Promise.all([
    runCommandLine(['logs'], installation),
    runCommandLine(['logs', '--lines', '1', '--json'], installation),
    runCommandLine(['logs', '--url', `http://127.0.0.1:${client.port}`, '--key', KEY]),
    runCommandLine(['logs', '--service', 'hub'], installation)
  ]);
  assert.deepEqual(all.stdout.trimEnd().split('\n'), [
    '1970-01-01T00:00:01.000Z sync info first',
    '1970-01-01T00:00:02.000Z replica WARN second (a cause)',
    `1970-01-01T00:00:03.000Z sync ERROR ${NAME} third`
  ]);
  assert.equal((JSON.parse(last.stdout) as { msg: string }).msg, 'third');
  assert.deepEqual(
    timeline.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(`${NAME} `)[1]),
    ['replica: go: begins -> live', 'applied blocks 7 to 9']
  );
  assert.equal(missing.code, 73);
});

test('a log file is read on where it ended, with a line that was half written, and from its start once it is truncated', async () => {
  const path = join(directory, 'logs', 'decoder.log');
  writeFileSync(path, 'a crash report\n{"level":30,"ti');
  const tail = new FileTail(directory, 'decoder');
  assert.deepEqual(
    (await tail.read()).map(({ text }) => text),
    ['decoder a crash report']
  );
  appendFileSync(path, 'me":5000,"msg":"whole"}\n');
  assert.deepEqual(
    (await tail.read()).map(({ at }) => at),
    [5_000]
  );
  truncateSync(path);
  appendFileSync(path, 'anew\n');
  assert.deepEqual(
    (await tail.read()).map(({ text }) => text),
    ['decoder anew']
  );
  writeFileSync(path, `${'x'.repeat(2_000_000)}\nthe end\n`);
  assert.deepEqual(
    (await new FileTail(directory, 'decoder').read()).map(({ text }) => text),
    ['decoder the end']
  );
});

test('COMMAND_INVALID: a terminal is asked for name and reason; another name or no reason ends the operation', async () => {
  const typed =
    (...answers: string[]) =>
    async () =>
      answers.shift() ?? '';
  assert.equal(await confirmByName('halt clear', NAME, {}, typed(NAME, ' tried ')), 'tried');
  assert.equal(await confirmByName('halt clear', NAME, { reason: 'given' }, typed(NAME)), 'given');
  const refused = { code: 'COMMAND_INVALID' };
  await assert.rejects(confirmByName('halt clear', NAME, {}, typed('indexer', 'tried')), refused);
  await assert.rejects(confirmByName('halt clear', NAME, {}, typed(NAME, '')), refused);
  await assert.rejects(confirmByName('halt clear', NAME, { confirm: NAME }, null), refused);
  await assert.rejects(confirmByName('halt clear', NAME, { confirm: NAME, reason: 'x'.repeat(201) }, null), refused);
});
