import type { createExplored } from '../support/explorer-database.ts';
import { slotMessage, type TestSigner } from '../support/indexer-signers.ts';
import { sql } from '../support/sql.ts';

/** A whole number of 37 digits, and the least part of a unit. */
const [MOST, LEAST] = [`1${'0'.repeat(36)}`, `0.${'0'.repeat(17)}1`];

/**
 * Adds blocks with trades of tokens and of coins, one of them at a price of 55 digits, a payment, and a validator who
 * is slashed.
 */
export async function addRareBlocks(
  own: Pick<Awaited<ReturnType<typeof createExplored>>, 'blocks' | 'indexer' | 'store'>,
  signer: TestSigner
): Promise<void> {
  let height = own.blocks.length;
  const add = async (...acts: readonly (readonly [source: string, data: string, paid?: bigint])[]) => {
    height++;
    const transactions = acts.map(([source, data, paid], place) => ({
      hash: `ab${height}${place}`.padStart(64, '0'),
      source,
      data,
      fee: null,
      ...(paid === undefined ? {} : { outputs: [{ vout: 0, address: 'A', amount: paid }] })
    }));
    const time = 1_700_000_000 + 1_800 * height;
    await own.store.addBlocks([{ height, time, hash: `${height}`.padStart(64, 'ab'), transactions }] as never);
  };
  const messages = ['x', 'y'].map((of) => slotMessage(signer, { btc_block_height: height + 5, of }));
  const [gas] = await sql(
    own.indexer,
    `SELECT a.address, b.amount FROM balances b JOIN index_tickers i ON i.id = b.tick_id JOIN index_addresses a ON a.id = b.address_id
     WHERE i.tick = 'GAS' ORDER BY CAST(b.amount AS DECIMAL(40,18)) DESC LIMIT 1`
  );
  await add(
    ['A', 'ISSUE|0|MARK|0|0|2||500'],
    ['B', 'ISSUE|0|OTHER|0|0|2||500'],
    ['A', 'ORDER|0|BTC|MARK|4|0|BTC|OTHER|8'],
    ['B', 'ORDER|0|BTC|OTHER|4|0|BTC|MARK|2'],
    ['A', 'ORDER|0|BTC|MARK|4|0|BTC||0.4'],
    ['B', 'ORDER|0|BTC||0.1|0|BTC|MARK|1'],
    [String(gas?.['address']), `STAKE|1|1000|${signer.pubkey}`]
  );
  const [match] = await sql(own.indexer, 'SELECT MAX(action_index) AS at FROM order_matches');
  await add(['B', `COINPAY|0|${match!['at']}`, 10n ** 17n]);
  await add(
    ['A', 'ISSUE|0|TINY|0|0|18||1'],
    ['B', `ISSUE|0|HUGE|0|0|0||${MOST}`],
    ['A', `ORDER|0|BTC|TINY|${LEAST}|0|BTC|HUGE|${MOST}`],
    ['B', `ORDER|0|BTC|HUGE|${MOST}|0|BTC|TINY|${LEAST}`]
  );
  for (let n = 0; n < 4; n++) await add();
  const [[first, by1], [second, by2]] = messages as [[string, string], [string, string]];
  await add(['C', `SLASH|0|price|${signer.pubkey}|${first}|${by1}|${second}|${by2}`]);
}
