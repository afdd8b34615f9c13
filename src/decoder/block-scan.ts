import { commandsIn } from '../coin/action/command.ts';
import type { AddressVersions } from '../coin/chains.ts';
import { type Carried, findCarried, type Lane, type LaneRules } from '../coin/payload/lanes.ts';
import { type Payload, readFrame } from '../coin/payload/payload.ts';
import { proveSpender, type RevealProof } from '../coin/payload/reveal-proof.ts';
import { readRawBlock } from '../coin/raw/raw-block.ts';
import type { RawTransaction } from '../coin/raw/raw-transaction.ts';
import { addressOf } from '../coin/script/address.ts';
import { readScript } from '../coin/script/script.ts';
import { markOf, ScriptMarks } from '../coin/script/script-marks.ts';
import type { BlockRows, Finding, OutputRow } from './block-rows.ts';
import { readDispenser } from './dispenser-action.ts';

/** What decides how the blocks of a chain are read. Plain data, so that it can be handed to a thread. */
export interface ScanRules {
  /** Four ASCII characters in front of every payload. */
  readonly magic: string;
  readonly addresses: AddressVersions;
  /** Names of the chain's coin in actions. */
  readonly coins: readonly string[];
  readonly isMergeMined: boolean;
  /** First block in which payloads in taproot scripts count; Infinity: none. */
  readonly envelopeHeight: number;
  /** Where protocol fees are paid to; null: nowhere. */
  readonly feeAddress: string | null;
  /** The source of every transaction that spends from a script's hash is one step back, not only where a payload asks for it. */
  readonly alwaysHops: boolean;
  /** First block in which an action whose source is one step back counts only if that source signed it; Infinity: none. */
  readonly revealKeyHeight: number;
  /** First block in which an action counts only if the first input's signatures cover the whole transaction; Infinity: none. */
  readonly signatureHeight: number;
  /** First block in which the fee of a funding transaction is for one reveal alone; Infinity: none. */
  readonly feeOnceHeight: number;
}

/** A transaction that says something, or may pay a dispenser; whose it is is not known yet. */
export interface Candidate {
  readonly hash: string;
  /** Place among the transactions that were scanned with it: those of its block. */
  readonly position: number;
  readonly bytes: Buffer;
  /** Empty: it says nothing. */
  readonly action: string;
  readonly rawData: Uint8Array | null;
  readonly lane: Lane;
  /** Who signed it, where its source may be one step back; null: nothing proves it. */
  readonly proof: RevealProof | null;
  /** Of the block that holds it, or may. */
  readonly height: number;
  readonly spends: { readonly txid: string; readonly vout: number };
  /** The script of what it spends; null: not known, it is in the transaction that is spent from. */
  readonly spentScript: Buffer | null;
  readonly pubkey: string | null;
  readonly outputs: readonly OutputRow[];
}

export interface ScannedBlock extends Omit<BlockRows, 'transactions'> {
  readonly candidates: readonly Candidate[];
  /** Of the scripts of all outputs, except those of the miner's reward. */
  readonly marks: Uint32Array;
}

const NONE: ReadonlySet<number> = new Set();

/**
 * Finds a block's transactions with a payload, and those that pay to a script on the list.
 *
 * @param wanted  marks of these scripts
 * @returns nothing of it is a view on the bytes
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

/** Finds the ones among transactions that say something, or pay to a script which is looked for. */
export class TransactionScan {
  readonly candidates: Candidate[] = [];
  readonly findings: Finding[] = [];
  readonly marks = new ScriptMarks();
  readonly #laneRules: LaneRules;
  readonly #rules: ScanRules;
  readonly #height: number;
  readonly #wanted: ReadonlySet<number>;
  #visited = 0;

  /**
   * @param height  of the block that holds them, or may
   * @param wanted  marks of the scripts
   */
  constructor(height: number, rules: ScanRules, wanted = NONE) {
    this.#laneRules = laneRulesAt(height, rules);
    this.#rules = rules;
    this.#height = height;
    this.#wanted = wanted;
  }

  /** A transaction that cannot be read is quarantined: it must not keep its block from being written. */
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
    const said = payload?.action == null ? SILENT : { ...payload, action: payload.action, lane: carried!.lane };
    if (said === SILENT && !isPayment) return;
    const outputs = relevantOutputs(transaction, said.action, this.#rules, isPayment ? this.#wanted : NONE);
    if (said === SILENT && outputs.length === 0) return;
    const proof = said === SILENT ? null : this.#prove(transaction, carried!);
    this.candidates.push({ ...candidateOf(transaction, said, outputs), position, proof, height: this.#height });
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

/** By which payloads are found in the transactions of a block. */
export function laneRulesAt(height: number, { magic, envelopeHeight }: ScanRules): LaneRules {
  return { magic, isEnvelopeActive: height >= envelopeHeight };
}

type Said = Pick<Candidate, 'action' | 'rawData' | 'lane'>;
const SILENT: Said = { action: '', rawData: null, lane: 'outputs' };

function candidateOf(
  transaction: RawTransaction,
  said: Said,
  outputs: readonly OutputRow[]
): Omit<Candidate, 'position' | 'proof' | 'height'> {
  const { txid, vout } = transaction.inputs[0]!;
  return {
    hash: transaction.txid,
    bytes: Buffer.from(transaction.bytes),
    action: said.action,
    rawData: said.rawData && Uint8Array.from(said.rawData),
    lane: said.lane,
    spends: { txid, vout },
    spentScript: null,
    pubkey: findPubkey(transaction),
    outputs
  };
}

/**
 * Outputs that an indexer needs: all that have an address where an action holds a COINPAY, the protocol's fee, what new dispensers
 * pay to their oracles, and payments to scripts which are looked for. Fees are those of a transaction that says something.
 */
function relevantOutputs(
  { outputs }: RawTransaction,
  action: string,
  { addresses, coins, feeAddress }: ScanRules,
  wanted: ReadonlySet<number>
): readonly OutputRow[] {
  const isPaying = commandsIn(action).some(({ name }) => name === 'COINPAY');
  const oracles = readDispenser(action, coins, addresses).opened.map(({ oracleAddress }) => oracleAddress);
  return outputs.flatMap(({ script, amount }, vout) => {
    const address = addressOf(script, addresses);
    if (address === undefined) return [];
    const isNeeded = isPaying || (action !== '' && address === feeAddress) || oracles.includes(address);
    if (isNeeded) return [{ vout, address, amount }];
    return wanted.has(markOf(script)) ? [{ vout, address, amount, isPayment: true as const }] : [];
  });
}

/** The key that the first input shows: second item of the witness, else last push of the script. */
function findPubkey({ firstWitness, inputs }: RawTransaction): string | null {
  const lastPush = readScript(inputs[0]!.script)?.at(-1)?.data;
  const candidates = [firstWitness[1], lastPush].map((key) => key && Buffer.from(key).toString('hex'));
  return candidates.find((key) => key !== undefined && /^(?:0[23].{64}|04.{128})$/.test(key)) ?? null;
}

const MAX_SHOWN = 100;

/** What was written is anybody's text: an event shows the beginning. */
function shorten(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
