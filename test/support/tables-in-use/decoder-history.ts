import type { Setting } from './block-context.ts';
import { CHAINS } from './block-context.ts';
import { addBulk, analyze, type BulkRows, sqlHash } from './bulk.ts';
import { FIRST_HEIGHT, GENESIS_TIME } from './ledger.ts';

export interface DecoderSize {
  readonly blocks: number;
  /** As many transactions, and as many outputs. */
  readonly transactions: number;
  readonly addresses: number;
}

const DISPENSERS = 400;
/** Coprime to all sizes: visits each address once, in no order. */
const STRIDE = 7_919;

/** Blocks from the first height on, with transactions and outputs spread evenly. */
export async function addDecoderHistory(
  { connection, tables, seed, chain }: Setting,
  size: DecoderSize
): Promise<void> {
  const { blocks, transactions, addresses } = size;
  const time = `${GENESIS_TIME} + (${FIRST_HEIGHT} + seq - 1) * ${CHAINS[chain].blockSeconds}`;
  // Ids have gaps, as AUTO_INCREMENT leaves them; 1 is the empty text.
  const addressId = (index: string) => `2 + ${index} + (${index}) DIV 10`;
  const hashId = `${blocks} + 2 + seq + seq DIV 9`;
  const spender = `(seq * ${STRIDE}) MOD ${addresses}`;
  const block = `${FIRST_HEIGHT} + (seq - 1) * ${blocks} DIV ${transactions}`;
  const dispensers = Math.min(DISPENSERS, transactions);
  const every = Math.floor(transactions / dispensers);
  const filled: readonly BulkRows[] = [
    {
      table: 'index_transactions',
      count: blocks,
      columns: { id: '1 + seq', hash: sqlHash(`block ${seed}`, 'seq') }
    },
    { table: 'index_transactions', count: transactions, columns: { id: hashId, hash: sqlHash(`tx ${seed}`, 'seq') } },
    {
      table: 'index_addresses',
      count: addresses,
      columns: { id: addressId('(seq - 1)'), address: `CONCAT('bc1q', ${sqlHash(`address ${seed}`, 'seq', 38)})` }
    },
    {
      table: 'blocks',
      count: blocks,
      columns: {
        block_index: `${FIRST_HEIGHT} + seq - 1`,
        block_time: time,
        block_hash_id: '1 + seq',
        previous_block_hash_id: 'seq' // the first has the empty text before it
      }
    },
    {
      table: 'transactions',
      count: transactions,
      columns: {
        tx_index: 'seq',
        tx_hash_id: hashId,
        block_index: block,
        source_id: addressId(spender),
        destination_id: `IF(seq MOD 3, 1, ${addressId(`((seq + 1) * ${STRIDE}) MOD ${addresses}`)})`,
        amount: 'NULL',
        fee: '0',
        data: `ELT(1 + seq MOD 4, 'SEND|0|GAS|1|x', CONCAT('BROADCAST|0|😀 ', seq), '', CONCAT('MINT|0|Rare|', seq))`,
        raw_data: `IF(seq MOD 20, NULL, UNHEX(${sqlHash(`raw ${seed}`, 'seq')}))`
      }
    },
    {
      table: 'transaction_outputs',
      count: transactions,
      columns: {
        tx_index: 'seq',
        vout: 'seq MOD 2',
        destination_id: addressId(`((seq + 1) * ${STRIDE}) MOD ${addresses}`),
        amount: 'seq * 31 MOD 1000000007'
      }
    },
    {
      table: 'pubkeys',
      count: Math.floor(addresses / 2),
      columns: {
        id: 'seq + seq DIV 8',
        address_id: addressId(spender),
        pubkey: `CONCAT('02', ${sqlHash(`key ${seed}`, 'seq')})`
      }
    },
    {
      table: 'dispensers',
      count: dispensers,
      columns: {
        tx_index: `seq * ${every}`,
        address_id: addressId(`((seq * ${every}) * ${STRIDE}) MOD ${addresses}`),
        expiration: `${GENESIS_TIME} + seq * 100000`,
        oracle_address_id: 'NULL',
        source_address_id: addressId(`((seq * ${every}) * ${STRIDE}) MOD ${addresses}`),
        expired_block_index: `IF(seq MOD 9, NULL, ${FIRST_HEIGHT + blocks - 1} - seq MOD ${Math.min(120, blocks)})`
      }
    },
    {
      table: 'events',
      count: 3,
      columns: { time: "'2026-01-01 00:00:00'", code: "'PARSE_ERROR'", data: "CONCAT('{\"tx_index\":', seq, '}')" }
    }
  ];
  for (const rows of filled) await addBulk(connection, tables, rows);
  await analyze(connection, [...new Set(filled.map(({ table }) => table))]);
}
