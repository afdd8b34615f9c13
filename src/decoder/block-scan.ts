import { addressOf } from '../coin/address.ts';
import type { AddressVersions } from '../coin/chains.ts';
import { findCarried, type Lane, type LaneRules } from '../coin/lanes.ts';
import { type Payload, readFrame } from '../coin/payload.ts';
import { readRawBlock } from '../coin/raw-block.ts';
import type { RawTransaction } from '../coin/raw-transaction.ts';
import { readScript } from '../coin/script.ts';
import type { BlockRows, Finding, OutputRow } from './block-rows.ts';

/** What decides how the blocks of a chain are read. Plain data, so that it can be handed to a thread. */
export interface ScanRules {
  /** Four ASCII characters in front of every payload. */
  readonly magic: string;
  readonly addresses: AddressVersions;
  readonly isMergeMined: boolean;
  /** First block in which payloads in taproot scripts count; Infinity: none. */
  readonly envelopeHeight: number;
  /** The source of every transaction that spends from a script's hash is one step back, not only where a payload asks for it. */
  readonly alwaysHops: boolean;
}

/** A transaction that says something; whose it is is not known yet. */
export interface Candidate {
  readonly hash: string;
  readonly bytes: Buffer;
  readonly payload: Payload & { readonly action: string };
  readonly lane: Lane;
  readonly spends: { readonly txid: string; readonly vout: number };
  readonly pubkey: string | null;
  readonly outputs: readonly OutputRow[];
}

export interface ScannedBlock extends Omit<BlockRows, 'transactions'> {
  readonly candidates: readonly Candidate[];
}

/**
 * Finds the transactions of a block that say something.
 *
 * @returns nothing of it is a view on the bytes
 * @throws {PlatformError} NODE_REFUSED when the bytes are not that block
 */
export function scanBlock(
  bytes: Buffer,
  { height, hash }: { readonly height: number; readonly hash: string },
  rules: ScanRules
): ScannedBlock {
  const scan = new TransactionScan(height, rules);
  const header = readRawBlock(bytes, { hash, isMergeMined: rules.isMergeMined }, (transaction) =>
    scan.visit(transaction)
  );
  return { height, hash, ...header, candidates: scan.candidates, findings: scan.findings };
}

/** Finds the ones among transactions that say something. */
export class TransactionScan {
  readonly candidates: Candidate[] = [];
  readonly findings: Finding[] = [];
  readonly #laneRules: LaneRules;
  readonly #addresses: AddressVersions;

  /** @param height  of the block that holds them, or may */
  constructor(height: number, { magic, envelopeHeight, addresses }: ScanRules) {
    this.#laneRules = { magic, isEnvelopeActive: height >= envelopeHeight };
    this.#addresses = addresses;
  }

  visit(transaction: RawTransaction): void {
    const carried = findCarried(transaction, this.#laneRules);
    const payload = carried && readFrame(carried.frame);
    if (!payload) return;
    const hash = transaction.txid;
    const { action, written, isUtf8 } = payload;
    if (!isUtf8) this.findings.push({ code: 'TEXT_NOT_UTF8', hash, reason: shorten(written) });
    if (action === null) this.findings.push({ code: 'UNKNOWN_ACTION', hash, reason: shorten(written) });
    else this.candidates.push(candidateOf(transaction, hash, { ...payload, action }, carried.lane, this.#addresses));
  }
}

function candidateOf(
  transaction: RawTransaction,
  hash: string,
  payload: Candidate['payload'],
  lane: Lane,
  addresses: AddressVersions
): Candidate {
  const { txid, vout } = transaction.inputs[0]!;
  return {
    hash,
    bytes: Buffer.from(transaction.bytes),
    payload: { ...payload, rawData: payload.rawData && Uint8Array.from(payload.rawData) },
    lane,
    spends: { txid, vout },
    pubkey: findPubkey(transaction),
    outputs: relevantOutputs(transaction, payload.action, addresses)
  };
}

/** A COINPAY pays with its outputs: all that have an address count. */
function relevantOutputs(
  { outputs }: RawTransaction,
  action: string,
  addresses: AddressVersions
): readonly OutputRow[] {
  if (!/^COINPAY(?:\||$)/.test(action)) return [];
  return outputs.flatMap(({ script, amount }, vout) => {
    const address = addressOf(script, addresses);
    return address === undefined ? [] : [{ vout, address, amount }];
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
