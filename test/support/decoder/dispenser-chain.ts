import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { BlockRows, TransactionRow } from '../../../src/decoder/block-rows.ts';
import { NO_DISPENSERS } from '../../../src/decoder/dispensers/action.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';

/** Blocks of a chain whose dispensers are all forgotten at its end. */
export const CHAIN_BLOCKS = 420;
const OPENINGS = 600;
const OPENING_BLOCKS = 4;
const PARTIES = 30;
const BLOCK_S = 600;
const MOST_BLOCKS = 6;
const MOST_UNDONE = 4;

const common = { rawData: null, pubkey: null, outputs: [], dispensers: NO_DISPENSERS };

function opening(hash: string, at: number): TransactionRow {
  const expiration = (15 + (at % 3) * 20) * BLOCK_S;
  const opened = [{ address: `till ${at % 200}`, oracleAddress: null, expiration, least: BigInt(1 + (at % 9)) }];
  return { ...common, hash, source: `party ${at % PARTIES}`, data: 'opens', dispensers: { opened, extendedTo: null } };
}

/** Returns a block: openings first, then edits by sources and paid addresses, and payments, until all is over. */
export function blockAt(height: number): BlockRows {
  const hash = `block ${height}`;
  const block = { height, time: height * BLOCK_S, hash, previousHash: `block ${height - 1}`, findings: [] };
  if (height < OPENING_BLOCKS)
    return { ...block, transactions: Array.from({ length: OPENINGS }, (_, at) => opening(`${hash}/${at}`, at)) };
  if (height > 120) return { ...block, transactions: [] };
  const source = height % 2 === 0 ? `party ${height % PARTIES}` : `till ${height % 200}`;
  const edit = { opened: [], extendedTo: (height + (height % 7) * 5) * BLOCK_S };
  const outputs = Array.from({ length: 20 }, (_, vout) => {
    return {
      vout,
      address: `till ${(height * 7 + vout) % 200}`,
      amount: BigInt(1 + (vout % 12)),
      isPayment: true as const
    };
  });
  return {
    ...block,
    transactions: [
      { ...common, hash: `${hash}/edit`, source, data: 'edits', dispensers: edit },
      { ...common, hash: `${hash}/pay`, source: 'buyer', data: '', outputs }
    ]
  };
}

/** Writes what lacks of the chain, in groups of any size, and takes some blocks back in between. */
export async function writeChain(database: DatabaseCoordinates): Promise<void> {
  const store = await openDecoderStore(database, { dispenserLimitHeight: 0 });
  const below = (count: number) => Math.floor(Math.random() * count);
  const [tip] = await store.database.query('SELECT MAX(block_index) AS height FROM blocks');
  for (let next = Number(tip?.['height'] ?? -1) + 1; next < CHAIN_BLOCKS; ) {
    const count = Math.min(1 + below(MOST_BLOCKS), CHAIN_BLOCKS - next);
    await store.writeBlocks(Array.from({ length: count }, (_, at) => blockAt(next + at)));
    next += count;
    for (let left = next > 10 && below(6) === 0 ? below(MOST_UNDONE) : 0; left > 0; left--) {
      await store.rollBackTip();
      next -= 1;
    }
    await sleep(1);
  }
  await store.database.close();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await writeChain(JSON.parse(process.argv[2]!));
