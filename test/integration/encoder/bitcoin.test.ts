import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeBlock } from '../../../lab/loop/decode.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo } from '../../../src/coin/script/pay-scripts.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { callMethod } from '../../../src/service/rpc/call-method.ts';
import { startTestBcoin, type TestBcoin } from '../../support/coin/bcoin.ts';
import { publicKeyOf, signPsbt } from '../../support/encoder/signer.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { databaseEnv, startServiceProcess } from '../../support/service-process.ts';

const NETWORK = chainNetwork('bitcoin', 'regtest');
const KEY = hash('sha256', 'a key of a test on bitcoin', 'buffer');
const PUBLIC_KEY = publicKeyOf(KEY);
const FORMS = { legacy: 'keyHash', segwit: 'witnessKeyHash' } as const;
/** Witnesses are mined from here on, rewards are spent after a hundred blocks. */
const BLOCKS = 540;
/** Script that nobody has the key of. */
const ELSEWHERE = payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, 1) });

let node: TestBcoin;
let url: string;

const scriptOf = (form: keyof typeof FORMS) => payTo({ kind: FORMS[form], bytes: hash160(PUBLIC_KEY) });
const call = async <T>(method: string, params: object): Promise<T> =>
  (await callMethod(url, method, params, { signal: AbortSignal.timeout(PATIENCE_MS) })) as T;

before(async () => {
  node = await startTestBcoin();
  for (const form of ['legacy', 'segwit'] as const) await node.mine(8, scriptOf(form));
  await node.mine(BLOCKS, ELSEWHERE);
  const ports = { tracker: String(await freePort()), encoder: String(await freePort()) };
  url = `http://127.0.0.1:${ports.encoder}`;
  const { user, password } = node;
  const place = { NETWORK: 'bitcoin-regtest', NODE_URL: '127.0.0.1', NODE_PORT: new URL(node.url).port };
  const env = { ...place, NODE_USER: user, NODE_PASSWORD: password };
  startServiceProcess('utxo', {
    ...env,
    ...databaseEnv('UTXO', await createDatabase('encoder_bitcoin')),
    UTXO_TRACKER_API_HOST: '127.0.0.1',
    UTXO_TRACKER_API_PORT: ports.tracker,
    UTXO_TRACKER_POLL_INTERVAL: '20'
  });
  startServiceProcess('encoder', {
    ...env,
    ENCODER_API_HOST: '127.0.0.1',
    ENCODER_API_PORT: ports.encoder,
    ENCODER_RATE_LIMIT_RPM: '100000',
    UTXO_TRACKER_URL: `http://127.0.0.1:${ports.tracker}`
  });
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false
    );
  for (const deadline = Date.now() + PATIENCE_MS; !(await isReady()); await sleep(50))
    if (Date.now() > deadline) assert.fail(await (await fetch(`${url}/status`)).text());
});

interface Created {
  readonly psbt: string;
  readonly encoding: string;
  readonly revealPsbt?: string;
  readonly carrierScripts?: readonly string[];
}

for (const form of ['legacy', 'segwit'] as const)
  for (const encoding of ['OP_RETURN', 'MULTISIGN', 'P2SH', 'P2WSH'])
    test(`a Bitcoin node takes ${encoding} from a ${form} address, and its decoder reads what was asked for`, async () => {
      const pubkey = addressOf(scriptOf(form), NETWORK.addresses)!;
      const data = `BROADCAST|0|${encoding} ${'x'.repeat(encoding === 'OP_RETURN' ? 20 : 700)}`;
      const request = { pubkey, compressedPubKey: PUBLIC_KEY.toString('hex'), data, encoding };
      const created = await call<Created>('create_tx', request);
      const send = async (psbt: string) => {
        const tx_hex = signPsbt(psbt, KEY);
        await node.send(tx_hex); // bcoin answers before it looks: this waits until it has accepted it
        return { tx_hex, ...(await call<{ txid: string }>('broadcast_tx', { tx_hex })) };
      };
      let { txid, tx_hex } = await send(created.psbt);
      if (created.carrierScripts) {
        const reveal = created.revealPsbt ?? (await call<Created>('create_tx', { ...request, p2shHex: tx_hex })).psbt;
        ({ txid, tx_hex } = await send(reveal));
      }
      await node.mine(1, ELSEWHERE);
      const block = String(await node.rpc.call('getbestblockhash'));
      const row = (await decodeBlock(node, block, NETWORK)).get(txid);
      assert.deepEqual([row?.data, row?.source], [data, pubkey]);
    });
