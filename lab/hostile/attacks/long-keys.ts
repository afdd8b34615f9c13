import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { longKeyAddress, signWithLongKey } from '../../../test/support/encoder/uncompressed.ts';
import type { Attack } from '../attack.ts';
import { issue } from './texts.ts';

const COIN = 2_000_000n;
const SENDS = 8;

interface Reply {
  readonly result?: { readonly psbt: string; readonly encoding: string };
}

/** Addresses of keys that are written in 65 bytes. */
export const LONG_KEY_ATTACKS: readonly Attack[] = [
  {
    name: 'an action of an address whose key is uncompressed locks its coins for ever',
    async *play(arena) {
      const payer = await arena.person('payer of a long key');
      const key = hash('sha256', 'hostile long key', 'buffer');
      const { script, address } = longKeyAddress(key);
      await payer.pay([COIN, COIN, COIN].map((amount) => ({ amount, script })));
      yield;
      yield;
      const sends = Array.from({ length: SENDS }, () => `SEND|0|LONGKEY|1|${payer.address}`);
      const request = {
        pubkey: address,
        data: `BATCH|0|${issue('LONGKEY')};${sends.join(';')}`,
        encoding: 'AUTO',
        feePerKb: 20_000,
        customOutputs: [{ address: payer.address, value: 50_000 }]
      };
      const send = async (more: object) => {
        const { body } = await arena.call(arena.doors.encoder, 'create_tx', { ...request, ...more });
        const { result } = JSON.parse(body) as Reply;
        assert.equal(result?.encoding, 'P2SH', body.slice(0, 300));
        return String(await arena.rpc.call('sendrawtransaction', [signWithLongKey(result.psbt, key)]));
      };
      await send({ p2shHash: await send({}) });
      return async () => assert.equal(await arena.balance(address, 'LONGKEY'), String(1000 - SENDS));
    }
  }
];
