import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { readRawBlock } from '../../../src/coin/raw/raw-block.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';

const ACTIVATION = 432;
const BLOCKS = 1_000;

/** A block as a node prints it with verbosity 2. */
interface PrintedBlock {
  readonly height: number;
  readonly time: number;
  readonly previousblockhash?: string;
  readonly mweb?: object;
  readonly tx: readonly {
    readonly txid: string;
    readonly vin: readonly {
      readonly txid?: string;
      readonly vout?: number;
      readonly txinwitness?: readonly string[];
    }[];
    readonly vout: readonly { readonly value: string; readonly scriptPubKey: PrintedScript }[];
  }[];
}

interface PrintedScript {
  readonly hex: string;
  readonly type: string;
  readonly addresses?: readonly string[];
}

/** The address that the node prints for a script, where a decoder takes it for one. */
function printedAddress({ type, addresses }: PrintedScript): string | undefined {
  const isAddressed = /^(?:pubkeyhash|scripthash|witness_v0_(?:keyhash|scripthash)|witness_v1_taproot)$/.test(type);
  return isAddressed ? addresses?.[0] : undefined;
}

const { addresses: VERSIONS } = chainNetwork('litecoin', 'regtest');
let coin: TestLitecoind;
before(async () => {
  coin = await startTestLitecoind({ hasExtensionBlock: true });
});

/** A first payment into the extension block activates it; later ones are mined beside other payments. */
async function mineExtensionBlocks(): Promise<void> {
  const { rpc, mine } = coin.node;
  await mine(ACTIVATION - 1);
  const hidden = String(await rpc.call('getnewaddress', ['', 'mweb']));
  await rpc.call('sendtoaddress', [hidden, 20]);
  for (let mined = 0; mined < BLOCKS; mined += 250) {
    await rpc.call('sendtoaddress', [hidden, 1]);
    for (const kind of ['bech32', 'p2sh-segwit', 'legacy']) {
      await rpc.call('sendtoaddress', [await rpc.call('getnewaddress', ['', kind]), 0.5]);
    }
    await mine(250);
  }
}

test('1,000 blocks with an active extension block are read as their node prints them', async () => {
  await mineExtensionBlocks();
  const { rpc, height } = coin.node;
  const tip = await height();
  let extended = 0;
  for (let at = 0; at <= tip; at++) {
    const hash = String(await rpc.call('getblockhash', [at]));
    const printed = (await rpc.call('getblock', [hash, 2])) as PrintedBlock;
    const bytes = Buffer.from(String(await rpc.call('getblock', [hash, false])), 'hex');
    const transactions: unknown[] = [];
    const header = readRawBlock(bytes, { hash, isMergeMined: false }, ({ txid, inputs, outputs, witnesses }) =>
      transactions.push({
        txid,
        spent: inputs.map((input) => `${input.txid}:${input.vout}`),
        witnesses: witnesses.flat().map((item) => item.toString('hex')),
        outputs: outputs.map(
          ({ amount, script }) => `${amount} ${script.toString('hex')} ${addressOf(script, VERSIONS)}`
        )
      })
    );
    if (printed.mweb) extended++;
    assert.deepEqual(header, { previousHash: printed.previousblockhash ?? '', time: printed.time });
    assert.deepEqual(
      transactions,
      printed.tx.map(({ txid, vin, vout }) => ({
        txid,
        spent: vin.map((input) => `${input.txid ?? '0'.repeat(64)}:${input.vout ?? 0xffffffff}`),
        witnesses: at === 0 ? [] : vin.flatMap(({ txinwitness = [] }) => txinwitness),
        outputs: vout.map(
          ({ value, scriptPubKey }) => `${toBaseUnits(value)} ${scriptPubKey.hex} ${printedAddress(scriptPubKey)}`
        )
      })),
      `block ${at}`
    );
  }
  assert.ok(extended >= BLOCKS, `${extended} blocks have an extension block`);
});
