import { type Command, commandsIn } from '../coin/action/command.ts';
import { readIndex } from '../coin/action/fields.ts';
import type { AddressVersions } from '../coin/chains.ts';
import { type Carried, findCarried, type Lane, type LaneRules } from '../coin/payload/lanes.ts';
import { type Payload, readFrame } from '../coin/payload/payload.ts';
import { proveSpender, type RevealProof } from '../coin/payload/reveal-proof.ts';
import { readRawBlock } from '../coin/raw/raw-block.ts';
import type { RawTransaction } from '../coin/raw/raw-transaction.ts';
import { addressOf } from '../coin/script/address.ts';
import { readScript } from '../coin/script/script.ts';
import { markOf, ScriptMarks } from '../coin/script/script-marks.ts';
import type { Marks } from '../coin/script/sorted-marks.ts';
import type { BlockRows, Finding, OutputRow } from './block-rows.ts';
import { readDispenser } from './dispensers/action.ts';

/** Rules for reading the blocks of a chain. Plain data, so that it can be sent to a thread. */
export interface ScanRules {
  /** Four ASCII characters in front of every payload. */
  readonly magic: string;
  readonly addresses: AddressVersions;
  /** Names of the chain's coin in actions. */
  readonly coins: readonly string[];
  readonly isMergeMined: boolean;
  /** First block in which payloads in taproot scripts count; Infinity for never. */
  readonly envelopeHeight: number;
  /** Address that receives protocol fees; null when there is none. */
  readonly feeAddress: string | null;
  /**
   * Whether every transaction that spends from a script hash has its source one step back, not only those whose payload
   * requires it.
   */
  readonly alwaysHops: boolean;
  /**
   * First block in which an action with its source one step back counts only if that source signed it; Infinity for
   * never.
   */
  readonly revealKeyHeight: number;
  /**
   * First block in which an action counts only if the first input's signatures cover the whole transaction; Infinity
   * for never.
   */
  readonly signatureHeight: number;
  /** First block in which the fee of a funding transaction belongs to one reveal only; Infinity for never. */
  readonly feeOnceHeight: number;
  /**
   * First block in which the payer of a dispenser is who signs the payment, whoever funded it, and in which a COINPAY
   * keeps only outputs that a ledger could take; Infinity for never.
   */
  readonly paymentLimitHeight: number;
}

/** A transaction that carries an action or may pay a dispenser. Its source is not known yet. */
export interface Candidate {
  readonly hash: string;
  /** Position among the transactions of its block, or of the list it was scanned with. */
  readonly position: number;
  readonly bytes: Buffer;
  /** Empty for a transaction without an action. */
  readonly action: string;
  readonly rawData: Uint8Array | null;
  readonly lane: Lane;
  /** Proof of who signed it, when its source may be one step back; null without proof. */
  readonly proof: RevealProof | null;
  /** Height of its block, or for an unconfirmed transaction of the next block. */
  readonly height: number;
  readonly spends: { readonly txid: string; readonly vout: number };
  /** Script of the output that its first input spends; null when only the spent transaction tells it. */
  readonly spentScript: Buffer | null;
  readonly pubkey: string | null;
  readonly outputs: readonly OutputRow[];
}

/** A scanned block whose candidates have no sources yet. */
export interface ScannedBlock extends Omit<BlockRows, 'transactions'> {
  readonly candidates: readonly Candidate[];
  /** Marks of all output scripts, except those of the miner's reward. */
  readonly marks: Uint32Array;
}

const NONE: Marks = new Set<number>();

/**
 * Finds a block's transactions that carry a payload or pay a wanted script.
 *
 * @param wanted marks of the wanted scripts
 * @returns a result that shares no memory with `bytes`
 * @throws {PlatformError} NODE_REFUSED when the bytes are not that block
 */
export function scanBlock(
  bytes: Buffer,
  { height, hash }: { readonly height: number; readonly hash: string },
  rules: ScanRules,
  wanted = NONE
): ScannedBlock {
  const scan = new TransactionScan(height, rules, wanted);
  const header = readRawBlock(bytes, { hash, isMergeMined: rules.isMergeMined }, (transaction) =>
    scan.visit(transaction)
  );
  const { candidates, findings, marks } = scan;
  return { height, hash, ...header, candidates, findings, marks: marks.toArray() };
}

/** Finds, among transactions, those that carry an action or pay a wanted script. */
export class TransactionScan {
  readonly candidates: Candidate[] = [];
  readonly findings: Finding[] = [];
  readonly marks = new ScriptMarks();
  readonly #laneRules: LaneRules;
  readonly #rules: ScanRules;
  readonly #height: number;
  readonly #wanted: Marks;
  #visited = 0;

  /**
   * @param height of their block, or of the next block for unconfirmed ones
   * @param wanted marks of the wanted scripts
   */
  constructor(height: number, rules: ScanRules, wanted = NONE) {
    this.#laneRules = laneRulesAt(height, rules);
    this.#rules = rules;
    this.#height = height;
    this.#wanted = wanted;
  }

  /** Reads one transaction. One that cannot be read becomes a finding, so that its block can still be written. */
  visit(transaction: RawTransaction): void {
    const position = this.#visited++;
    try {
      this.#read(transaction, position);
    } catch (caught) {
      const reason = shorten(caught instanceof Error ? caught.message : String(caught));
      this.findings.push({ code: 'PARSE_ERROR', hash: transaction.txid, reason });
    }
  }

  #read(transaction: RawTransaction, position: number): void {
    if (transaction.isWithoutSource) return;
    const { count } = this.marks;
    transaction.markOutputs(this.marks);
    const isPayment = this.#wanted.size > 0 && this.marks.isAnyOf(this.#wanted, count);
    const carried = findCarried(transaction, this.#laneRules);
    const payload = carried && readFrame(carried.frame);
    if (payload) this.#note(transaction, payload);
    const content = payload?.action == null ? NO_CONTENT : { ...payload, action: payload.action, lane: carried!.lane };
    if (content === NO_CONTENT && !isPayment) return;
    const outputs = relevantOutputs(transaction, content.action, this.#rules, {
      height: this.#height,
      wanted: isPayment ? this.#wanted : NONE
    });
    if (content === NO_CONTENT && outputs.length === 0) return;
    const proof = content === NO_CONTENT ? null : this.#prove(transaction, carried!);
    this.candidates.push({ ...candidateOf(transaction, content, outputs), position, proof, height: this.#height });
  }

  #prove(transaction: RawTransaction, { lane, proof }: Carried): RevealProof | null {
    const found = lane === 'outputs' && this.#rules.alwaysHops ? proveSpender(transaction) : proof;
    return found ? { ...found, publicKey: Uint8Array.from(found.publicKey) } : null;
  }

  #note({ txid: hash }: RawTransaction, { action, written, isUtf8 }: Payload): void {
    if (!isUtf8) this.findings.push({ code: 'TEXT_NOT_UTF8', hash, reason: shorten(written) });
    if (action === null) this.findings.push({ code: 'UNKNOWN_ACTION', hash, reason: shorten(written) });
  }
}

/** Returns the rules that find payloads in the transactions of a block. */
export function laneRulesAt(height: number, { magic, envelopeHeight }: ScanRules): LaneRules {
  return { magic, isEnvelopeActive: height >= envelopeHeight };
}

type Content = Pick<Candidate, 'action' | 'rawData' | 'lane'>;
const NO_CONTENT: Content = { action: '', rawData: null, lane: 'outputs' };

function candidateOf(
  transaction: RawTransaction,
  content: Content,
  outputs: readonly OutputRow[]
): Omit<Candidate, 'position' | 'proof' | 'height'> {
  const { txid, vout } = transaction.inputs[0]!;
  return {
    hash: transaction.txid,
    bytes: Buffer.from(transaction.bytes),
    action: content.action,
    rawData: content.rawData && Uint8Array.from(content.rawData),
    lane: content.lane,
    spends: { txid, vout },
    spentScript: null,
    pubkey: findPubkey(transaction),
    outputs
  };
}

/**
 * Returns the outputs that an indexer needs.
 *
 * These are: every output with an address and an amount when an action contains a COINPAY for a match; the protocol's
 * fee, beside an action; payments of new dispensers to their oracles; and payments to wanted scripts.
 */
function relevantOutputs(
  { outputs }: RawTransaction,
  action: string,
  { addresses, coins, feeAddress, paymentLimitHeight }: ScanRules,
  { height, wanted }: { readonly height: number; readonly wanted: Marks }
): readonly OutputRow[] {
  const isLimited = height >= paymentLimitHeight;
  const payments = commandsIn(action).filter(({ name }) => name === 'COINPAY');
  const isPaying = payments.some((command) => !isLimited || isForMatch(command));
  const oracles = readDispenser(action, coins, addresses).opened.map(({ oracleAddress }) => oracleAddress);
  return outputs.flatMap(({ script, amount }, vout) => {
    const address = addressOf(script, addresses);
    if (address === undefined) return [];
    const mayPayMatch = isPaying && (!isLimited || amount > 0n);
    const isNeeded = mayPayMatch || (action !== '' && address === feeAddress) || oracles.includes(address);
    const isPayment = wanted.has(markOf(script));
    if (!isNeeded && !isPayment) return [];
    // Both may be true: where the action is refused, what is left of it is a payment.
    const marks = isPayment ? { isPayment, ...(isNeeded ? { isNeeded } : {}) } : {};
    return [{ vout, address, amount, ...marks }];
  });
}

/** Returns whether a COINPAY may name a match. No match has the number 0: the first action of a ledger has. */
function isForMatch({ format, fields }: Command): boolean {
  const obligation = readIndex(fields[0] ?? '');
  return format === 0 && obligation !== null && obligation > 0;
}

/**
 * Returns the public key that the first input shows: the second item of the witness, else the last push of the script.
 */
function findPubkey({ firstWitness, inputs }: RawTransaction): string | null {
  const lastPush = readScript(inputs[0]!.script)?.at(-1)?.data;
  const candidates = [firstWitness[1], lastPush].map((key) => key && Buffer.from(key).toString('hex'));
  return candidates.find((key) => key !== undefined && /^(?:0[23].{64}|04.{128})$/.test(key)) ?? null;
}

const MAX_SHOWN = 100;

/** Shortens text for an event: anybody may have written it. */
function shorten(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
