import { DEFAULT_LIMITS } from '../../../../src/coin/limits.ts';
import { parseAmount } from '../../../../src/consensus/amount.ts';
import type { ChainBlock, ExecutedBlock } from '../../../../src/indexer/block/block.ts';
import type { Rules } from '../../../../src/indexer/rules/rules.ts';
import { Random } from '../../../reference/random.ts';
import { MemoryLedger, TEST_RULES } from '../../../support/indexer-ledger.ts';

/** What a block is measured by: raw bytes of a chain. */
export const BLOCK_BYTES = 1_000_000;
/** Of the smallest transaction around a payload. */
const TRANSACTION_BYTES = 100;
/** Of the texts that a block repeats. */
const PATTERN_BYTES = 1_000;
const MEMBERS = 20_000;
const OFFERS = 8_000;
const LISTS = 10;
const ATTACKER = 'A1';
const FIRST_TIME = 1_700_000_000;

/** Rules of a regtest whose addresses are a letter and a number. */
export const WORST_RULES: Rules = {
  ...TEST_RULES,
  limitsAt: () => DEFAULT_LIMITS,
  readAddress: (text) => (/^[A-Z]\d+$/.test(text) ? text : undefined)
};

const repeat = (count: number, text: (at: number) => string) => Array.from({ length: count }, (_, at) => text(at));
const membersText = repeat(MEMBERS, (at) => `H${at}`).join('|');

/** Places of actions that the texts of an attack name. */
interface Prepared {
  readonly lists: readonly number[];
}

/** What earlier blocks hold and others have paid for: tokens, holders, lists, offers. */
export function preparation(): { readonly blocks: readonly ChainBlock[]; readonly prepared: Prepared } {
  const texts: (readonly [source: string, data: string])[] = [
    [ATTACKER, 'ISSUE|0|DUST|0|0|0||1000000000000'],
    [ATTACKER, 'ISSUE|0|PAYT|0|0|0||1000000000000'],
    [ATTACKER, 'ISSUE|0|HELD|0|0|0||1000000000000']
  ];
  const listsAt = texts.length + 1;
  for (let list = 0; list < LISTS; list++)
    texts.push([ATTACKER, `LIST|0|2||${list === 0 ? membersText : repeat(MEMBERS / 2, (at) => `H${at}`).join('|')}`]);
  const lists = repeat(LISTS, (at) => String(listsAt + at)).map(Number);
  texts.push([ATTACKER, `AIRDROP|0|HELD|1|${lists[0]}`]);
  for (let at = 0; at < OFFERS; at++) texts.push(['B1', 'ORDER|0|BTC|DUST|1|0|BTC|PAYT|1']);
  for (let at = 0; at < OFFERS; at++) texts.push([ATTACKER, 'DISPENSER|0|BTC|DUST|2|0|1|BTC|PAYT|1']);
  for (let at = 0; at < OFFERS; at++) texts.push([ATTACKER, 'DISPENSER|0|BTC|DUST|1|0|9|BTC|PAYT|1']);
  texts.splice(3, 0, [ATTACKER, 'SEND|0|DUST|100000|B1']);
  const shifted = lists.map((list) => list + 1);
  texts[3 + 1 + LISTS] = [ATTACKER, `AIRDROP|0|HELD|1|${shifted[0]}`];
  const blocks = texts.reduce<ChainBlock[]>((made, [source, data], at) => {
    if (at % 2_000 === 0 || at === 3 + 1 + LISTS || at === 4 + 1 + LISTS) made.push(blockOf(made.length, []));
    (made.at(-1)!.transactions as ChainBlock['transactions'][number][]).push(
      transactionOf(source, data, made.length, at)
    );
    return made;
  }, []);
  return { blocks, prepared: { lists: shifted } };
}

function blockOf(height: number, transactions: ChainBlock['transactions']): ChainBlock {
  return { height, time: FIRST_TIME + height, hash: String(height).padStart(64, '0'), transactions: [...transactions] };
}

function transactionOf(source: string, data: string, height: number, at: number): ChainBlock['transactions'][number] {
  const hash = `${height}x${at}`.padStart(64, 'a');
  return { hash, source, fee: null, data, outputs: [{ vout: 0, address: ATTACKER, amount: parseAmount('0.001')! }] };
}

/** Texts that make much work for their bytes, as the one who writes them knows the ledger. */
const PIECES: Readonly<Record<string, (prepared: Prepared, random: Random) => string>> = {
  'AIRDROP to a list': ({ lists }) => `AIRDROP|0|DUST|1|${lists[0]}`,
  'AIRDROP of nothing': ({ lists }) => `AIRDROP|0|DUST|0|${lists[0]}`,
  'AIRDROP in many parts': ({ lists }) => `AIRDROP|1|${lists[0]}${'|DUST|1'.repeat(20)}`,
  'AIRDROP without the funds': ({ lists }) => `AIRDROP|0|DUST|99999999999|${lists[0]}`,
  DIVIDEND: () => 'DIVIDEND|0|HELD|DUST|1',
  'DIVIDEND without the funds': () => 'DIVIDEND|0|HELD|DUST|99999999999',
  'edit of a list': ({ lists }, random) => `LIST|1|${1 + random.below(2)}|${random.one(lists)}||H${random.below(999)}`,
  'list of ids': (_, random) => `LIST|0|2||${repeat(20, () => `^${1 + random.below(99)}`).join('|')}`,
  'list of no addresses': (_, random) => `LIST|0|2||${repeat(20, () => random.below(1_296).toString(36)).join('|')}`,
  'ORDER that takes others': () => 'ORDER|0|BTC|PAYT|40|0|BTC|DUST|40',
  'ORDER that nobody takes': () => 'ORDER|0|BTC|DUST|1|0|BTC||9',
  'SEND to dispensers': () => `SEND|0|PAYT|300|${ATTACKER}`,
  'SEND of one unit': (_, random) => `SEND|0|DUST|1|H${random.below(MEMBERS)}`,
  'SEND of nothing': () => 'SEND',
  'LIST of nothing': () => 'LIST',
  'MINT to another': () => 'MINT|0|DUST|1|H7',
  'SLEEP that is refused': () => 'SLEEP|0|x',
  'ADDRESS of nothing': () => 'ADDRESS|0|',
  DESTROY: () => 'DESTROY|0|DUST|1',
  'SWEEP to itself': () => `SWEEP|0|${ATTACKER}|1|0`
};
export type Piece = keyof typeof PIECES;

/** One of the blocks that the search tries. */
export interface Candidate {
  readonly name: string;
  readonly block: ChainBlock;
}

/** A block that repeats a kilobyte of pieces, each batch in a transaction or each piece in one of its own. */
export function candidateOf(
  pieces: readonly Piece[],
  isBatched: boolean,
  height: number,
  prepared: Prepared
): Candidate {
  const random = new Random(1);
  const transactions: ChainBlock['transactions'][number][] = [];
  let bytes = 0;
  while (bytes < BLOCK_BYTES) {
    const commands: string[] = [];
    for (let size = 0; size < (isBatched ? PATTERN_BYTES : 1) && commands.length < 250; ) {
      const command = PIECES[pieces[(transactions.length + commands.length) % pieces.length]!]!(prepared, random);
      commands.push(command);
      size += command.length + 1;
    }
    const weight = (command: string) => (/^(AIRDROP|DIVIDEND)/.test(command) ? 25 : 1);
    let room = 250;
    const kept = commands.filter((command) => {
      room -= weight(command);
      return room >= 0;
    });
    const data = isBatched ? `BATCH|0|${kept.join(';')}` : commands[0]!;
    transactions.push(transactionOf(ATTACKER, data, height, transactions.length));
    bytes += data.length + TRANSACTION_BYTES;
  }
  return { name: `${isBatched ? 'BATCH of ' : ''}${pieces.join(' + ')}`, block: blockOf(height, transactions) };
}

/** What a block costs. */
export interface Cost {
  readonly name: string;
  readonly rows: number;
  readonly ms: number;
}

/** Carries a block out in memory, on what earlier blocks hold. */
function costOf(pieces: readonly Piece[], isBatched: boolean): Cost {
  const { blocks, prepared } = preparation();
  const ledger = new MemoryLedger(0, WORST_RULES);
  for (const block of blocks) ledger.run(block);
  const { name, block } = candidateOf(pieces, isBatched, blocks.length, prepared);
  const before = process.cpuUsage();
  const executed: ExecutedBlock = ledger.run(block);
  const { user } = process.cpuUsage(before);
  return { name, rows: executed.rows.length, ms: user / 1_000 };
}

/** Blocks that cost most. */
export interface Worst {
  readonly pieces: readonly Piece[];
  readonly isBatched: boolean;
  readonly cost: Cost;
}

/**
 * Searches for the kilobyte that costs most: each piece alone, then the costliest with others beside them.
 *
 * @param log  gets a line for each block that was tried
 * @returns the block of most rows and the one of most time
 */
export function searchWorst(log: (cost: Cost) => void): readonly [rows: Worst, ms: Worst] {
  const tried = Object.keys(PIECES).flatMap((piece) =>
    [true, false].map((isBatched) => tryOne([piece], isBatched, log))
  );
  const costliest = (by: 'rows' | 'ms') => tried.reduce((most, one) => (one.cost[by] > most.cost[by] ? one : most));
  for (const by of ['rows', 'ms'] as const) {
    const sorted = tried.toSorted((a, b) => b.cost[by] - a.cost[by]);
    const [first] = sorted;
    for (const other of sorted.slice(1, 4))
      tried.push(tryOne([...first!.pieces, ...other.pieces], first!.isBatched, log));
  }
  return [costliest('rows'), costliest('ms')];
}

function tryOne(pieces: readonly Piece[], isBatched: boolean, log: (cost: Cost) => void): Worst {
  const cost = costOf(pieces, isBatched);
  log(cost);
  return { pieces, isBatched, cost };
}
