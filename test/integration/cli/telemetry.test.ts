import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Compile } from 'typebox/compile';
import { exitCodeOf } from '../../../src/cli/exit-codes.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { type Ping, PingSchema } from '../../../src/wire/telemetry.ts';
import { INHERITED } from '../../support/service-process.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const ping = Compile(PingSchema);
const CANARY = 'canary-of-the-privacy-test';

/** Opens a receiver of pings; a field beside those of the list fails the test. */
async function openSink(t: TestContext) {
  const pings: Ping[] = [];
  const texts: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    texts.push(JSON.stringify([request.url, request.headers]), body);
    const found: unknown = JSON.parse(body);
    assert.ok(ping.Check(found), body);
    pings.push(found);
    response.end('{"status":"success"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/telemetry`, pings, texts };
}

function openHome(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'platform-home-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Runs the command line in a home of its own, and ends a service after a while. */
async function run(home: string, argv: readonly string[], env: Record<string, string>, until?: () => boolean) {
  // An argument of Node's own, for a service takes none that could be secret.
  const child = spawn(process.execPath, [`--title=${CANARY}`, MAIN, ...argv], {
    cwd: home,
    env: { ...INHERITED, HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  });
  const output = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.err += text));
  const closed = once(child, 'close');
  if (until) {
    for (const end = Date.now() + 15_000; !until() && Date.now() < end && child.exitCode === null; ) await sleep(20);
    child.kill('SIGTERM');
  }
  const [code] = await closed;
  return { code: code as number | null, ...output };
}

/** A decoder whose database is away goes on waiting, which is a start all the same. */
const decoder = async (more: Record<string, string>) => ({
  NETWORK: 'litecoin-mainnet',
  NODE_USER: CANARY,
  NODE_PASSWORD: CANARY,
  DECODER_API_HOST: '127.0.0.1',
  DECODER_API_PORT: String(await freePort()),
  DECODER_DB_HOST: '127.0.0.1',
  DECODER_DB_PORT: '9',
  DECODER_DB_NAME: 'D',
  DECODER_DB_USER: CANARY,
  DECODER_DB_PASS: CANARY,
  NODE_PORT: '9',
  ...more
});
const HUB_DATABASE = {
  HUB_HOST: '127.0.0.1',
  HUB_DB_HOST: '127.0.0.1',
  HUB_DB_PORT: '9',
  HUB_DB_NAME: 'H',
  HUB_DB_USER: 'u',
  HUB_DB_PASS: CANARY
};
const preferenceOf = (home: string) =>
  JSON.parse(readFileSync(join(home, '.platform-node', 'telemetry.json'), 'utf8')) as Record<string, unknown>;

test('a service reports its start once a day, after one notice, and tells no secret', async (t) => {
  const [sink, home] = [await openSink(t), openHome(t)];
  const env = await decoder({ PLATFORM_NODE_TELEMETRY_URL: sink.url, [`SECRET_${CANARY}`]: CANARY });
  writeFileSync(join(home, 'config.json'), JSON.stringify({ NODE_URL: `http://${CANARY}.example` }));
  writeFileSync(join(home, CANARY), CANARY);
  const first = await run(home, ['decoder'], env, () => sink.pings.length > 0);
  assert.equal(sink.pings.length, 1, first.err);
  assert.match(first.err, /platform-node telemetry off/);
  const [sent] = sink.pings;
  assert.deepEqual([sent?.event, sent?.os_platform, sent?.arch], ['install', process.platform, process.arch]);
  const [running, ...others] = sent?.modules?.filter((module) => module.running) ?? [];
  assert.deepEqual([running?.module, running?.coin, running?.network, others], ['decoder', 'litecoin', 'mainnet', []]);
  for (const secret of [CANARY, home, 'SECRET_']) assert.ok(!sink.texts.join('').includes(secret), secret);

  const directory = join(home, '.platform-node');
  const modes = [directory, join(directory, 'telemetry.json')].map((path) => (statSync(path).mode & 0o777).toString(8));
  assert.deepEqual(modes, ['700', '600']);
  const kept = preferenceOf(home);
  assert.equal(kept['installId'], sent?.install_id);

  const enough = Date.now() + 6_000;
  const again = await run(home, ['decoder'], env, () => Date.now() > enough);
  assert.equal(sink.pings.length, 1, 'twice in a day is told once');
  assert.ok(!again.err.includes('telemetry off'), 'the notice is shown once');
  const file = join(directory, 'telemetry.json');
  writeFileSync(file, JSON.stringify({ ...kept, lastPingAt: new Date(Date.now() - 25 * 3_600_000).toISOString() }));
  await run(home, ['decoder'], env, () => sink.pings.length > 1);
  assert.deepEqual([sink.pings[1]?.event, sink.pings[1]?.install_id], ['start', kept['installId']]);
  writeFileSync(file, JSON.stringify({ ...kept, lastVersion: '0.0.1' }));
  await run(home, ['decoder'], env, () => sink.pings.length > 2);
  assert.equal(sink.pings[2]?.event, 'update');
});

test('--no-telemetry is remembered; the variable is not; telemetry on and off are the switch', async (t) => {
  const [sink, home] = [await openSink(t), openHome(t)];
  const env = await decoder({ PLATFORM_NODE_TELEMETRY_URL: sink.url });
  const shown = await run(home, ['telemetry', 'show'], { ...env, PLATFORM_NODE_NO_TELEMETRY: '1' });
  assert.match(shown.out, /not sent: PLATFORM_NODE_NO_TELEMETRY is set/);
  assert.ok(!existsSync(join(home, '.platform-node')));
  const show = await run(home, ['telemetry'], env);
  assert.ok(ping.Check(JSON.parse(show.out.slice(show.out.indexOf('{')))), show.out);
  assert.ok(show.out.includes(`sent to ${sink.url}`));
  const { url, ping: next } = JSON.parse((await run(home, ['telemetry', '--json'], env)).out) as Record<
    string,
    unknown
  >;
  assert.equal(url, sink.url);
  assert.ok(ping.Check(next), JSON.stringify(next));
  assert.equal((await run(home, ['telemetry', 'show', 'database'], env)).code, 64);
  await run(home, ['decoder', '--no-telemetry'], env, () => preferenceOf(home)['optOut'] === true);
  assert.equal(preferenceOf(home)['optOut'], true);
  assert.match((await run(home, ['telemetry', 'show'], env)).out, /not sent: it was turned off/);
  assert.match((await run(home, ['telemetry', 'on'], env)).out, /are sent to/);
  const off = JSON.parse((await run(home, ['telemetry', 'off', '--json'], env)).out) as Record<string, unknown>;
  assert.deepEqual([off['url'], off['ping']], [null, null]);
  assert.match((await run(home, ['telemetry', 'off'], env)).out, /not sent: it was turned off/);
  assert.equal((await run(home, ['telemetry', 'maybe'], env)).code, 64);
  assert.deepEqual(sink.pings, []);
});

test('show prints for a service exactly the ping that its start sends, under the same id', async (t) => {
  const [sink, home] = [await openSink(t), openHome(t)];
  const env = await decoder({ PLATFORM_NODE_TELEMETRY_URL: sink.url });
  const shown = (await run(home, ['telemetry', 'show', 'decoder'], env)).out;
  const first = await run(home, ['decoder'], env, () => sink.pings.length > 0);
  assert.match(first.err, /platform-node telemetry off/, 'the notice is shown all the same');
  assert.deepEqual(JSON.parse(shown.slice(shown.indexOf('{'))), sink.pings[0]);
});

test('services of one home that start together are told by one ping', async (t) => {
  const [sink, home] = [await openSink(t), openHome(t)];
  const url = { PLATFORM_NODE_TELEMETRY_URL: sink.url };
  const until = () => sink.pings.length > 0;
  await Promise.all([
    run(home, ['decoder'], await decoder(url), until),
    run(home, ['decoder'], await decoder({ ...url, NETWORK: 'bitcoin-testnet' }), until),
    run(home, ['hub'], { ...url, ...HUB_DATABASE, HUB_PORT: String(await freePort()) }, until)
  ]);
  assert.equal(sink.pings.length, 1);
  const running = sink.pings[0]?.modules?.filter((module) => module.running) ?? [];
  assert.deepEqual(running.map(({ module, coin, network }) => [module, coin, network].join(' ').trim()).sort(), [
    'decoder bitcoin testnet',
    'decoder litecoin mainnet',
    'hub'
  ]);
  const later = (await run(home, ['telemetry', 'show'], url)).out;
  const modules: Ping['modules'] = JSON.parse(later.slice(later.indexOf('{'))).modules;
  assert.ok(
    modules?.every((module) => !module.running),
    'they have ended'
  );
});

test('--no-telemetry is remembered with --no-guardian and --check-config too, and replaces a file that cannot be read', async (t) => {
  const home = openHome(t);
  const file = join(home, '.platform-node', 'telemetry.json');
  for (const [argv, content] of [
    [['hub', '--check-config', '--no-telemetry'], undefined],
    [['hub', '--no-guardian', '--no-telemetry'], '{}'],
    [['hub', '--check-config', '--no-telemetry'], 'damaged'],
    [['telemetry', 'off'], '{"optOut":"damaged"}']
  ] as const) {
    if (content !== undefined) writeFileSync(file, content);
    await run(home, argv, {});
    assert.equal(preferenceOf(home)['optOut'], true, argv.join(' '));
  }
  writeFileSync(file, 'damaged');
  const shown = await run(home, ['telemetry', 'show'], {});
  assert.match(shown.out, /not sent: .* holds no readable preference/);
  assert.equal(shown.code, 0);
});

test('STATE_UNUSABLE: where the choice cannot be kept, off fails with one line, and a start says so and goes on', async (t) => {
  const home = openHome(t);
  writeFileSync(join(home, '.platform-node'), 'no directory');
  const off = await run(home, ['telemetry', 'off'], {});
  assert.match(off.err, /^platform-node telemetry: the choice cannot be kept in .*\n$/);
  assert.equal(off.code, exitCodeOf('STATE_UNUSABLE'));
  const checked = await run(home, ['hub', '--check-config', '--no-telemetry'], { ...HUB_DATABASE, HUB_PORT: '1' });
  assert.match(checked.err, /--no-telemetry counts for this start, but cannot be remembered: /);
  assert.equal(checked.code, 0);
});

test('a receiver that never answers delays no stop, and a service that ends at once is told by a later start', async (t) => {
  const silent = createNetServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  let asked = 0;
  silent.on('connection', (socket) => {
    asked++;
    t.after(() => socket.destroy());
  });
  const urlOf = (port: number) => ({ PLATFORM_NODE_TELEMETRY_URL: `http://127.0.0.1:${port}/telemetry` });
  const home = openHome(t);
  const away = urlOf((silent.address() as AddressInfo).port);
  // It lacks all settings, so that it ends before anything is told.
  const [without, ended] = [
    await run(openHome(t), ['decoder'], { PLATFORM_NODE_NO_TELEMETRY: '1' }),
    await run(home, ['decoder'], away)
  ];
  assert.equal(without.code, 78);
  assert.deepEqual(ended, without);
  assert.equal(asked, 0);
  assert.ok(!existsSync(join(home, '.platform-node')));

  const stopped = await run(home, ['decoder'], await decoder(away), () => asked > 0);
  const endedAt = Date.now();
  assert.equal(asked, 1, stopped.err);
  assert.equal(stopped.code, 0, stopped.err);
  const last = (stopped.out + stopped.err).split('\n').findLast((line) => line.includes('"msg":"stopped"')) ?? '{}';
  const { time } = JSON.parse(last) as { time?: string };
  assert.ok(
    endedAt - Date.parse(time ?? '') < 4_000,
    'the process waits for the receiver once the service has stopped'
  );
  assert.ok(preferenceOf(home)['lastPingAt'], 'a receiver that does not answer is asked once a day too');
});

test('a receiver that is away changes nothing that a service says', async (t) => {
  const choose = async (more: Record<string, string>) => {
    const home = openHome(t);
    mkdirSync(join(home, '.platform-node'), { mode: 0o700 });
    writeFileSync(join(home, '.platform-node', 'telemetry.json'), '{"noticeShown":true}');
    const enough = Date.now() + 7_000;
    const { code, err } = await run(home, ['decoder'], await decoder(more), () => Date.now() > enough);
    return {
      code,
      telemetry: err.split('\n').filter((line) => /telemetry|ping/i.test(line)),
      preference: preferenceOf(home)
    };
  };
  const [away, off] = await Promise.all([
    choose({ PLATFORM_NODE_TELEMETRY_URL: `http://127.0.0.1:${await freePort()}/telemetry` }),
    choose({ PLATFORM_NODE_NO_TELEMETRY: '1' })
  ]);
  assert.deepEqual([away.code, away.telemetry], [0, []]);
  assert.deepEqual([off.code, off.telemetry], [0, []]);
  assert.ok(away.preference['lastPingAt'] && !off.preference['lastPingAt']);
});
