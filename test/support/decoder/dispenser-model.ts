import { DEFAULT_TERM_S, DISPENSER_DELAY_S } from '../../../src/coin/action/dispenser.ts';
import { medianTime } from '../../../src/consensus/median-time.ts';
import type { BlockRows, TransactionRow } from '../../../src/decoder/block-rows.ts';
import { leastOf, withPayment, withPrice } from '../../../src/decoder/dispensers/prices.ts';
import { type Dispenser, type Extension, KEPT_BLOCKS } from '../../../src/decoder/dispensers/run.ts';

/** Dispensers and payments that a decoder keeps, at one block. */
interface State {
  readonly times: readonly number[];
  readonly dispensers: readonly Dispenser[];
  readonly extensions: readonly Extension[];
  /** Counted payments by block, transaction, address and price. */
  readonly payments: ReadonlyMap<string, number>;
  /** Hashes of the stored transactions, with the number of their outputs and the sum of their positions. */
  readonly stored: readonly string[];
}

const NOTHING: State = { times: [], dispensers: [], extensions: [], payments: new Map(), stored: [] };

/**
 * The dispensers of a chain, by the plainest reading of the rules: all of them are held, and looked at one after the
 * other for each question.
 */
export class DispenserModel {
  readonly #limitFrom: number;
  readonly #states: State[] = [NOTHING];

  /** @param limitFrom  first block whose payments count */
  constructor(limitFrom: number) {
    this.#limitFrom = limitFrom;
  }

  get state(): State {
    return this.#states.at(-1)!;
  }

  /** Takes the newest block back. */
  rollBackTip(): void {
    this.#states.pop();
  }

  add(block: BlockRows): void {
    this.#states.push(this.#after(this.state, block));
  }

  #after(before: State, { height, time, transactions }: BlockRows): State {
    const times = [...before.times, time];
    const now = medianAt(times);
    const draft = {
      dispensers: endedBefore(height, before),
      extensions: [...before.extensions],
      payments: new Map(before.payments),
      stored: [...before.stored]
    };
    forget(height - KEPT_BLOCKS, draft);
    for (const transaction of transactions) {
      const { source, data, hash } = transaction;
      if (data === '' && source === '') continue;
      const kept = transaction.outputs.filter((output) => this.#keeps(draft, height, transaction, output));
      if (data === '' && kept.length === 0) continue;
      const txIndex = draft.stored.length;
      draft.stored.push(`${hash} ${kept.length} ${kept.reduce((sum, { vout }) => sum + vout, 0)}`);
      this.#open(draft, { txIndex, height, now }, transaction);
      extend(draft, { height, now }, transaction);
    }
    return { times, ...draft };
  }

  #keeps(
    draft: Draft,
    height: number,
    { source, data }: TransactionRow,
    output: TransactionRow['outputs'][number]
  ): boolean {
    const { isPayment, isNeeded, address, amount } = output;
    if (data !== '' || !isPayment) return isNeeded === true || !isPayment;
    const isLimited = height >= this.#limitFrom;
    if (isLimited && source === address) return false;
    const takers = draft.dispensers.filter((one) => one.address === address && one.expiredAt === null);
    const able = takers
      .filter(({ prices }) => leastOf(prices)! <= amount)
      .sort((one, other) => one.txIndex - other.txIndex);
    const taker = able.find((one) => one.source === address) ?? able[0];
    if (!taker || !isLimited) return taker !== undefined;
    const { prices, least } = withPayment(taker.prices, amount);
    const expiredAt = leastOf(prices) === undefined ? height : null;
    draft.dispensers = draft.dispensers.map((one) => (one === taker ? { ...taker, prices, expiredAt } : one));
    const place = `${height} ${taker.txIndex} ${address} ${least}`;
    draft.payments.set(place, (draft.payments.get(place) ?? 0) + 1);
    return true;
  }

  #open(
    draft: Draft,
    at: { txIndex: number; height: number; now: number },
    { source, dispensers }: TransactionRow
  ): void {
    const { txIndex, height, now } = at;
    for (const { address: paid, oracleAddress, expiration: until, least, isInBatch } of dispensers.opened) {
      const address = paid ?? source;
      if (isInBatch && address !== source && height >= this.#limitFrom) continue;
      const expiration = until ?? now + DEFAULT_TERM_S;
      if (expiration <= now) continue;
      const same = draft.dispensers.find((one) => one.txIndex === txIndex && one.address === address);
      const prices = withPrice(same?.prices ?? [], { least, dispensers: 1, payments: 0 });
      const row = same
        ? {
            ...same,
            prices,
            oracleAddress: same.oracleAddress ?? oracleAddress,
            expiration: Math.max(same.expiration, expiration)
          }
        : { txIndex, address, oracleAddress, source, expiration, expiredAt: null, prices };
      draft.dispensers = [...draft.dispensers.filter((one) => one !== same), row];
    }
  }
}

interface Draft {
  dispensers: readonly Dispenser[];
  extensions: Extension[];
  readonly payments: Map<string, number>;
  readonly stored: string[];
}

const keyOf = ({ txIndex, address }: Dispenser) => `${txIndex} ${address}`;
const isOf = (place: string, one: Dispenser) => place.split(' ').slice(1, 3).join(' ') === keyOf(one);
const medianAt = (times: readonly number[]) => medianTime(times.slice(-11));
const isPartyOf = (address: string) => (one: Dispenser) => one.source === address || one.address === address;

/** Dispensers that a ledger has closed by the end of the block below have ended. */
function endedBefore(height: number, { times, dispensers, extensions }: State): readonly Dispenser[] {
  if (times.length === 0) return dispensers;
  const medians = times.map((_, at) => medianAt(times.slice(0, at + 1)));
  const over = medians.filter((median) => median <= medians.at(-1)! - DISPENSER_DELAY_S).at(-1) ?? 0;
  return dispensers.map((one) => {
    const edits = extensions.filter(({ address }) => isPartyOf(address)(one)).map(({ expiration }) => expiration);
    const isOver = one.expiredAt === null && Math.max(one.expiration, ...edits) < over;
    return isOver ? { ...one, expiredAt: height } : one;
  });
}

function forget(oldest: number, draft: Draft): void {
  const gone = draft.dispensers.filter(({ expiredAt }) => expiredAt !== null && expiredAt <= oldest);
  draft.dispensers = draft.dispensers.filter((one) => !gone.includes(one));
  for (const place of draft.payments.keys()) if (gone.some((one) => isOf(place, one))) draft.payments.delete(place);
  draft.extensions = draft.extensions.filter(({ address }) => {
    const latest = draft.extensions.findLast((one) => one.address === address)!;
    return latest.height > oldest || draft.dispensers.some(isPartyOf(address));
  });
}

function extend(
  draft: Draft,
  { height, now }: { height: number; now: number },
  { source, dispensers }: TransactionRow
): void {
  const { extendedTo } = dispensers;
  const before = draft.extensions.filter(({ address }) => address === source).map(({ expiration }) => expiration);
  if (extendedTo === null || extendedTo <= Math.max(now, ...before) || !draft.dispensers.some(isPartyOf(source)))
    return;
  draft.extensions = draft.extensions.filter((one) => one.height !== height || one.address !== source);
  draft.extensions.push({ height, address: source, expiration: extendedTo });
}
