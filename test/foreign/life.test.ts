import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Transaction } from '@scure/btc-signer';
import { p2pkh, p2sh, p2wpkh } from '@scure/btc-signer/payment.js';
import type { DevnetAddresses } from '../../src/devnet/platform.ts';
import { DATABASE_NAMES } from '../../src/devnet/settings.ts';
import { publicKeyOf, signPsbt } from '../support/encoder/signer.ts';
import { faultsOf, readFacts } from '../support/shape.ts';
import { sql } from '../support/sql.ts';
import { eventually } from '../support/sync/sync-process.ts';

const COMMAND_LINE = fileURLToPath(new URL('../../scripts/platform-node', import.meta.url));
const START_MS = 180_000;
/** How litecoin's regtest writes addresses. */
const NETWORK = { bech32: 'rltc', pubKeyHash: 0x6f, scriptHash: 0x3a, wif: 0xef };
const FORMS = {
  p2pkh,
  nested: (key: Uint8Array, of: typeof NETWORK) => p2sh(p2wpkh(key, of), of),
  native: p2wpkh
} as const;
const CARRIERS = ['OP_RETURN', 'P2SH', 'P2WSH', 'TAPROOT', 'MULTISIGN'] as const;

type Json = Record<string, unknown>;
/** By method: parameters, and what clients read of the result. */
type Facts = Readonly<Record<string, { readonly params?: Json; readonly fields: string; readonly rows?: string }>>;

let devnet: DevnetAddresses;
let stop: () => Promise<void>;

/** One call, of a client that sends what it does not use as null. */
async function call(service: string, method: string, params: Json = {}): Promise<Json> {
  const headers = { 'content-type': 'application/json', 'x-api-key': devnet.apiKey };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(`${devnet.services[service]}/RLTC/`, { method: 'POST', headers, body });
  const { result, error } = (await answer.json()) as { result: Json; error?: Json };
  assert.ok(error === undefined, `${method}: ${JSON.stringify(error)}`);
  return result;
}

async function startDevnet(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'foreign-'));
  const profile = join(directory, 'profile.json');
  writeFileSync(
    profile,
    JSON.stringify({ name: 'foreign', payloadMagic: 'FRGN', activations: { TAPROOT_ENVELOPE: 0 } })
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
  const [first] = (await line.catch(() => assert.fail(errors.slice(-20).join('\n')))) as [string];
  devnet = JSON.parse(first) as DevnetAddresses;
}

const hash = (name: string, bytes: Uint8Array): Buffer => createHash(name).update(bytes).digest();

/** The output script that a carrier's script must stand behind, as clients compute it before they sign. */
function outputOf(encoding: string, scriptHex: string): string | undefined {
  const script = Buffer.from(scriptHex, 'hex');
  if (encoding === 'P2SH') return `a914${hash('ripemd160', hash('sha256', script)).toString('hex')}87`;
  return encoding === 'P2WSH' ? `0020${hash('sha256', script).toString('hex')}` : undefined;
}

/** Builds an action as clients do, checks it, signs it, and broadcasts it, in one transaction or two. */
async function send(key: Uint8Array, address: string, data: string, encoding: string): Promise<void> {
  const request = {
    ...{ pubkey: address, data, encoding, compressedPubKey: publicKeyOf(key).toString('hex'), feePerKb: '20000' },
    ...{ utxos: [], customOutputs: null, feeQuote: null, fee: null, dust: null, rbf: null, unconfirmed: true },
    ...{ change: null, p2shHash: null, p2shHex: null, rawData: null, compress: null, attachPrevTx: true },
    options: { signerSupportsTapscript: true }
  };
  const built = await call('encoder', 'create_tx', request);
  assert.deepEqual(faultsOf(built, readFacts<Facts>('encoder')['create_tx']!.fields), []);
  assert.equal(built['encoding'], encoding);
  const transaction = Transaction.fromPSBT(Buffer.from(String(built['psbt']), 'hex'), {
    ...{ allowUnknownInputs: true, allowUnknownOutputs: true, disableScriptCheck: true }
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
  if (!isTwo) return;
  const reveal = built['revealPsbt'] ?? (await call('encoder', 'create_tx', { ...request, p2shHash: txid }))['psbt'];
  await call('encoder', 'broadcast_tx', { tx_hex: signPsbt(String(reveal), key) });
}

describe('clients of others against a devnet of another magic', () => {
  before(startDevnet);
  after(() => stop());

  test('each method answers with the fields and types that clients read', async () => {
    const known: Json = { $address: p2wpkh(publicKeyOf(randomBytes(32)), NETWORK).address };
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
  });

  test('the hub tells where everything is', async () => {
    const { configs } = await call('hub', 'getallconfigs');
    const modules = (configs as Record<string, Record<string, Json>>)['litecoin']!['regtest']!;
    assert.ok(Object.keys(modules).length >= 8, Object.keys(modules).join());
    const { service_port: port } = modules['platform-encoder'] as Json;
    assert.equal(devnet.services['encoder'], `http://127.0.0.1:${port}`);
    const registry = await fetch(`${devnet.services['hub']}/api/v1/chain-registry`);
    const fields =
      'schema_version:int! generatedAt:text! descriptors:list! descriptors[].coin:text! descriptors[].addressTypes:list:text';
    assert.deepEqual(faultsOf(await registry.json(), fields), []);
  });

  for (const [form, payTo] of Object.entries(FORMS))
    test(`the life of an action from a ${form} address: quoted, built with nulls, checked, signed, sent, found, spent by ^id`, async () => {
      const key = randomBytes(32);
      const address = payTo(publicKeyOf(key), NETWORK).address!;
      const { address: receiver } = p2wpkh(publicKeyOf(randomBytes(32)), NETWORK);
      for (let coin = 0; coin < 8; coin++) await call('miner', 'send_funds', { address, amount: '0.1' });
      await call('miner', 'generate_blocks', { count: 1 });
      await eventually('the tracker has the coins', 60_000, async () => {
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
        await eventually(what, 60_000, isDone);
      };
      const explorer = async (path: string): Promise<Json> =>
        (await (await fetch(`${devnet.services['explorer']}/api/${path}`)).json()) as Json;
      await send(key, address, `ISSUE|${issue}`, 'OP_RETURN');
      await mined('the token is there', async () => JSON.stringify(await explorer(`token/${tick}`)).includes(address));
      const indexer = { ...devnet.database, name: DATABASE_NAMES.indexer };
      const [row] = await sql(indexer, `SELECT id FROM index_tickers WHERE tick = '${tick}'`);
      const spelled = `^${row!['id']}`;
      for (const [at, encoding] of CARRIERS.entries()) {
        const memo = encoding === 'OP_RETURN' ? '' : `${encoding} `.repeat(12).trim();
        const fields = `0|${spelled}|${at + 1}|${receiver}|${memo}`;
        const { valid, status } = await call('indexer', 'preflight', {
          action: 'SEND',
          params: fields,
          source: address,
          feeMode: null
        });
        assert.equal(valid, true, String(status));
        await send(key, address, `SEND|${fields}`, encoding);
        const sum = ((at + 1) * (at + 2)) / 2;
        await mined(`${encoding} counts`, async () =>
          new RegExp(`"amount":"${sum}"`).test(JSON.stringify(await explorer(`balances/${receiver}`)))
        );
      }
    });
});
