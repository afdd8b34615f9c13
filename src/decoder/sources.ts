import { addressOf } from '../coin/address.ts';
import { type RawOutput, type RawTransaction, readRawTransaction } from '../coin/raw-transaction.ts';
import { isPaidToScriptHash } from '../coin/script.ts';
import { PlatformError } from '../errors.ts';
import type { OutputRow, TransactionRow } from './block-rows.ts';
import type { Candidate, ScanRules } from './block-scan.ts';
import { NO_DISPENSERS, readDispenser } from './dispenser-action.ts';

/** Transactions of the chain by their ids, in that order. @throws {PlatformError} when they cannot be had now */
export type TransactionReader = (txids: readonly string[]) => Promise<readonly Buffer[]>;

/** Transactions that were read before. */
export interface KnownTransactions {
  get(txid: string): Buffer | undefined;
  set(txid: string, bytes: Buffer): unknown;
}

/** Outputs of a funding transaction are numbered from here. */
const FUNDING_VOUT = 1_000_000;

type Place = Candidate['spends'];

/**
 * Completes scanned blocks, or other sets of transactions: a candidate gets a row when the coins that it spends belong to an address,
 * or when it may pay a dispenser: then it is nobody's, and says nothing.
 *
 * A payload in chunks or an envelope is spent from a script that its sender funded: the source is then one step back.
 *
 * @param known  asked before the node, and told what the node said
 * @throws {PlatformError} what the reader throws, and NODE_REFUSED where a transaction lacks what another spends
 */
export async function resolveSources<Scanned extends { readonly candidates: readonly Candidate[] }>(
  blocks: readonly Scanned[],
  read: TransactionReader,
  known: KnownTransactions,
  rules: ScanRules
): Promise<readonly (Omit<Scanned, 'candidates'> & { readonly transactions: readonly TransactionRow[] })[]> {
  const candidates = blocks.flatMap((block) => block.candidates);
  for (const { hash, bytes } of candidates) known.set(hash, bytes);
  const transactions = new TransactionSet(read, known);
  await transactions.load(candidates.map(({ spends }) => spends.txid));
  const places = candidates.map((candidate) => sourcePlace(candidate, transactions, rules));
  await transactions.load(places.flatMap((place) => (place ? [place.txid] : [])));
  const rows = new Map(
    candidates.map((candidate, position) => {
      const place = places[position];
      const source = place && addressOf(transactions.scriptAt(place), rules.addresses);
      const fees = candidate.lane === 'chunks' ? fundingFees(candidate, transactions, rules) : [];
      return [
        candidate,
        source === undefined ? paymentOf(candidate) : [rowOf(candidate, source, fees, rules)]
      ] as const;
    })
  );
  return blocks.map(({ candidates: found, ...block }) => ({
    ...block,
    transactions: found.flatMap((candidate) => rows.get(candidate)!)
  }));
}

/** Where the coins come from that say whose transaction it is; undefined when they come from nowhere. */
function sourcePlace(
  { lane, spends }: Candidate,
  transactions: TransactionSet,
  { alwaysHops }: ScanRules
): Place | undefined {
  const isRevealed =
    lane === 'envelope' || ((lane === 'chunks' || alwaysHops) && isPaidToScriptHash(transactions.scriptAt(spends)));
  return isRevealed ? transactions.firstSpend(spends.txid) : spends;
}

/** Chunks leave no room for a fee: it is paid by the transaction that funded them, and told by higher numbers. */
function fundingFees(
  { spends }: Candidate,
  transactions: TransactionSet,
  { addresses, feeAddress }: ScanRules
): readonly OutputRow[] {
  return transactions.outputs(spends.txid).flatMap(({ script, amount }, vout) => {
    const address = addressOf(script, addresses);
    return address === undefined || address !== feeAddress ? [] : [{ vout: FUNDING_VOUT + vout, address, amount }];
  });
}

function rowOf(
  { hash, action, rawData, pubkey, outputs }: Candidate,
  source: string,
  fees: readonly OutputRow[],
  { coins, addresses }: ScanRules
): TransactionRow {
  const dispensers = readDispenser(action, coins, addresses);
  return { hash, source, data: action, rawData, pubkey, outputs: [...outputs, ...fees], dispensers };
}

function paymentOf({ hash, outputs }: Candidate): readonly TransactionRow[] {
  const payments = outputs.filter(({ isPayment }) => isPayment);
  if (payments.length === 0) return [];
  const row = { hash, source: '', data: '', rawData: null, pubkey: null, outputs: payments };
  return [{ ...row, dispensers: NO_DISPENSERS }];
}

/** The transactions that one task needs, each fetched once. */
class TransactionSet {
  readonly #read: TransactionReader;
  readonly #known: KnownTransactions;
  readonly #loaded = new Map<string, RawTransaction>();

  constructor(read: TransactionReader, known: KnownTransactions) {
    this.#read = read;
    this.#known = known;
  }

  async load(txids: readonly string[]): Promise<void> {
    const wanted = [...new Set(txids)].filter((txid) => !this.#loaded.has(txid));
    const missing = wanted.filter((txid) => {
      const bytes = this.#known.get(txid);
      if (bytes) this.#loaded.set(txid, readRawTransaction(bytes));
      return bytes === undefined;
    });
    for (const [position, bytes] of (await this.#read(missing)).entries()) {
      this.#known.set(missing[position]!, bytes);
      this.#loaded.set(missing[position]!, readRawTransaction(bytes));
    }
  }

  scriptAt({ txid, vout }: Place): Uint8Array {
    const output = this.#loaded.get(txid)!.output(vout);
    if (output) return output.script;
    const reason = 'a transaction lacks an output that another spends';
    throw new PlatformError('NODE_REFUSED', { reason, txid, vout });
  }

  outputs(txid: string): readonly RawOutput[] {
    return this.#loaded.get(txid)!.outputs;
  }

  firstSpend(txid: string): Place | undefined {
    const transaction = this.#loaded.get(txid)!;
    return transaction.isWithoutSource ? undefined : transaction.inputs[0];
  }
}
