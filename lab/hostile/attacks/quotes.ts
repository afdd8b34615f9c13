import assert from 'node:assert/strict';
import { publicKeyOf, signPsbt } from '../../../test/support/encoder/signer.ts';
import type { Attack } from '../attack.ts';
import { TOLL } from '../toll.ts';

/** As many characters as an OP_RETURN of a usual node holds beside the rest, and more. */
const LENGTH = { OP_RETURN: 20, other: 200 } as const;
/** Encodings, each with a fee of its own in satoshis, by which the decoder's row is known. */
const FEES = { OP_RETURN: 54_321, MULTISIGN: 54_322, P2SH: 54_323, P2WSH: 54_324, TAPROOT: 54_325 } as const;

interface Reply {
  readonly result?: { readonly psbt: string; readonly revealPsbt?: string };
}

/** Fees of the protocol that are paid where no decoder looks for them. */
export const QUOTE_ATTACKS: readonly Attack[] = Object.entries(FEES).map(([encoding, amount]) => ({
  name: `a fee that the encoder pays beside an action in ${encoding} is not the one that the decoder finds`,
  async *play(arena) {
    const payer = await arena.person(`quoted ${encoding}`, 4);
    yield;
    yield;
    const { status, body } = await arena.call(arena.doors.encoder, 'create_tx', {
      pubkey: payer.address,
      compressedPubKey: publicKeyOf(payer.key).toString('hex'),
      data: `BROADCAST|0|${encoding} ${'q'.repeat(encoding === 'OP_RETURN' ? LENGTH.OP_RETURN : LENGTH.other)}`,
      encoding,
      feePerKb: 20_000,
      feeQuote: { address: TOLL, amount },
      options: { signerSupportsTapscript: true, signerSupportsScripts: true }
    });
    const { result } = JSON.parse(body) as Reply;
    assert.ok(status === 200 && result, body.slice(0, 300));
    let txid = '';
    for (const psbt of [result.psbt, ...(result.revealPsbt === undefined ? [] : [result.revealPsbt])])
      txid = String(await arena.rpc.call('sendrawtransaction', [signPsbt(psbt, payer.key)]));
    return async () => {
      assert.deepEqual(await arena.statuses(txid), ['valid']);
      const paid = await arena.rows<{ hash: string; amount: string }>(
        'decoder',
        `SELECT h.hash, o.amount FROM transaction_outputs o JOIN index_addresses a ON a.id = o.destination_id
         JOIN transactions t ON t.tx_index = o.tx_index JOIN index_transactions h ON h.id = t.tx_hash_id
         WHERE a.address = ? AND h.hash = ?`,
        [TOLL, txid]
      );
      assert.deepEqual(
        paid.map((row) => row.amount),
        [`0.000${amount}`]
      );
    };
  }
}));
