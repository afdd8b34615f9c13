import { isCommitted, isStable } from '../consensus/certificates.ts';
import type { Committed } from '../consensus/messages.ts';
import { isCommittedBatch, isStableCheckpoint } from '../consensus/reading.ts';
import type { Rules } from '../consensus/rules.ts';
import { type HubSet, rulesOf, setIdOf } from '../gossip/signatures.ts';
import { isWellFormed } from '../journal/set-state.ts';
import { hashOf, readManifest } from '../transfer/manifest.ts';
import { FORM } from './export.ts';

/** Findings about an exported log. */
export interface Audit {
  /** Id of the set whose keys signed it; null where the first line names none. */
  readonly set: string | null;
  /** Digests of batches by their places. */
  readonly digests: ReadonlyMap<number, string>;
  readonly first: number | null;
  readonly last: number | null;
  /** Place of the checkpoint whose state is in it. */
  readonly checkpoint: number | null;
  /** First fault, as a sentence; null for none. */
  readonly fault: string | null;
}

/** Lines of an export, read one after the other. */
interface Reading {
  readonly rules: Rules;
  readonly digests: Map<number, string>;
  /** By submitter, the number of its next operation, as far as it was seen. */
  readonly next: Map<string, number>;
  last: number | null;
  checkpoint: number | null;
  /** Hashes of parts that are to come, in order. */
  chunks: string[];
}

/** Checks an exported log without a network: each certificate, signature and digest. It ends at the first fault. */
export async function auditLog(lines: AsyncIterable<string>): Promise<Audit> {
  let reading: Reading | null = null;
  let set: string | null = null;
  let fault: string | null = null;
  let count = 0;
  for await (const line of lines) {
    count += 1;
    if (line.trim() === '') continue;
    const value = parse(line);
    if (reading) fault = checkLine(reading, value);
    else {
      const head = readHead(value);
      if (!head) fault = `it is no export of a hub's log: its first line does not have the form ${FORM}`;
      else {
        set = setIdOf(head);
        const rules = rulesOf(head, head.keys[0]!, isWellFormed);
        reading = { rules, digests: new Map(), next: new Map(), last: null, checkpoint: null, chunks: [] };
      }
    }
    if (fault !== null) break;
  }
  if (fault === null && !reading) fault = 'it is empty';
  else if (fault !== null) fault = `line ${count}: ${fault}`;
  else if (reading!.chunks.length > 0) fault = `it ends before ${reading!.chunks.length} parts of its state`;
  const { digests = new Map<number, string>(), last = null, checkpoint = null } = reading ?? {};
  return { set, digests, first: digests.keys().next().value ?? null, last, checkpoint, fault };
}

/** Compares the logs of two hubs. @returns the first place where they differ; null where no place does */
export function firstDifference(one: Audit, other: Audit): number | null {
  const common = [...one.digests].filter(([seq]) => other.digests.has(seq));
  return common.find(([seq, digest]) => other.digests.get(seq) !== digest)?.[0] ?? null;
}

function parse(line: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function readHead(head: Readonly<Record<string, unknown>>): HubSet | null {
  const { form, keys, quorum, rounds, votingPeriodMs, log } = head;
  const isList = Array.isArray(keys) && keys.length > 0 && keys.every((key) => /^[0-9a-f]{64}$/.test(String(key)));
  if (form !== FORM || !isList || (quorum !== 'specified' && quorum !== 'byzantine')) return null;
  if (votingPeriodMs !== undefined && !Number.isSafeInteger(votingPeriodMs)) return null;
  if (log !== undefined && !Number.isSafeInteger(log)) return null;
  const period = votingPeriodMs === undefined ? {} : { votingPeriodMs: votingPeriodMs as number };
  const number = log === undefined ? {} : { log: log as number };
  const set = { keys: keys as string[], quorum, ...period, ...number } as const;
  if (rounds === undefined) return set;
  const { epochStartMs, intervalMs, windowMs, minSubmissions } = Object(rounds) as Readonly<Record<string, unknown>>;
  const times = { epochStartMs, intervalMs, windowMs, minSubmissions };
  if (!Object.values(times).every(Number.isSafeInteger)) return null;
  return { ...set, rounds: times as NonNullable<HubSet['rounds']> };
}

function checkLine(reading: Reading, line: Readonly<Record<string, unknown>>): string | null {
  const { committed, stable, manifest, chunk } = line;
  if (committed !== undefined)
    return isCommittedBatch(committed) ? checkBatch(reading, committed) : 'it has no batch with its commits';
  if (stable !== undefined) return checkState(reading, stable, manifest);
  if (typeof chunk !== 'string' || hashOf(chunk) !== reading.chunks[0])
    return 'it is no part of the state that the checkpoint names';
  reading.chunks.shift();
  return null;
}

function checkBatch(reading: Reading, committed: Committed): string | null {
  const { rules, digests, next, last } = reading;
  const { seq, previous, operations } = committed.batch;
  if (last !== null && seq !== last + 1) return `batch ${seq} does not follow batch ${last}`;
  if (previous !== (seq === 1 ? '' : (digests.get(seq - 1) ?? previous)))
    return `batch ${seq} does not name the digest of the batch before`;
  if (!isCommitted(rules, committed)) return `batch ${seq} has not the commits of a quorum`;
  for (const operation of operations) {
    const { submitter, number } = operation;
    const isNext = number === (next.get(submitter) ?? number);
    if (!rules.keys.includes(submitter) || !isNext || !rules.isSubmitted(operation))
      return `batch ${seq} has an operation that ${submitter} did not submit next`;
    next.set(submitter, number + 1);
  }
  digests.set(seq, rules.digestOf(committed.batch));
  reading.last = seq;
  return null;
}

function checkState(reading: Reading, stable: unknown, text: unknown): string | null {
  if (!isStableCheckpoint(stable) || typeof text !== 'string') return 'it has no checkpoint';
  const { rules, digests } = reading;
  if (stable.seq === 0 || !isStable(rules, stable))
    return `checkpoint ${stable.seq} has not the signatures of a quorum`;
  if ((digests.get(stable.seq) ?? stable.digest) !== stable.digest)
    return `checkpoint ${stable.seq} is not of the batch at its place`;
  const manifest = readManifest(text);
  if (!manifest || hashOf(text) !== stable.state)
    return `the state of checkpoint ${stable.seq} is not the one that was signed`;
  reading.checkpoint = stable.seq;
  reading.chunks = [...manifest.chunks];
  return null;
}
