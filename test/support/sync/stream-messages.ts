import { encodeMessage, infraOnly } from '../../../src/wire/data/block.ts';
import type { Broadcast } from '../../../src/wire/data/broadcast.ts';
import type { BlockMessage } from '../../../src/wire/data/messages.ts';
import type { Listener } from '../listener.ts';
import { INDEXER } from './front-door.ts';

/** Chain and network of the databases of a front door. */
export const AT = 'bitcoin/regtest';
/** Height at which a front door begins. */
export const BASE_HEIGHT = 7;

/** A block of an indexer. @param padding bytes of rows that infra-only subscribers do not get */
export function block(height: number, padding = 0, branch = ''): Broadcast {
  const hashes = { ledger_hash: `l${height}${branch}`, actions_hash: `a${height}`, contract_hash: null };
  const message = {
    type: 'block',
    ...INDEXER,
    schema_version: 7,
    block_index: height,
    block_time: 1,
    ...hashes,
    data: { transactions: [{ pad: 'x'.repeat(padding) }] }
  } satisfies BlockMessage as BlockMessage;
  const names = { hashes, previous: null, schema: null };
  return { type: 'block', height, bytes: encodeMessage(message), infraBytes: encodeMessage(infraOnly(message)), names };
}

/** A short message about a block: all subscribers get the same bytes. */
export function word(type: 'reorg' | 'amendment' | 'settled', height: number): Broadcast {
  const bytes = Buffer.from(JSON.stringify({ type, ...INDEXER, block_index: height }));
  const { names } = block(height);
  return { type, height, bytes, infraBytes: bytes, ...(type !== 'reorg' && names && { names }) };
}

/** The stream behind a block of `block`. */
export function behind(height: number, { branch = '', also = '' } = {}): string {
  return `/subscribe/indexer/${AT}?after=${height}:A${height}::L${height}${branch}${also}`;
}

export const heights = ({ heard }: Listener) =>
  heard.filter(({ type }) => type === 'block').map(({ block_index }) => block_index);

/** All messages, as `block 9`. */
export const words = ({ heard }: Listener) =>
  heard.map(({ type, block_index }) => `${type} ${block_index ?? ''}`.trim());

export const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
