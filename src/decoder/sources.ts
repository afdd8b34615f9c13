import { feeIsFunded, findCarried } from '../coin/payload/lanes.ts';
import { readFrame } from '../coin/payload/payload.ts';
import { isSignedWhole } from '../coin/payload/signed-whole.ts';
import { type RawOutput, type RawTransaction, readRawTransaction } from '../coin/raw/raw-transaction.ts';
import { addressOf } from '../coin/script/address.ts';
import { isAddressOfKey } from '../coin/script/key-address.ts';
import { isPaidToScriptHash } from '../coin/script/script.ts';
import { PlatformError } from '../errors.ts';
import type { BlockRows, Finding, OutputRow, TransactionRow } from './block-rows.ts';
import { type Candidate, laneRulesAt, type ScanRules } from './block-scan.ts';
import { NO_DISPENSERS, readDispenser } from './dispensers/action.ts';

/**
 * Reads transactions of the chain by id, in the order of the ids. @throws {PlatformError} when they cannot be read now
 */
type TransactionReader = (txids: readonly string[]) => Promise<readonly Buffer[]>;

/** Cache of transactions by id. */
interface KnownTransactions {
  get(txid: string): Buffer | undefined;
  set(txid: string, bytes: Buffer): unknown;
}

/**
 * Candidates whose sources are found together: as many as a node is asked about at once. Each may spend from a
 * transaction of another's that is as long as a block, and one block has thousands of candidates.
 */
const PER_PART = 32;
/** Bytes of transactions beyond which none is held for the next part. */
const MOST_HELD_BYTES = 32 * 2 ** 20;
/** First position of a funding transaction's outputs, as stored with the transaction that it funded. */
const FUNDING_VOUT = 1_000_000;

type Place = Candidate['spends'];

/**
 * Completes scanned blocks, or other sets of transactions. A candidate gets a row when its source has an address, or
 * when it may pay a dispenser. In the second case the row has no source and no action.
 *
 * A payload in chunks or an envelope is spent from a script that its sender funded. The source is then one step back
 * and must be an address of the key that signed: anybody may pay to a script, so paying proves nothing. What pays
 * dispensers is never one step back.
 *
 * @param known asked before the node, and filled with the node's answers
 * @throws {PlatformError} the errors of the reader, and NODE_REFUSED when a transaction lacks an output that another
 *   spends
 */
export async function resolveSources<Scanned extends Resolvable>(
  blocks: readonly Scanned[],
  read: TransactionReader,
  known: KnownTransactions,
  rules: ScanRules
): Promise<readonly (Omit<Scanned, 'candidates' | 'findings'> & Resolved)[]> {
  const candidates = blocks.flatMap((block) => block.candidates);
  for (const { hash, bytes } of candidates) known.set(hash, bytes);
  const spent = new Map(candidates.map(({ spends, spentScript }) => [spends, spentScript]));
  const transactions = new TransactionSet(read, known, spent);
  const resolved = new Map<Candidate, Resolved>();
  for (let at = 0; at < candidates.length; at += PER_PART) {
    await resolvePart(candidates.slice(at, at + PER_PART), resolved, transactions, rules);
    transactions.forgetSurplus();
  }
  return blocks.map(({ candidates: found, findings, ...block }) => ({
    ...block,
    transactions: found.flatMap((candidate) => resolved.get(candidate)!.transactions),
    findings: [...findings, ...found.flatMap((candidate) => resolved.get(candidate)!.findings)]
  }));
}

/** Adds the rows of some candidates. */
async function resolvePart(
  candidates: readonly Candidate[],
  resolved: Map<Candidate, Resolved>,
  transactions: TransactionSet,
  rules: ScanRules
): Promise<void> {
  await transactions.loadScripts(candidates.map(({ spends }) => spends));
  const isFunded = (candidate: Candidate) => candidate.lane === 'chunks' || isRevealed(candidate, transactions, rules);
  await transactions.load(candidates.filter(isFunded).map(({ spends }) => spends.txid));
  const places = new Map(candidates.map((candidate) => [candidate, sourcePlace(candidate, transactions, rules)]));
  await transactions.loadScripts([...places.values()].filter((place) => place !== undefined));
  for (const candidate of candidates)
    resolved.set(candidate, rowsOf(candidate, places.get(candidate), transactions, rules));
}

type Resolved = Pick<BlockRows, 'transactions' | 'findings'>;

/** A scanned block, or another list of transactions. */
interface Resolvable {
  readonly candidates: readonly Candidate[];
  readonly findings: readonly Finding[];
}

/** Returns the row of a candidate, if it has one, and findings about it. */
function rowsOf(
  candidate: Candidate,
  place: Place | undefined,
  transactions: TransactionSet,
  rules: ScanRules
): Resolved {
  const script = place && transactions.scriptAt(place);
  const source = script && addressOf(script, rules.addresses);
  const { hash, lane, spends, height } = candidate;
  const payer = signsPayment(candidate, rules) ? addressOf(transactions.scriptAt(spends), rules.addresses) : undefined;
  if (script === undefined || source === undefined) return { transactions: paymentOf(candidate, payer), findings: [] };
  const needsProof = height >= rules.revealKeyHeight;
  const refuse = (code: Finding['code'], payerBefore = '') => ({
    transactions: paymentOf(candidate, payer ?? payerBefore),
    findings: [{ code, hash, reason: source }]
  });
  const isRevealed = lane !== 'outputs' || place !== spends;
  if (needsProof && isRevealed && !isSignedBy(script, candidate, transactions)) return refuse('SOURCE_NOT_SIGNER');
  if (height >= rules.signatureHeight && isSignedInPart(candidate, transactions))
    return refuse('SIGNATURE_NOT_WHOLE', source);
  const isFunded = feeIsFunded(lane) && (height < rules.feeOnceHeight || ownsFees(candidate, transactions, rules));
  const fees = isFunded ? fundingFees(candidate, transactions, rules) : [];
  const isOwnKey = !needsProof || isAddressOfKey(script, Buffer.from(candidate.pubkey ?? '', 'hex'));
  const pubkey = isOwnKey ? candidate.pubkey : null;
  return { transactions: [rowOf({ ...candidate, pubkey }, source, fees, rules)], findings: [] };
}

/**
 * Returns whether the owner of an address signed what a transaction reveals, with the key that the spent scripts check.
 */
function isSignedBy(source: Uint8Array, { proof, spends: { txid } }: Candidate, transactions: TransactionSet): boolean {
  if (!proof || !isAddressOfKey(source, proof.publicKey)) return false;
  return proof.locks.every(({ vout, script }) => Buffer.from(script).equals(transactions.scriptAt({ txid, vout })));
}

/** Returns whether a transaction carries an action while the signatures of its first input do not cover all of it. */
function isSignedInPart({ action, bytes, spends }: Candidate, transactions: TransactionSet): boolean {
  return action !== '' && !isSignedWhole(readRawTransaction(bytes), transactions.scriptAt(spends));
}

/** Returns whether a transaction spends from a script that its sender funded, to reveal the script's content. */
function isRevealed(candidate: Candidate, transactions: TransactionSet, rules: ScanRules): boolean {
  const { action, lane, spends } = candidate;
  if (lane === 'envelope') return true;
  if (action === '' && signsPayment(candidate, rules)) return false;
  return (lane === 'chunks' || rules.alwaysHops) && isPaidToScriptHash(transactions.scriptAt(spends));
}

/** Returns whether what a transaction pays to dispensers is paid by the owner of the spent output. */
function signsPayment({ lane, height }: Candidate, { paymentLimitHeight }: ScanRules): boolean {
  return lane === 'outputs' && height >= paymentLimitHeight;
}

/** Returns the output whose owner is the source; undefined when the coins were newly created. */
function sourcePlace(candidate: Candidate, transactions: TransactionSet, rules: ScanRules): Place | undefined {
  const { spends } = candidate;
  return isRevealed(candidate, transactions, rules) ? transactions.firstSpend(spends.txid) : spends;
}

/**
 * Returns whether the fees of the funding transaction belong to this candidate's action.
 *
 * Several transactions may reveal outputs of one funding transaction. The fees belong to the one that spends its first
 * script-hash output other than the fee's own; to none when the funding transaction carries an action itself. So no fee
 * counts twice, and the order of the reveals does not matter.
 */
function ownsFees({ spends, height }: Candidate, transactions: TransactionSet, rules: ScanRules): boolean {
  const laneRules = laneRulesAt(height, rules);
  const isAction = transactions.once(spends.txid, `action ${laneRules.isEnvelopeActive}`, (funding) => {
    const carried = findCarried(funding, laneRules);
    return carried !== undefined && readFrame(carried.frame)?.action != null;
  });
  const isLocked = ({ script }: RawOutput) =>
    isPaidToScriptHash(script) && addressOf(script, rules.addresses) !== rules.feeAddress;
  return (
    !isAction && transactions.once(spends.txid, 'locked', ({ outputs }) => outputs.findIndex(isLocked)) === spends.vout
  );
}

/**
 * Returns the fee outputs of the funding transaction, at positions from FUNDING_VOUT on. Chunks leave no room for a fee
 * of their own.
 */
function fundingFees(
  { spends }: Candidate,
  transactions: TransactionSet,
  { addresses, feeAddress }: ScanRules
): readonly OutputRow[] {
  if (feeAddress === null) return [];
  return transactions.once(spends.txid, 'fees', ({ outputs }) =>
    outputs.flatMap(({ script, amount }, vout) =>
      addressOf(script, addresses) === feeAddress ? [{ vout: FUNDING_VOUT + vout, address: feeAddress, amount }] : []
    )
  );
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

/** Returns the row of a payment, if it makes one. @param payer empty when the source has no address */
function paymentOf({ hash, outputs }: Candidate, payer = ''): readonly TransactionRow[] {
  const payments = outputs.filter(({ isPayment }) => isPayment);
  if (payments.length === 0) return [];
  const row = { hash, source: payer, data: '', rawData: null, pubkey: null, outputs: payments };
  return [{ ...row, dispensers: NO_DISPENSERS }];
}

/** The transactions that candidates need. Each is fetched once, unless those that are held get too many. */
class TransactionSet {
  readonly #read: TransactionReader;
  readonly #known: KnownTransactions;
  readonly #spent: ReadonlyMap<Place, Buffer | null>;
  readonly #loaded = new Map<string, RawTransaction>();
  readonly #facts = new Map<string, unknown>();
  #heldBytes = 0;

  /** @param spent scripts at places where they are known without the transaction */
  constructor(read: TransactionReader, known: KnownTransactions, spent: ReadonlyMap<Place, Buffer | null>) {
    this.#read = read;
    this.#known = known;
    this.#spent = spent;
  }

  /** Loads the transactions that are needed to know the scripts at some places. */
  async loadScripts(places: readonly Place[]): Promise<void> {
    await this.load(places.filter((place) => !this.#spent.get(place)).map(({ txid }) => txid));
  }

  async load(txids: readonly string[]): Promise<void> {
    const wanted = [...new Set(txids)].filter((txid) => !this.#loaded.has(txid));
    const missing = wanted.filter((txid) => {
      const bytes = this.#known.get(txid);
      if (bytes) this.#hold(txid, bytes);
      return bytes === undefined;
    });
    for (const [position, bytes] of (await this.#read(missing)).entries()) {
      this.#known.set(missing[position]!, bytes);
      this.#hold(missing[position]!, bytes);
    }
  }

  /** Forgets all transactions where they have more bytes than may be held. */
  forgetSurplus(): void {
    if (this.#heldBytes <= MOST_HELD_BYTES) return;
    this.#loaded.clear();
    this.#facts.clear();
    this.#heldBytes = 0;
  }

  #hold(txid: string, bytes: Buffer): void {
    this.#loaded.set(txid, readRawTransaction(bytes));
    this.#heldBytes += bytes.length;
  }

  scriptAt(place: Place): Uint8Array {
    const known = this.#spent.get(place);
    if (known) return known;
    const { txid, vout } = place;
    const output = this.#loaded.get(txid)!.output(vout);
    if (output) return output.script;
    const reason = 'a transaction lacks an output that another spends';
    throw new PlatformError('NODE_REFUSED', { reason, txid, vout });
  }

  /** Returns a fact of a loaded transaction. Thousands may reveal outputs of one, so each fact is found once. */
  once<R>(txid: string, fact: string, find: (transaction: RawTransaction) => R): R {
    const key = `${fact} ${txid}`;
    if (!this.#facts.has(key)) this.#facts.set(key, find(this.#loaded.get(txid)!));
    return this.#facts.get(key) as R;
  }

  firstSpend(txid: string): Place | undefined {
    return this.once(txid, 'spend', ({ isWithoutSource, inputs }) => (isWithoutSource ? undefined : inputs[0]));
  }
}
