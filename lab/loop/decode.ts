import type { ChainNetwork } from '../../src/coin/chains.ts';
import type { TransactionRow } from '../../src/decoder/block-rows.ts';
import { scanBlock } from '../../src/decoder/block-scan.ts';
import { resolveSources } from '../../src/decoder/sources.ts';
import type { PrivateLitecoind } from '../../src/devnet/processes/litecoin.ts';
import { scanRules } from '../../test/support/decoder/loop.ts';
import { LOOP_NETWORK, LOOP_PROFILE } from '../../test/support/encoder/service.ts';

/** The rows that a decoder writes of a block, by the ids of the transactions. */
export async function decodeBlock(
  { rpc }: Pick<PrivateLitecoind, 'rpc'>,
  hash: string,
  network: ChainNetwork = LOOP_NETWORK,
  feeAddress: string | null = null
): Promise<ReadonlyMap<string, TransactionRow>> {
  const bytes = Buffer.from(String(await rpc.call('getblock', [hash, false])), 'hex');
  const rules = { ...scanRules(network, LOOP_PROFILE.payloadMagic), feeAddress };
  const read = async (txids: readonly string[]) =>
    (
      await rpc.batch(
        'getrawtransaction',
        txids.map((txid) => [txid])
      )
    ).map((hex) => Buffer.from(String(hex), 'hex'));
  const scanned = scanBlock(bytes, { height: 1, hash }, rules);
  const [block] = await resolveSources([scanned], read, new Map(), rules);
  return new Map(block!.transactions.map((row) => [row.hash, row]));
}
