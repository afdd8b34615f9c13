import { virtualSize } from '../../coin/raw/transaction-form.ts';
import { type ErrorCode, hasCode, PlatformError } from '../../errors.ts';
import { type NodeCoins, unusable } from '../coins/coins.ts';
import type { Added } from '../coins/mempool-room.ts';
import { keyOf, type Outpoint, type Reservations } from '../coins/reservations.ts';
import { MOST_PSBT_SOURCE_BYTES, mostSourceBytes, type SourcedCoin, tooLongForPsbt } from '../coins/spent.ts';
import { type Composed, compose, type Order } from '../transaction/compose.ts';
import { MAX_INPUTS, satoshis } from '../transaction/select-coins.ts';
import type { Sender } from '../transaction/sender.ts';

/** Coins that a caller lets a transaction spend. */
interface WantedCoins {
  /** The only coins to spend, the first one as first input. Empty: any coin of the sender. */
  readonly places: readonly Outpoint[];
  /** Whether unconfirmed coins may be spent. */
  readonly unconfirmed: boolean;
}

/** Parts that choose and reserve coins. */
interface CoinDeps {
  readonly coins: NodeCoins;
  readonly reservations: Reservations;
  /** The caller for whom coins are reserved. */
  readonly holder: string;
  readonly request?: string | undefined;
}

/** A coin that cannot be spent now, and the reason. */
interface Obstacle {
  readonly coin: SourcedCoin;
  readonly reason: string;
}

/** Most attempts: another caller may spend the chosen coins meanwhile, and then others are chosen. */
const TRIES = 5;
/** Most further coins that are looked at when a choice failed: a list may be as old as the last block. */
const MOST_LOOKED_AT = 1_000;
const SPENT = 'it is spent, or too young to be spent';
const CROWDED = 'too many unconfirmed transactions hang together with it: nodes let nobody spend it before a block';
const UNCONFIRMED = 'no block has it yet, and unconfirmed is false';
/** Reason where coins that wait may be missing. */
export const LACKS_MEMPOOL =
  'the UTXO tracker has not read the whole mempool yet, so coins that no block has may be missing: ask again later';
const TOO_LONG = `the transactions that its coins come from are longer than the ${MOST_PSBT_SOURCE_BYTES} bytes that fit a PSBT: spend fewer coins at once`;

/**
 * Chooses and reserves coins, unless the caller named them, then checks at the node that they can be spent now.
 *
 * @throws {PlatformError} COINS_INSUFFICIENT, or TRACKER_NOT_READY where unconfirmed coins may be missing;
 *   COIN_UNUSABLE, RESERVATIONS_FULL, and the errors of `NodeCoins`; then nothing stays reserved
 */
export async function composeWithCoins(
  order: Order,
  wanted: WantedCoins,
  deps: CoinDeps
): Promise<Composed<SourcedCoin>> {
  const { places } = wanted;
  const { reservations, holder, request } = deps;
  const { coins: candidates, lacksMempool } = await findCandidates(order.sender, wanted, deps);
  const gone = new Map<string, Obstacle>();
  for (let left = TRIES; left > 0; left--) {
    const free = places.length > 0 ? candidates : takeFree(candidates, gone, deps);
    const composed = composeOrSay(order, choices(free), () => {
      const { reserved, facts } = tellReserved(places.length > 0 ? [] : candidates, deps);
      return {
        code: lacksMempool ? 'TRACKER_NOT_READY' : 'COINS_INSUFFICIENT',
        reserved,
        facts: [...(lacksMempool ? [LACKS_MEMPOOL] : []), ...facts, ...tellGone(gone)]
      };
    });
    const chosen = composed.first.coins;
    // Coins that the caller named are not reserved: the caller shares them out.
    const reserved = places.length > 0 ? [] : chosen;
    const taken = reservations.take(reserved, holder, request);
    try {
      const { obstacles, sourced, added } = await examine(composed, order.sender, wanted, deps.coins);
      if (obstacles.length === 0) {
        reservations.renew(reserved, holder, request, taken);
        return { ...composed, first: { ...composed.first, coins: sourced } };
      }
      if (places.length > 0) throw unusable(obstacles[0]!.coin, obstacles[0]!.reason);
      for (const obstacle of obstacles) gone.set(keyOf(obstacle.coin), obstacle);
      const isCrowded = obstacles.some(({ reason }) => reason === CROWDED || reason === UNCONFIRMED);
      await leaveOutHopeless(candidates, gone, { ...wanted, added: isCrowded ? added : null }, deps);
    } catch (caught) {
      reservations.release(reserved, holder, taken);
      throw caught;
    }
    reservations.release(reserved, holder, taken);
  }
  throw new PlatformError(lacksMempool ? 'TRACKER_NOT_READY' : 'COINS_INSUFFICIENT', {
    reason: [`${TRIES} choices of coins failed`, ...(lacksMempool ? [LACKS_MEMPOOL] : []), ...tellGone(gone)].join('; ')
  });
}

/**
 * Leaves out those of the next candidates that cannot be spent, so that no further attempt is lost to them: a stranger may have paid
 * many large ones.
 *
 * @param added what is to join the mempool, where a coin of a failed choice had no room there; else null
 */
async function leaveOutHopeless(
  candidates: readonly SourcedCoin[],
  gone: Map<string, Obstacle>,
  { unconfirmed, added }: Pick<WantedCoins, 'unconfirmed'> & { readonly added: Added | null },
  deps: CoinDeps
): Promise<void> {
  const next = takeFree(candidates, gone, deps).slice(0, MOST_LOOKED_AT);
  const spendable = await deps.coins.spendable(next);
  const alive = new Set(spendable.map(keyOf));
  for (const coin of next) if (!alive.has(keyOf(coin))) gone.set(keyOf(coin), { coin, reason: SPENT });
  if (!added) return;
  const young = spendable.filter(({ confirmations }) => confirmations === 0);
  const crowded = unconfirmed ? await deps.coins.crowdedAlone(young, added) : young;
  for (const coin of crowded) gone.set(keyOf(coin), { coin, reason: unconfirmed ? CROWDED : UNCONFIRMED });
}

/**
 * Returns the lists to choose from, each as long as one transaction may be: the first coins; and when there are more,
 * the largest, which confirmed dust would otherwise hide if they are unconfirmed.
 */
function choices(free: readonly SourcedCoin[]): readonly (readonly SourcedCoin[])[] {
  if (free.length <= MAX_INPUTS) return [free];
  const largest = free.toSorted((a, b) => Number(b.amount - a.amount));
  return [free, largest].map((coins) => coins.slice(0, MAX_INPUTS));
}

/** Composes with the first list that suffices. @param tell the code of the error when none does, and what it tells beside */
function composeOrSay(
  order: Order,
  [first = [], ...others]: readonly (readonly SourcedCoin[])[],
  tell: () => { readonly code: ErrorCode } & Reserved
): Composed<SourcedCoin> {
  try {
    return compose(order, first);
  } catch (caught) {
    if (!hasCode(caught, 'COINS_INSUFFICIENT')) throw caught;
    if (others.length > 0) return composeOrSay(order, others, tell);
    const { code, facts, reserved } = tell();
    const reason = [String(caught.detail['reason']), ...facts].join('; ');
    throw new PlatformError(code, { ...caught.detail, reserved, reason }, { cause: caught });
  }
}

/** Returns the reason why the last coin was left out. */
function tellGone(gone: ReadonlyMap<string, Obstacle>): readonly string[] {
  const last = [...gone.values()].at(-1);
  return last ? [`left out: ${keyOf(last.coin)}: ${last.reason}`] : [];
}

/** Coins that a caller's own reservations keep from it. */
interface Reserved {
  /** Satoshis. */
  readonly reserved: number | string;
  /** Texts for the reason of an error. */
  readonly facts: readonly string[];
}

/** Returns how many of the coins the holder has reserved, and until when. */
export function tellReserved(
  coins: readonly SourcedCoin[],
  { reservations, holder }: Pick<CoinDeps, 'reservations' | 'holder'>
): Reserved {
  const reserved = coins.flatMap(({ amount, ...coin }) => {
    const leftMs = reservations.leftMs(coin, holder);
    return leftMs === undefined ? [] : [{ amount, leftMs }];
  });
  if (reserved.length === 0) return { reserved: 0, facts: [] };
  const total = reserved.reduce((sum, { amount }) => sum + amount, 0n);
  const firstMs = reserved.reduce((least, { leftMs }) => Math.min(least, leftMs), Number.POSITIVE_INFINITY);
  const until = `the first of them for ${Math.ceil(firstMs / 1000)} s more`;
  const fact = `reserved for earlier calls: ${reserved.length} of its coins, ${total} satoshis, ${until}`;
  return { reserved: satoshis(total), facts: [fact] };
}

async function findCandidates(
  { script }: Sender,
  { places, unconfirmed }: WantedCoins,
  { coins }: CoinDeps
): Promise<{ readonly coins: readonly SourcedCoin[]; readonly lacksMempool: boolean }> {
  if (places.length > 0) return { coins: await coins.sourced(places, script), lacksMempool: false };
  const known = await coins.read(script);
  if (unconfirmed) return known;
  return { coins: known.coins.filter(({ height }) => height !== null), lacksMempool: false };
}

/** Returns the candidates, those reserved for other callers last, without those reserved for this one. */
export function takeFree<C extends Outpoint>(
  candidates: readonly C[],
  gone: ReadonlyMap<string, unknown>,
  { reservations, holder }: Pick<CoinDeps, 'reservations' | 'holder'>
): readonly C[] {
  const free: C[] = [];
  const ofOthers: C[] = [];
  for (const coin of candidates) {
    if (gone.has(keyOf(coin))) continue;
    if (!reservations.isHeld(coin)) free.push(coin);
    else if (reservations.leftMs(coin, holder) === undefined) ofOthers.push(coin);
  }
  return [...free, ...ofOthers];
}

/** Asks the node for obstacles to spending the chosen coins, and for the transactions that signers need. */
async function examine(
  { first, reveal }: Composed<SourcedCoin>,
  sender: Sender,
  { unconfirmed }: WantedCoins,
  coins: NodeCoins
): Promise<{
  readonly obstacles: readonly Obstacle[];
  readonly sourced: readonly SourcedCoin[];
  readonly added: Added;
}> {
  const chosen = first.coins;
  const [spendable, sourced] = await Promise.all([
    coins.spendable(chosen),
    coins.sourcedWithin(chosen, sender.script, mostSourceBytes(sender, chosen))
  ]);
  const young = spendable.filter(({ confirmations }) => confirmations === 0);
  const added: Added = {
    count: reveal ? 2 : 1,
    sizeBytes: virtualSize(first.form) + (reveal ? virtualSize(reveal.form) : 0)
  };
  const crowded = new Set((unconfirmed ? await coins.crowded(young, added) : young).map(keyOf));
  const alive = new Set(spendable.map(keyOf));
  const long = new Set(tooLongForPsbt(sender, sourced).map(keyOf));
  const obstacles = chosen.flatMap((coin): readonly Obstacle[] => {
    if (!alive.has(keyOf(coin))) return [{ coin, reason: SPENT }];
    if (long.has(keyOf(coin))) return [{ coin, reason: TOO_LONG }];
    return crowded.has(keyOf(coin)) ? [{ coin, reason: unconfirmed ? CROWDED : UNCONFIRMED }] : [];
  });
  return { obstacles, sourced, added };
}
