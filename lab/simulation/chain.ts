import { createHash } from 'node:crypto';
import type { Random } from '../../src/devnet/random.ts';
import type { WireRow } from '../../src/wire/data/messages.ts';

export interface Hashes {
  readonly ledger_hash: string;
  readonly actions_hash: string;
  readonly contract_hash: string;
}

/** A block's name; lies may share some of its hashes, and quiet blocks of other branches all of them. */
export const nameOf = ({ ledger_hash, actions_hash, contract_hash }: Hashes): string =>
  `${ledger_hash} ${actions_hash} ${contract_hash}`;

/**
 * `quiet`: without actions of its own, which is all that hashes cover; `lie`: what only a lying source says; `false`: an honest block's
 * hashes with other rows, which only a lying source says.
 */
export type Kind = 'busy' | 'quiet' | 'lie' | 'false';

/** One block of the tree of all branches, with what a database holds at it. */
export interface Block {
  readonly height: number;
  readonly parent: Block | null;
  readonly kind: Kind;
  readonly time: number;
  readonly hashes: Hashes;
  readonly transfers: readonly WireRow[];
  /** Transfers of older blocks that are others by now, by their block. */
  readonly amended: ReadonlyMap<number, readonly WireRow[]>;
  /** Rows of `index_addresses` that are new in it; ids go on where its parent's ended. */
  readonly addresses: readonly WireRow[];
  readonly addressCount: number;
  /** All rows of `tokens`, by tick. */
  readonly tokens: ReadonlyMap<string, WireRow>;
}

const TICKS = ['AAA', 'BBB', 'CCC', 'DDD', 'EEE'] as const;
let serial = 0;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export function resetChain(): void {
  serial = 0;
}

/**
 * The next block after one: new lookup rows, transfers (equal ones too), and tokens that change, come and go. A quiet one has
 * tokens and a time, and is named after its parent alone.
 *
 * @param like an honest block of which a lie differs in one hash only
 */
export function extend(parent: Block | null, random: Random, kind: Kind, like?: Block): Block {
  const isQuiet = kind === 'quiet';
  const height = (parent?.height ?? 0) + 1;
  const number = ++serial;
  const before = parent?.addressCount ?? 0;
  const addresses = Array.from({ length: isQuiet ? 0 : random.between(0, 2) }, (_, index) => ({
    id: before + index + 1,
    address: sha256(`address ${number} ${index}`).slice(0, 24)
  }));
  const addressCount = before + addresses.length;
  const transfers = Array.from({ length: isQuiet || addressCount === 0 ? 0 : random.between(0, 3) }, (_, index) => ({
    id: height * 100 + index,
    block_index: height,
    address_id: random.between(1, addressCount),
    amount: random.between(1, 3)
  }));
  const tokens = new Map(parent?.tokens);
  for (let change = random.between(0, 2); change > 0; change--) {
    const tick = random.pick(TICKS);
    if (tokens.has(tick) && random.next() < 0.3) tokens.delete(tick);
    else tokens.set(tick, { id: number * 10 + change, tick, supply: random.between(1, 1_000_000) });
  }
  const content = JSON.stringify([parent?.hashes ?? null, isQuiet ? kind : number]);
  const hashes = {
    ledger_hash: like?.hashes.ledger_hash ?? sha256(`ledger ${content}`),
    actions_hash: like?.hashes.actions_hash ?? sha256(`actions ${content}`),
    contract_hash: sha256(`contract ${content}`)
  };
  const time = 1_700_000_000 + 100 * height + 10 * random.between(0, 4);
  const amended: Block['amended'] = parent?.amended ?? new Map();
  return { height, parent, kind, time, hashes, transfers, amended, addresses, addressCount, tokens };
}

/** Returns a block with false rows of any table under its honest hashes, which cover no rows. */
export function falsify(block: Block, random: Random): Block {
  const { time, transfers, addresses } = block;
  const other = { ...block, kind: 'false' } as const;
  const tick = random.pick(TICKS);
  switch (random.pick(['tokens', 'transfers', 'addresses', 'time'])) {
    case 'transfers':
      if (transfers.length > 0) return { ...other, transfers: transfers.map((row) => ({ ...row, amount: 9 })) };
      break;
    case 'addresses':
      if (addresses.length > 0)
        return {
          ...other,
          addresses: addresses.map((row) => ({ ...row, address: `false ${block.height} ${String(row['id'])}` }))
        };
      break;
    case 'time':
      return { ...other, time: time + 5 };
  }
  const tokens = new Map(block.tokens);
  if (tokens.has(tick) && random.next() < 0.5) tokens.delete(tick);
  else tokens.set(tick, { id: ++serial * 10, tick, supply: 1_000_000 + random.between(1, 1_000_000) });
  return { ...other, tokens };
}

/** The same block, which changes the transfers of an older one in place; another branch may well do the same. */
export function amend(block: Block, random: Random): Block {
  const older = at(block, block.height - random.between(1, 6));
  if (!older || older === block || older.transfers.length === 0) return block;
  const amount = random.between(0, 1);
  const rows = transfersOf(block, older).map((row) => ({ ...row, amount }));
  return { ...block, amended: new Map([...block.amended, [older.height, rows]]) };
}

/** An honest kind for a block that comes, perhaps in the place of another one: quiet blocks often are on both branches. */
export const nextKind = (random: Random, instead: Block | null): Kind =>
  random.next() < (instead?.kind === 'quiet' ? 0.8 : 0.3) ? 'quiet' : 'busy';

/** The transfers of a block as they are at a later one. */
export const transfersOf = (tip: Block, block: Block): readonly WireRow[] =>
  tip.amended.get(block.height) ?? block.transfers;

/** The block of a branch at a height; null below its first. */
export function at(tip: Block, height: number): Block | null {
  let block: Block | null = tip;
  while (block !== null && block.height > height) block = block.parent;
  return block;
}

/** The blocks of a branch above a height, ascending. */
export function above(tip: Block, height: number): Block[] {
  const found: Block[] = [];
  for (let block: Block | null = tip; block !== null && block.height > height; block = block.parent) found.push(block);
  return found.reverse();
}

/** The highest block that two branches share; null when there is none. */
export function fork(a: Block, b: Block): Block | null {
  let [left, right]: [Block | null, Block | null] = [a, b];
  while (left !== right && left !== null && right !== null) {
    if (left.height >= right.height) left = left.parent;
    else right = right.parent;
  }
  return left === right ? left : null;
}

/** The highest block of a branch whose name, and so that of all below it, another branch has too. */
export function sharedByName(own: Block, other: Block): Block | null {
  let [block, twin]: [Block | null, Block | null] = [at(own, other.height), at(other, own.height)];
  while (block && twin && nameOf(block.hashes) !== nameOf(twin.hashes)) [block, twin] = [block.parent, twin.parent];
  return block;
}

/** All blocks that were ever made, by name. */
export class BlockBook {
  readonly #blocks = new Map<string, Block[]>();

  add(block: Block): void {
    const name = nameOf(block.hashes);
    this.#blocks.set(name, [...(this.#blocks.get(name) ?? []), block]);
  }

  /** The blocks of one name, oldest first: of several only rows can tell which is meant. */
  find(hashes: Hashes): readonly Block[] {
    return this.#blocks.get(nameOf(hashes)) ?? [];
  }
}

export const blockRow = ({ height, time, hashes }: Block): WireRow => ({
  id: height,
  block_index: height,
  block_time: time,
  ...hashes
});
