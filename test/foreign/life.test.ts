import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Transaction } from '@scure/btc-signer';
import { p2pkh, p2sh, p2wpkh } from '@scure/btc-signer/payment.js';
import { WebSocket } from 'ws';
import type { DevnetAddresses } from '../../src/devnet/platform.ts';
import { DATABASE_NAMES } from '../../src/devnet/settings.ts';
import { publicKeyOf, signPsbt } from '../support/encoder/signer.ts';
import { faultsOf, readFacts } from '../support/shape.ts';
import { sql } from '../support/sql.ts';
import { eventually } from '../support/sync/sync-process.ts';

const COMMAND_LINE = fileURLToPath(new URL('../../scripts/platform-node', import.meta.url));
const START_MS = 180_000;
const PATIENCE_MS = 60_000;
/** Address versions of litecoin's regtest. */
const NETWORK = { bech32: 'rltc', pubKeyHash: 0x6f, scriptHash: 0x3a, wif: 0xef };
const FORMS = {
  p2pkh,
  nested: (key: Uint8Array, of: typeof NETWORK) => p2sh(p2wpkh(key, of), of),
  native: p2wpkh
} as const;
const CARRIERS = ['OP_RETURN', 'P2SH', 'P2WSH', 'TAPROOT', 'MULTISIGN'] as const;

type Json = Record<string, unknown>;
/** By method: parameters, and what clients read of the result. */
type Facts = Readonly<
  Record<
    string,
    {
      readonly params?: Json;
      readonly fields: string;
      readonly rows?: string;
      /** More of them by the encoding. */
      readonly by?: Readonly<Record<string, string>>;
    }
  >
>;

let devnet: DevnetAddresses;
let stop: () => Promise<void>;

/** Words of an encoder whose tracker lacks blocks or transactions: clients ask again. */
const ASK_AGAIN: readonly unknown[] = ['UTXO_TRACKER_STALE', 'TRACKER_NOT_READY'];

/** One call, of a client that sends what it does not use as null. */
async function call(service: string, method: string, params: Json = {}): Promise<Json> {
  const headers = { 'content-type': 'application/json', 'x-api-key': devnet.apiKey };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await fetch(`${devnet.services[service]}/RLTC/`, { method: 'POST', headers, body });
    const { result, error } = (await answer.json()) as { result: Json; error?: { readonly data: Json } };
    if (error === undefined) return result;
    const asksAgain = ASK_AGAIN.includes(error.data['reason']) || ASK_AGAIN.includes(error.data['code']);
    const isOver = !asksAgain || performance.now() > deadline;
    assert.ok(!isOver, `${method}: ${JSON.stringify(error)}`);
    await sleep(200);
  }
}

async function startDevnet(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'foreign-'));
  const profile = join(directory, 'profile.json');
  writeFileSync(
    profile,
    JSON.stringify({
      name: 'foreign',
      payloadMagic: 'FRGN',
      activations: { TAPROOT_ENVELOPE: 0 },
      gasTick: 'FUEL',
      gasPrice: '0.002'
    })
  );
  const args = [
    'devnet',
    '--dir',
    join(directory, 'devnet'),
    '--quiet',
    '--json',
    '--interval',
    '1000',
    '--profile',
    profile
  ];
  const child = spawn(COMMAND_LINE, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const errors: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  stop = async () => {
    child.kill('SIGINT');
    if (child.exitCode === null) await once(child, 'close');
    rmSync(directory, { recursive: true, force: true });
  };
  const line = once(createInterface({ input: child.stdout }), 'line', { signal: AbortSignal.timeout(START_MS) });
  const ended = once(child, 'close').then(() => Promise.reject(new Error('it ended')));
  const outcome = Promise.race([line, ended]);
  const [first] = (await outcome.catch(() => assert.fail(errors.slice(-20).join('\n')))) as [string];
  ended.catch(() => undefined);
  devnet = JSON.parse(first) as DevnetAddresses;
}

const hash = (name: string, bytes: Uint8Array): Buffer => createHash(name).update(bytes).digest();

/** The output script that a carrier's script must stand behind, as clients compute it before they sign. */
function outputOf(encoding: string, scriptHex: string): string | undefined {
  const script = Buffer.from(scriptHex, 'hex');
  if (encoding === 'P2SH') return `a914${hash('ripemd160', hash('sha256', script)).toString('hex')}87`;
  return encoding === 'P2WSH' ? `0020${hash('sha256', script).toString('hex')}` : undefined;
}

/** Builds an action as clients do, checks it, signs it, and broadcasts it, in one transaction or two. @returns the id of the one that says it */
async function send(key: Uint8Array, address: string, data: string, encoding: string): Promise<string> {
  const request = {
    pubkey: address,
    data,
    encoding,
    compressedPubKey: publicKeyOf(key).toString('hex'),
    feePerKb: '20000',
    utxos: [],
    customOutputs: null,
    feeQuote: null,
    fee: null,
    dust: null,
    rbf: null,
    unconfirmed: true,
    change: null,
    p2shHash: null,
    p2shHex: null,
    rawData: null,
    compress: null,
    attachPrevTx: true,
    options: { signerSupportsTapscript: true, signerSupportsScripts: null }
  };
  const built = await call('encoder', 'create_tx', request);
  const { fields, by = {} } = readFacts<Facts>('encoder')['create_tx']!;
  assert.deepEqual(faultsOf(built, `${fields} ${by[encoding] ?? ''}`), [], JSON.stringify(built));
  assert.equal(built['encoding'], encoding);
  const transaction = Transaction.fromPSBT(Buffer.from(String(built['psbt']), 'hex'), {
    allowUnknownInputs: true,
    allowUnknownOutputs: true,
    disableScriptCheck: true
  });
  const outputs = Array.from({ length: transaction.outputsLength }, (_, at) =>
    Buffer.from(transaction.getOutput(at).script!).toString('hex')
  );
  for (const script of (built['carrierScripts'] as string[] | undefined) ?? []) {
    const output = outputOf(encoding, script);
    assert.ok(output === undefined || outputs.includes(output), `${encoding}: no output has ${script}`);
  }
  const isTwo = built['carrierScripts'] !== undefined;
  assert.equal(isTwo, !['OP_RETURN', 'MULTISIGN'].includes(encoding));
  const { txid } = await call('encoder', 'broadcast_tx', { tx_hex: signPsbt(String(built['psbt']), key) });
  if (!isTwo) return String(txid);
  const reveal = built['revealPsbt'] ?? (await call('encoder', 'create_tx', { ...request, p2shHash: txid }))['psbt'];
  return String((await call('encoder', 'broadcast_tx', { tx_hex: signPsbt(String(reveal), key) }))['txid']);
}

/** Collects the frames about a client's subscription. */
async function follow(t: TestContext, message: object) {
  const socket = new WebSocket(`${devnet.services['explorer']!.replace('http', 'ws')}/api/websocket`);
  const frames: { readonly type: string; readonly data: Json }[] = [];
  socket.on('message', (data) => frames.push(JSON.parse(String(data))));
  t.after(() => socket.terminate());
  await once(socket, 'open');
  socket.send(JSON.stringify({ action: 'subscribe', ...message }));
  await eventually('it is subscribed', async () => frames.some(({ type }) => type === 'SUBSCRIBED'));
  return frames;
}

describe('clients of others against a devnet of another magic', () => {
  before(startDevnet);
  after(() => stop());

  test('each method answers with the fields and types that clients read', async () => {
    const paid = p2wpkh(publicKeyOf(randomBytes(32)), NETWORK).address!;
    await call('miner', 'send_funds', { address: paid, amount: '0.1' });
    await call('miner', 'generate_blocks', { count: 1 });
    await eventually('the tracker has the coin', async () => {
      const [coin] = (await call('tracker', 'get_utxos', { address: paid }))['utxos'] as Json[];
      return Number(coin?.['confirmations']) > 0;
    });
    const known: Json = { $paid: paid, $address: p2wpkh(publicKeyOf(randomBytes(32)), NETWORK).address };
    for (const service of ['encoder', 'tracker', 'indexer', 'hub'])
      for (const [method, { params = {}, fields, rows }] of Object.entries(readFacts<Facts>(service))) {
        if (method === 'create_tx') continue;
        const filled = Object.fromEntries(
          Object.entries(params).map(([name, value]) => [name, known[String(value)] ?? value])
        );
        const result = await call(service, method, filled);
        if (method === 'propose') known['$proposal'] = result['proposal_id'];
        assert.deepEqual(
          faultsOf(rows === undefined ? result : { result }, rows ?? fields),
          [],
          `${service} ${method} ${JSON.stringify(result)}`
        );
      }
    for (const [service, paths] of Object.entries(
      readFacts<Readonly<Record<string, Readonly<Record<string, string>>>>>('rest')
    ))
      for (const [path, fields] of Object.entries(paths)) {
        const answer: unknown = await (await fetch(devnet.services[service] + path.replace('$paid', paid))).json();
        assert.deepEqual(faultsOf({ answer }, fields), [], `${service} ${path} ${JSON.stringify(answer)}`);
      }
  });

  test('--profile is that of every service: the gas token, and its price', async () => {
    const { feeTick } = await call('indexer', 'preflight', { action: 'SEND', params: '0|NONE|1|x', feeMode: 'xchain' });
    assert.equal(feeTick, 'FUEL');
    const quote = await call('hub', 'getfeequote', { action: 'SWEEP', chain: 'LTC' });
    assert.equal(Number(quote['gasPrice']), 0.002);
  });

  test('the hub tells where everything is', async () => {
    const { configs } = await call('hub', 'getallconfigs');
    const modules = (configs as Record<string, Record<string, Json>>)['litecoin']!['regtest']!;
    assert.ok(Object.keys(modules).length >= 8, Object.keys(modules).join());
    const { service_port: port } = modules['platform-encoder'] as Json;
    assert.equal(devnet.services['encoder'], `http://127.0.0.1:${port}`);
    const registry = await fetch(`${devnet.services['hub']}/api/v1/chain-registry`);
    const { registry: fields } = readFacts<{ readonly registry: string }>('hub_rows');
    assert.deepEqual(faultsOf(await registry.json(), fields), []);
  });

  for (const [form, payTo] of Object.entries(FORMS))
    test(`the life of an action from a ${form} address: quoted, built with nulls, checked, signed, sent, found, spent by ^id`, async (t) => {
      const key = randomBytes(32);
      const address = payTo(publicKeyOf(key), NETWORK).address!;
      const { address: receiver } = p2wpkh(publicKeyOf(randomBytes(32)), NETWORK);
      for (let coin = 0; coin < 8; coin++) await call('miner', 'send_funds', { address, amount: '0.1' });
      await call('miner', 'generate_blocks', { count: 1 });
      await eventually('the tracker has the coins', async () => {
        const { utxos, sync } = await call('tracker', 'get_utxos', { address, limit: null, after: null });
        const confirmed = (utxos as Json[]).filter(({ confirmations }) => Number(confirmations) > 0);
        return confirmed.length === 8 && (sync as Json)['synced'] === true;
      });
      assert.equal((await call('tracker', 'get_balance', { address }))['balance'], '0.80000000');
      const tick = `T${form.toUpperCase()}`;
      const issue = `0|${tick}|1000000|1000|0||1000`;
      const quote = await call('indexer', 'feequote', {
        action: 'ISSUE',
        params: issue,
        source: address,
        feeOutputSats: null
      });
      assert.deepEqual([quote['valid'], quote['requiredFeeSats'] ?? 0], [true, 0], JSON.stringify(quote));
      const mined = async (what: string, isDone: () => Promise<boolean>) => {
        await call('miner', 'generate_blocks', { count: 1 });
        await eventually(what, isDone);
      };
      const explorer = async (path: string): Promise<Json> =>
        (await (await fetch(`${devnet.services['explorer']}/api/${path}`)).json()) as Json;
      await send(key, address, `ISSUE|${issue}`, 'OP_RETURN');
      await mined('the token is there', async () => JSON.stringify(await explorer(`token/${tick}`)).includes(address));
      const indexer = { ...devnet.database, name: DATABASE_NAMES.indexer };
      const [row] = await sql(indexer, `SELECT id FROM index_tickers WHERE tick = '${tick}'`);
      const spelled = `^${row!['id']}`;
      const { info } = await explorer(`token/${encodeURIComponent(spelled)}`);
      assert.equal((info as Json)['tick'], tick);
      const frames = await follow(t, { channels: ['actions'], params: { types: ['SEND'] } });
      for (const [at, encoding] of CARRIERS.entries()) {
        const memo = encoding === 'OP_RETURN' ? '' : `${encoding} `.repeat(12).trim();
        const fields = `0|${spelled}|${at + 1}|${receiver}|${memo}`;
        const { valid, status } = await call('indexer', 'preflight', {
          action: 'SEND',
          params: [0, spelled, at + 1, receiver, memo || null],
          source: address,
          feeMode: null
        });
        assert.equal(valid, true, String(status));
        const txid = await send(key, address, `SEND|${fields}`, encoding);
        const sum = ((at + 1) * (at + 2)) / 2;
        await mined(`${encoding} counts`, async () =>
          new RegExp(`"amount":"${sum}"`).test(JSON.stringify(await explorer(`balances/${receiver}`)))
        );
        // The two ways in which clients wait.
        await eventually('a frame tells of it', async () =>
          frames.some(({ type, data }) => type === 'NEW_ACTION' && data['tx_hash'] === txid)
        );
        const [found] = (await explorer(`transaction/${txid}/tx_hash`))['actions'] as Json[];
        assert.deepEqual([found?.['action'], found?.['source']], ['SEND', address], JSON.stringify(found));
      }
    });

  test('--quiet: nobody but the client says anything, and no block is taken back', async () => {
    const decoder = { ...devnet.database, name: DATABASE_NAMES.decoder };
    const spoke = await sql(decoder, "SELECT COUNT(*) AS count FROM transactions WHERE data > ''");
    assert.equal(Number(spoke[0]!['count']), Object.keys(FORMS).length * (1 + CARRIERS.length));
    assert.deepEqual(await sql(decoder, "SELECT data FROM events WHERE code = 'REORG'"), []);
  });
});
