import { parseAmount } from '../../../src/consensus/amount.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { MemoryLedger } from '../indexer-ledger.ts';
import { testSigner } from '../indexer-signers.ts';
import { addressOf, rulesOfScale, type Scale } from './scale.ts';

/** Address that makes the block whose cost is measured. */
export const ATTACKER = addressOf('A', 1);
const MAKER = addressOf('B', 1);
const FIRST_TIME = 1_700_000_000;
const TEXTS_PER_BLOCK = 2_000;
/** By then the time of the last block below has come to the middle of eleven. */
const MEDIAN_LAG = 5;
export const KEY = testSigner('cost').pubkey;

/** Numbers of earlier actions that the texts of an attack name. */
export interface Prepared {
  readonly height: number;
  readonly lists: readonly number[];
  readonly orders: readonly number[];
  readonly dispensers: readonly number[];
  readonly matches: readonly number[];
  readonly polls: readonly number[];
  readonly issues: readonly number[];
  readonly files: readonly number[];
}

/** Content of earlier blocks, with their ledger. */
interface Preparation {
  readonly blocks: readonly ChainBlock[];
  readonly prepared: Prepared;
  readonly ledger: MemoryLedger;
}

type Text = readonly [source: string, data: string];

export const repeat = (count: number, text: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => text(at));

/**
 * Prepares what the attacker and others have paid for: tokens, holders, lists, offers, polls with voters; and what ends with the
 * next block.
 */
export function prepare(scale: Scale): Preparation {
  const ledger = new MemoryLedger(0, rulesOfScale(scale));
  const blocks: ChainBlock[] = [];
  const add = (texts: readonly Text[]) => {
    for (let at = 0; at === 0 || at < texts.length; at += TEXTS_PER_BLOCK) {
      const height = blocks.length;
      const block = blockOf(
        height,
        texts.slice(at, at + TEXTS_PER_BLOCK).map(([source, data], place) => transactionOf(source, data, height, place))
      );
      blocks.push(block);
      ledger.run(block);
    }
  };
  const texts = textsOf(scale);
  add(texts.tokens);
  add(repeat(scale.tokens, (at) => `ISSUE|0|HELD.${at}`).map((data): Text => [ATTACKER, data]));
  add(texts.lists);
  const lists = indexesOf(ledger, 'lists');
  add(['HELD', 'CALL'].map((tick) => [ATTACKER, `AIRDROP|0|${tick}|1|${lists[0]}`]));
  add(texts.offers);
  add(texts.polls);
  const polls = indexesOf(ledger, 'polls');
  add(votes(scale, polls));
  // What has been bought for one time: the height and time of the block after the last of these.
  const most = scale.offers * 3;
  const height = blocks.length + Math.ceil(most / TEXTS_PER_BLOCK) + 2 * MEDIAN_LAG;
  const time = FIRST_TIME + height - MEDIAN_LAG - 1;
  add(
    [
      ...repeat(scale.offers, () => `ORDER|0|BTC|DUST|1|0|BTC||1|||${time}`),
      ...repeat(scale.offers, () => `DISPENSER|0|BTC|DUST|1|0|1|BTC||1|${addressOf('B', 2)}||||${time}`),
      ...repeat(scale.offers / 10, (at) => `VOTE|0|HELD|${height}|yes,no|1|approval|balance|0|0|0||end ${at}`)
    ].map((data): Text => [MAKER, data])
  );
  while (blocks.length < height) add([]);
  const orders = indexesOf(ledger, 'orders');
  const prepared = {
    height,
    lists,
    orders,
    dispensers: indexesOf(ledger, 'dispensers'),
    matches: indexesOf(ledger, 'order_matches'),
    polls,
    issues: indexesOf(ledger, 'issues'),
    files: indexesOf(ledger, 'files')
  };
  return { blocks, prepared, ledger };
}

function textsOf({ members, offers }: Scale): Record<'tokens' | 'lists' | 'offers' | 'polls', readonly Text[]> {
  const by = (source: string, texts: readonly string[]) => texts.map((data): Text => [source, data]);
  const supply = 10 ** 12;
  const named = repeat(members, (at) => addressOf('H', at));
  return {
    tokens: by(ATTACKER, [
      ...['GAS', 'DUST', 'PAYT', 'HELD'].map((tick) => `ISSUE|0|${tick}|0|0|0||${supply}`),
      'ISSUE|0|CALL|0|0|0||1000000',
      'ISSUE|4|CALL|1|DUST|1',
      ...repeat(offers / 8, (at) => `ISSUE|0|OWN${at}|0|0|0||1`),
      `SEND|0|DUST|${supply / 10}|${MAKER}`,
      `SEND|0|HELD|1|${MAKER}`,
      `STAKE|1|100000|${KEY}`,
      'FILE|0|name|text/plain|title|',
      'ADDRESS|0|||2'
    ]),
    lists: by(ATTACKER, [
      ...repeat(10, (list) => `LIST|0|2||${named.slice(list === 0 ? 0 : members / 2).join('|')}`),
      'LIST|0|1||DUST|PAYT|HELD'
    ]),
    offers: [
      ...by(
        MAKER,
        repeat(offers, () => 'ORDER|0|BTC|DUST|1|0|BTC|PAYT|1')
      ),
      ...by(
        ATTACKER,
        repeat(offers, () => 'DISPENSER|0|BTC|DUST|2|0|1|BTC|PAYT|1')
      ),
      ...by(
        ATTACKER,
        repeat(offers, () => 'DISPENSER|0|BTC|DUST|1|0|9|BTC|PAYT|1')
      ),
      ...by(
        ATTACKER,
        repeat(offers / 4, () => 'ORDER|0|BTC|DUST|1|0|BTC||0.00000001')
      ),
      ...by(
        MAKER,
        repeat(offers / 4, () => 'ORDER|0|BTC||0.00000001|0|BTC|DUST|1')
      ),
      ...by(
        ATTACKER,
        repeat(offers, () => 'ORDER|0|BTC|HELD|1|0|BTC||9')
      ),
      ...by(
        ATTACKER,
        repeat(offers, () => 'SWAP|0|BTC|HELD|1|0|BTC|PAYT|9')
      )
    ],
    polls: by(
      ATTACKER,
      repeat(offers / 40, (at) => `VOTE|0|HELD|99999|yes,no|1|approval|balance|0|0|0|1|which ${at}`)
    )
  };
}

/** All holders have voted in the first poll, and let another vote in the others. */
function votes({ members }: Scale, polls: readonly number[]): Text[] {
  return Array.from({ length: members }, (_, at): Text[] => [
    [addressOf('H', at), `VOTE|1|${polls[0]}|0`],
    [addressOf('H', at), `VOTE|3|HELD|${ATTACKER}`]
  ]).flat();
}

/** Actions with a valid row in a table. */
function indexesOf({ blocks }: MemoryLedger, table: string): number[] {
  return blocks.flatMap(({ rows }) =>
    rows.flatMap(({ table: at, columns }) =>
      at === table && !String(columns['status_id']).startsWith('invalid') ? [Number(columns['action_index'])] : []
    )
  );
}

export function blockOf(height: number, transactions: ChainBlock['transactions']): ChainBlock {
  return { height, time: FIRST_TIME + height, hash: String(height).padStart(64, '0'), transactions: [...transactions] };
}

export function transactionOf(
  source: string,
  data: string,
  height: number,
  at: number
): ChainBlock['transactions'][number] {
  const hash = `${height}x${at}`.padStart(64, 'a');
  return { hash, source, fee: null, data, outputs: [{ vout: 0, address: ATTACKER, amount: parseAmount('0.001')! }] };
}
