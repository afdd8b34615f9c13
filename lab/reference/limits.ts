import type { ChainTransaction, ExecutedBlock } from '../../src/indexer/block/block.ts';

/*
 * The shares of a block, added up from its rows as docs/actions.md says under "What LIMITS bounds".
 *
 * The reference ledger has no limits: a block of its chains uses some hundred of 150,000 units, so nothing is refused for them there. Here
 * small blocks of few kinds of actions are filled, and each verdict is compared with what the rows before it have used.
 */

/** Kinds of actions that a block without room refuses, with the tables of their verdicts. */
const LIMITED: Readonly<Record<string, string>> = {
  AIRDROP: 'airdrops',
  BATCH: 'batches',
  DISPENSER: 'dispensers',
  LIST: 'lists',
  ORDER: 'orders'
};
const KEPT = 100;
const LOOKS_OF_UNIT = 10;
/** Units of the opening of a dispenser beside its action and movements. */
const OPENING_UNITS = 6;
const FULL = /\(block limit\)$/;

interface Acted {
  readonly index: number;
  readonly name: string;
  readonly verdict: string | null;
  /** Items of a LIST, or addresses of the list of an AIRDROP. */
  readonly parts: number;
}

/** Units and looks. */
interface Amounts {
  units: number;
  looks: number;
}

/** Subjects of an action: items of a LIST by its index, addresses of the list that an AIRDROP names. */
type PartsOf = (index: number) => number;

/**
 * Compares the verdicts of a block with the shares of its sources.
 *
 * @returns how many were refused for want of units or looks
 * @throws {Error} that names the action which was refused and should not be, or should be and was not
 */
export function auditLimits(
  { rows, block: { transactions } }: ExecutedBlock,
  blockUnits: number,
  partsOf: PartsOf
): number {
  const acted = actionsOf(rows, partsOf);
  const first = Math.min(...acted.keys());
  const used = new Map<string, Amounts>();
  let refused = 0;
  for (const [place, { source }] of transactions.entries()) {
    const own = used.get(source) ?? { units: 0, looks: 0 };
    used.set(source, own);
    const following = followers(transactions, place, source);
    for (const action of acted.get(first + place) ?? []) {
      const all = [...used.values()];
      const spent = (name: keyof Amounts) => all.reduce((sum, each) => sum + each[name], 0);
      const left: Amounts = {
        units: share(blockUnits - spent('units') + own.units, following, KEPT) - own.units,
        looks:
          share(LOOKS_OF_UNIT * blockUnits - spent('looks') + own.looks, following, LOOKS_OF_UNIT * KEPT) - own.looks
      };
      const expected = isRefused(action, left, following > 0);
      const isFull = action.verdict !== null && FULL.test(action.verdict);
      if (expected !== isFull) {
        const text = `${action.name} ${action.index} of ${source}: ${action.verdict}, ${following} follow`;
        throw new Error(`${text}, left ${JSON.stringify(left)}, parts ${action.parts}`);
      }
      refused += Number(isFull);
      own.units += unitsOf(action, rows);
      own.looks += looksOf(action, left, following > 0);
    }
  }
  return refused;
}

/** Returns the part of a source: half of what is not kept for others, its equal part, or all. */
function share(left: number, following: number, kept: number): number {
  if (following === 0) return left;
  const [half, equal] = [(left - kept * following) / 2, left / (following + 1)];
  return Math.floor(Math.max(half, equal));
}

/** Returns how many other sources have limited actions after a transaction. */
function followers(transactions: readonly ChainTransaction[], place: number, source: string): number {
  const later = transactions.slice(place + 1).filter(({ data }) => data.split('|')[0]! in LIMITED);
  return new Set(later.flatMap((one) => (one.source === source ? [] : [one.source]))).size;
}

function isRefused({ name, parts, verdict }: Acted, left: Amounts, isFollowed: boolean): boolean {
  if (!(name in LIMITED)) return false;
  const isEarly = verdict !== null && verdict !== 'valid' && !FULL.test(verdict) && name !== 'LIST';
  if (isEarly) return false; // another reason comes before
  if (left.units < 1) return true;
  if (name === 'AIRDROP' && (left.looks < 0 || (isFollowed && parts > left.looks))) return true;
  return (name === 'LIST' || name === 'AIRDROP') && isFollowed && 1 + parts > left.units;
}

/** Returns one unit for the action, for each of its movements, and for each item of a LIST; more for a dispenser. */
function unitsOf({ index, name, parts, verdict }: Acted, rows: ExecutedBlock['rows']): number {
  const moved = rows.filter(
    ({ table, columns }) => ['credits', 'debits', 'escrows'].includes(table) && columns['action_index'] === index
  );
  const opened = name === 'DISPENSER' && verdict === 'valid' ? OPENING_UNITS : 0;
  return 1 + moved.length + opened + (name === 'LIST' && !FULL.test(verdict ?? '') ? parts : 0);
}

/** Returns the looks of an AIRDROP: what is left and one more where it looks at more than its share. */
function looksOf({ name, parts, verdict }: Acted, left: Amounts, isFollowed: boolean): number {
  const isBefore = verdict !== 'valid' && (!FULL.test(verdict ?? '') || left.units < 1 || left.looks < 0);
  if (name !== 'AIRDROP' || isBefore) return 0;
  return isFollowed ? Math.min(parts, Math.max(0, left.looks) + 1) : parts;
}

/** Returns the actions of a block by the index of their transactions, in order. */
function actionsOf(rows: ExecutedBlock['rows'], partsOf: PartsOf): Map<number, Acted[]> {
  const verdicts = new Map<number, string>();
  for (const { table, columns } of rows)
    if (Object.values(LIMITED).includes(table))
      verdicts.set(Number(columns['action_index']), String(columns['status_id']));
  const made = rows.flatMap(({ table, columns }) =>
    table === 'actions' && columns['tx_index'] !== null ? [columns] : []
  );
  const acted = made.map((columns) => {
    const index = Number(columns['action_index']);
    const [name, verdict] = [String(columns['action_id']), verdicts.get(index) ?? null];
    return { tx: Number(columns['tx_index']), index, name, verdict, parts: partsOf(index) };
  });
  return Map.groupBy(acted, ({ tx }) => tx);
}
