import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import manifest from '../../../package.json' with { type: 'json' };
import { COMMAND_NAMES } from '../../../src/cli/commands.ts';
import { readContainerService } from '../../../src/cli/service-address.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { runCommandLine } from '../../support/command-line.ts';

const HUB = {
  HUB_DB_HOST: 'db',
  HUB_DB_PORT: '3306',
  HUB_DB_NAME: 'hub',
  HUB_DB_USER: 'hub',
  HUB_DB_PASS: 'hunter2-hunter2'
};

test('--version prints the version, a semantic one; --help every command', async () => {
  assert.match(manifest.version, /^\d+\.\d+\.\d+$/);
  const [version, help] = await Promise.all([runCommandLine(['--version']), runCommandLine(['--help'])]);
  assert.deepEqual(version, { code: 0, stdout: `${manifest.version}\n`, stderr: '' });
  assert.equal(help.code, 0);
  for (const name of COMMAND_NAMES) assert.match(help.stdout, new RegExp(`^ {2}${name} +\\S`, 'm'));
  assert.doesNotMatch(help.stdout, /cannot be loaded/);
});

test('COMMAND_INVALID: an unknown command is answered with the nearest known one, and 64', async () => {
  const { code, stdout, stderr } = await runCommandLine(['snyc']);
  assert.deepEqual({ code, stdout }, { code: 64, stdout: '' });
  assert.match(stderr, /^platform-node snyc: unknown command "snyc"; did you mean sync\?.*--help.*\n$/);
});

test('COMMAND_INVALID: an unknown option and a number out of bounds', async () => {
  const [unknown, bounds] = await Promise.all([
    runCommandLine(['status', '--ulr', 'http://x']),
    runCommandLine(['devnet', '--once', '--blocks', '7'])
  ]);
  assert.equal(unknown.code, 64);
  assert.match(unknown.stderr, /'--ulr'/);
  assert.equal(bounds.code, 64);
  assert.match(bounds.stderr, /--blocks 7 must be a whole number from \d+ to \d+/);
});

test('CONFIG_INVALID: every fault is listed at once, one line each, with reason and example; exit code 78', async () => {
  const { code, stderr } = await runCommandLine(['sync', '--check-config'], {
    SYNC_MODE: 'both',
    SYNC_API_PORT: '70000',
    SYNC_SOURCES: 'ftp://x',
    HUB_PORT: 'tcp://10.0.0.1:10000',
    REPLICA_DB_READONLY: 'perhaps'
  });
  assert.equal(code, 78);
  const lines = stderr.trimEnd().split('\n');
  for (const fault of [
    /SYNC_MODE="both" must be one of server, client; example: SYNC_MODE=server/,
    /SYNC_API_PORT="70000" must be a port number from 0 to 65535; example: SYNC_API_PORT=3006/,
    /SYNC_SOURCES="ftp:\/\/x" must be base URLs/,
    /HUB_PORT="tcp:.*enableServiceLinks: false/,
    /REPLICA_DB_READONLY="perhaps" must be true or false/,
    /missing required environment variable HUB_API_HOST/
  ]) {
    assert.equal(lines.filter((line) => fault.test(line)).length, 1, `one line for ${fault}`);
  }
  assert.ok(lines.every((line) => line.startsWith('platform-node sync: ')));
  assert.match(lines.at(-1) ?? '', /correct the variables named above/);
});

test('CONFIG_INVALID: what client mode needs is told together with what is wrong, and nothing twice', async () => {
  const { code, stderr } = await runCommandLine(['sync', '--check-config'], {
    SYNC_MODE: 'client',
    HUB_API_HOST: 'hub',
    SYNC_SOURCES: 'nonsense',
    SYNC_API_PORT: 'x'
  });
  assert.equal(code, 78);
  assert.match(stderr, /SYNC_API_PORT="x"/);
  assert.match(stderr, /missing required environment variable REPLICA_DB_HOST/);
  assert.equal(stderr.match(/SYNC_SOURCES(?==| *:)/g)?.length, 2, 'the fault and its example');
});

test('--check-config shows each value with its origin, masks secrets and warns of unknown names', async () => {
  const { code, stdout, stderr } = await runCommandLine(['sync', '--check-config'], {
    SYNC_MODE: 'server',
    HUB_API_HOST: 'hub.example',
    SYNC_API_KEY: 'hunter2-hunter2',
    SYNC_SOURCE: 'http://x'
  });
  assert.equal(code, 0);
  assert.match(stdout, /^SYNC_MODE +\S*= server +\(environment\)$/m);
  assert.match(stdout, /^SYNC_API_PORT += 3006 +\(default\)$/m);
  assert.match(stdout, /^SYNC_API_KEY += \*+ +\(environment\)$/m);
  assert.doesNotMatch(stdout + stderr, /hunter2-hunter2/);
  assert.match(stderr, /unknown variable SYNC_SOURCE; did you mean SYNC_SOURCES\?/);
});

test('--config names the file of variables, before the environment of none; a misspelt name in it ends with 78', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'platform-config-'));
  const path = join(directory, 'sync.env');
  const run = async (content: string) => {
    writeFileSync(path, content);
    return await runCommandLine(['sync', '--check-config', `--config=${path}`], { SYNC_API_PORT: '4006' });
  };
  try {
    writeFileSync(join(directory, 'key'), 'hunter2-hunter2\n');
    const rest = `HUB_API_HOST=hub.example\nSYNC_API_PORT=5006\nSYNC_API_KEY_FILE=${join(directory, 'key')}\nHUB_HOST=x\n`;
    const { code, stdout, stderr } = await run(`SYNC_MODE=server\n${rest}`);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^SYNC_MODE +\S*= server +\(config file\)$/m);
    assert.match(stdout, /^SYNC_API_PORT += 4006 +\(environment\)$/m);
    assert.match(stdout, /^SYNC_API_KEY += \*+ +\(secret file\)$/m);
    assert.equal(stderr, '', 'HUB_HOST is a variable of another service');
    const wrong = await run(`SYNC_MODE=server\nSYNC_API_KEYY=x\n${rest}`);
    assert.equal(wrong.code, 78);
    assert.match(wrong.stderr, /unknown name SYNC_API_KEYY in the configuration file; did you mean SYNC_API_KEY\?/);
    assert.equal((await runCommandLine(['sync', '--check-config', '--config'])).code, 64);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('config init writes every variable with its comment, once; filled in, the file is taken', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'platform-init-'));
  const out = join(directory, 'node.env');
  try {
    const made = await runCommandLine(['config', 'init', 'decoder', 'indexer', '--out', out]);
    assert.deepEqual(made, { code: 0, stdout: '', stderr: '' });
    assert.equal(statSync(out).mode & 0o777, 0o600);
    const text = readFileSync(out, 'utf8');
    for (const name of ['NETWORK', 'DECODER_DB_HOST', 'INDEXER_COIN'])
      assert.match(text, new RegExp(`^${name}=$`, 'm'));
    assert.match(text, /^# its password .*; or DECODER_DB_PASS_FILE=.*\nDECODER_DB_PASS=$/m);
    assert.match(text, /^#DECODER_POLL_INTERVAL=1000$/m);
    assert.equal(text.match(/^#?DECODER_DB_NAME=/gm)?.length, 1);
    const filled = text
      .replaceAll(/example: (\S+)\n([A-Z_]+)=$/gm, 'example: $1\n$2=$1')
      .replaceAll('=text', '=secret');
    writeFileSync(out, filled);
    const taken = await runCommandLine(['decoder', '--check-config', '--config', out]);
    assert.equal(taken.code, 0, taken.stderr);
    assert.match(taken.stdout, /^NETWORK += litecoin-regtest +\(config file\)$/m);
    assert.equal((await runCommandLine(['config', 'init', 'decoder', '--out', out])).code, 73, 'it is left as it is');
    assert.equal(readFileSync(out, 'utf8'), filled);
    assert.equal((await runCommandLine(['config', 'init', 'decodr'])).code, 64);
    const { stdout } = await runCommandLine(['config', 'init', 'decoder', '--json']);
    const settings = JSON.parse(stdout) as { name: string; default: unknown; required: boolean; secret: boolean }[];
    const byName = (wanted: string) => settings.find(({ name }) => name === wanted);
    assert.equal(byName('DECODER_POLL_INTERVAL')?.default, '1000');
    assert.deepEqual([byName('DECODER_DB_PASS')?.secret, byName('NETWORK')?.required], [true, true]);
    assert.equal((await runCommandLine(['config', 'init', 'decoder', '--json', '--out', out])).code, 64);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('SYNC_MODE is missing where sources are named, and where no hub answers for it', async () => {
  const hub = { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(await freePort()) };
  const client = await runCommandLine(['sync', '--check-config'], { ...hub, SYNC_SOURCES: 'http://source.example' });
  const unknown = await runCommandLine(['sync', '--check-config'], hub);
  for (const { code, stderr } of [client, unknown]) {
    assert.equal(code, 78);
    assert.match(stderr, /missing required environment variable SYNC_MODE: .*example: SYNC_MODE=server/);
  }
  assert.match(unknown.stderr, /SYNC_MODE=server; .*127\.0\.0\.1:\d+/);
});

test('a secret stays out of the fault of another variable', async () => {
  const { code, stderr } = await runCommandLine(['hub', '--check-config'], { ...HUB, HUB_PORT: 'x' });
  assert.equal(code, 78);
  assert.match(stderr, /HUB_PORT="x"/);
  assert.doesNotMatch(stderr, /hunter2-hunter2/);
});

test('tracker is taken for utxo: the command, and where a service is named', async () => {
  const [help, init] = await Promise.all([
    runCommandLine(['tracker', '--help']),
    runCommandLine(['config', 'init', 'tracker'])
  ]);
  assert.match(help.stdout, /^platform-node utxo: /);
  assert.match(init.stdout, /^UTXO_DB_HOST=$/m);
});

test('the help of a service lists its variables with their defaults', async () => {
  const { code, stdout } = await runCommandLine(['sync', '--help']);
  assert.equal(code, 0);
  assert.match(stdout, /^ +SYNC_MODE +required /m);
  assert.match(stdout, /^ +SNAPSHOT_RATE_FULL +default 12 /m);
  assert.match(stdout, /--no-guardian/);
});

test('a stack is printed only where someone debugs', async () => {
  const [quiet, debugging] = await Promise.all([
    runCommandLine(['status', '--url', 'nonsense']),
    runCommandLine(['status', '--url', 'nonsense'], { LOG_LEVEL: 'debug' })
  ]);
  assert.doesNotMatch(quiet.stderr, /^ +at /m);
  assert.match(debugging.stderr, /^ +at /m);
});

test('SERVICE_UNREACHABLE: status of a service that does not run; exit code 69', async () => {
  const { code, stdout, stderr } = await runCommandLine(['status', '--url', 'http://127.0.0.1:1']);
  assert.deepEqual({ code, stdout }, { code: 69, stdout: '' });
  assert.match(
    stderr,
    /^platform-node status: no answer from http:\/\/127\.0\.0\.1:1\/health: .*start the service, or name its address.*\n$/
  );
});

test('status --live: 0 once /livez is answered, at SYNC_API_PORT; 69 when it is not', async () => {
  let alive = true;
  const service = createServer((request, response) => {
    response.statusCode = alive && request.url === '/livez' ? 200 : 503;
    response.end('a word');
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const SYNC_API_PORT = String((service.address() as AddressInfo).port);
  try {
    assert.deepEqual(await runCommandLine(['status', '--live'], { SYNC_API_PORT }), {
      code: 0,
      stdout: '',
      stderr: ''
    });
    alive = false;
    assert.equal((await runCommandLine(['status', '--live'], { SYNC_API_PORT })).code, 69);
  } finally {
    service.close();
  }
});

test('status --live --service: each service at its own port; a fault in the variables of another does not matter', async () => {
  const service = createServer((request, response) => {
    response.statusCode = request.url === '/livez' ? 200 : 404;
    response.end();
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const port = String((service.address() as AddressInfo).port);
  const ask = (name: string, env: Record<string, string>) =>
    runCommandLine(['status', '--live', '--service', name], env);
  try {
    const [hub, tracker, decoder, elsewhere] = await Promise.all([
      ask('hub', { HUB_PORT: port, SYNC_API_PORT: 'nonsense' }),
      ask('tracker', { UTXO_TRACKER_API_PORT: port }),
      ask('decoder', { DECODER_API_PORT: port, HUB_PORT: 'tcp://10.0.0.1:10000' }),
      ask('hub', { HUB_PORT: '1', HUB_HOST: '127.0.0.1' })
    ]);
    const codes = [hub.code, tracker.code, decoder.code, elsewhere.code];
    assert.deepEqual(codes, [0, 0, 0, 69], `${hub.stderr}${tracker.stderr}${decoder.stderr}`);
  } finally {
    service.close();
  }
});

test('status --all: one line for each service, as text and as JSON; 0 when all that answer are ready, 69 when none does', async () => {
  let readiness = 'ready';
  const service = createServer((request, response) => {
    const node = { role: 'decoder', name: 'D', state: 'well', doing: 'live', height: 7, reason: null };
    response.end(JSON.stringify({ service: 'decoder', version: '1', readiness, pipeline: { nodes: [node] } }));
    response.statusCode = request.url === '/debug/live' ? 200 : 404;
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const none = Object.fromEntries(
    ['SYNC', 'EDGE', 'INDEXER', 'EXPLORER', 'UTXO_TRACKER', 'ENCODER', 'REGTEST_MINER', 'DECODER'].map((prefix) => [
      `${prefix}_API_PORT`,
      '1'
    ])
  );
  const env = { ...none, HUB_PORT: '1' };
  const up = { ...env, DECODER_API_PORT: String((service.address() as AddressInfo).port) };
  try {
    const well = await runCommandLine(['status', '--all'], up);
    assert.equal(well.code, 0, well.stderr);
    assert.match(well.stdout, /^decoder +ready +7 +-$/m);
    assert.match(well.stdout, /^hub +not reached +- +no answer from http/m);
    assert.equal(well.stdout.trimEnd().split('\n').length, 10);
    readiness = 'behind';
    const json = await runCommandLine(['status', '--all', '--json'], up);
    assert.equal(json.code, 1);
    const found = JSON.parse(json.stdout) as { name: string; readiness: string }[];
    assert.equal(found.find(({ name }) => name === 'decoder')?.readiness, 'behind');
    assert.equal((await runCommandLine(['status', '--all'], env)).code, 69);
  } finally {
    service.close();
  }
});

test('COMMAND_INVALID: status of a service that there is not, or of a container that runs none', async () => {
  const { code, stderr } = await runCommandLine(['status', '--service', 'hubb']);
  assert.equal(code, 64);
  assert.match(
    stderr,
    /--service hubb must be one of sync, edge, hub, decoder, indexer, explorer, utxo, encoder, miner, container/
  );
  assert.equal(readContainerService('/opt/platform-node/platform-node\0hub\0--no-guardian\0'), 'hub');
  assert.equal(readContainerService('/sbin/docker-init\0--\0/opt/platform-node/platform-node\0decoder\0'), 'decoder');
  assert.throws(() => readContainerService('/sbin/init\0'), { code: 'COMMAND_INVALID' });
});

test('status: 0 when healthy, 1 when degraded, halted or waiting, with the reason in its column; 77 without the key', async () => {
  const replica = { dbType: 'indexer', chain: 'litecoin', network: 'regtest' };
  let circuit = 'closed';
  let halt: object = { halted: false, reason: null };
  const service = createServer((request, response) => {
    const answers: Readonly<Record<string, unknown>> = {
      '/health': {
        status: circuit === 'open' ? 'degraded' : 'healthy',
        mode: 'client',
        databases: [{ ...replica, circuit }]
      },
      '/status': { litecoin: { regtest: { indexer: { block_height: 7, lag_blocks: 2, phase: 'live', ...halt } } } },
      '/debug/actors': [{ id: replica, state: 'running', machines: {}, restarts: { total: 3 } }]
    };
    const allowed = request.headers.authorization === 'Bearer key-of-status';
    response.statusCode = allowed ? (circuit === 'open' ? 503 : 200) : 401;
    response.end(JSON.stringify(allowed ? answers[request.url ?? ''] : { error: 'Unauthorized' }));
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const status = () => runCommandLine(['status', '--url', url], { SYNC_API_KEY: 'key-of-status' });
  try {
    const healthy = await status();
    assert.equal(healthy.code, 0, healthy.stderr);
    assert.match(healthy.stdout, /^indexer\/litecoin\/regtest +client +running live +7 +2 +closed +no +-$/m);
    halt = { halted: true, reason: 'max-rollback-depth-exceeded', remedy: 'look at it' };
    const halted = await status();
    assert.equal(halted.code, 1);
    assert.match(halted.stdout, /max-rollback-depth-exceeded +-\nindexer\/litecoin\/regtest: look at it$/m);
    halt = { halted: false, waiting: 'the circuit breaker' };
    const waiting = await status();
    assert.equal(waiting.code, 1);
    assert.match(waiting.stdout, /closed +no +the circuit breaker$/m);
    [halt, circuit] = [{}, 'open'];
    assert.equal((await status()).code, 1);
    assert.equal((await runCommandLine(['status', '--url', url])).code, 77);
  } finally {
    service.close();
  }
});
