import { createHash } from 'node:crypto';
import type { ResumePoint } from '../../replication/source/reading/resume-point.ts';
import type { Broadcast } from '../../wire/data/broadcast.ts';
import { blockText, type DatabaseId } from '../../wire/data/database.ts';

/**
 * Kinds of messages in a stream: those of subscribers; `point`, the block and what its source does not know, without a message of
 * subscribers; and `break`: what follows continues at its block, and not at the message before.
 */
type RecordType = Broadcast['type'] | 'point' | 'break';

/** Facts about a message beside its bytes; they travel as its headers. */
export interface RecordHead {
  readonly type: RecordType;
  readonly height: number;
  /** Hashes of its block in the order of their names, joined by colons; of a reorg: of the block that stands. */
  readonly hash: string | null;
  /** The block before, in the same form. */
  readonly previous: string | null;
  /** Reorgs that its source ever broadcast. */
  readonly reorgs: number;
  /** Fingerprint of the schema of its rows. */
  readonly schema: string | null;
  readonly size: number;
  /** SHA-256 of its bytes, in hex. */
  readonly sha256: string;
  /** The resume point that holds behind it; empty while more messages of the same broadcast follow. */
  readonly mark: string;
}

/** A message on its way to the stream. */
export interface RelayRecord {
  readonly head: RecordHead;
  readonly body: Uint8Array;
}

/** Returns the identity of a resume point: two of one source are equal when nothing was sent between them. */
export function markOf({ height, hashes, reorgs = 0, recent, unsettled, learned }: ResumePoint): string {
  const facts = [
    height,
    blockText(hashes),
    reorgs,
    recent.at(-1)?.amended ?? 0,
    unsettled ?? null,
    learned?.id ?? null
  ];
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 32);
}

/** Returns the name of the source's start. */
export function lifeOf({ lives }: ResumePoint): string | undefined {
  return lives?.at(-1)?.id;
}

/**
 * Returns the records of one broadcast.
 *
 * @param after the resume point that was kept with it
 * @param isOtherLife whether the records before are of another start of the source
 */
export function recordsOf(
  id: DatabaseId,
  messages: readonly Broadcast[],
  before: ResumePoint,
  after: ResumePoint,
  isOtherLife: boolean
): RelayRecord[] {
  const records = messages.map(({ type, height, bytes, names }): RelayRecord => {
    const hashes = type === 'reorg' ? after.hashes : names?.hashes;
    const previous = names?.previous ? blockText(names.previous) : null;
    const hash = hashes ? blockText(hashes) : null;
    return record({ type, height, hash, previous, reorgs: after.reorgs ?? 0, schema: names?.schema ?? null }, bytes);
  });
  const isNews = isOtherLife || after.learned?.id !== before.learned?.id;
  if (isNews || records.length === 0) records.push(pointRecord('point', id, after));
  const last = records.at(-1)!;
  return [...records.slice(0, -1), { ...last, head: { ...last.head, mark: markOf(after) } }];
}

/** Returns the record that says where a stream stands, or that it continues there. */
export function pointRecord(
  type: 'point' | 'break',
  { dbType, chain, network }: DatabaseId,
  point: ResumePoint
): RelayRecord {
  const { height, blockTime, hashes, learned, lives, reorgs = 0 } = point;
  const unknown = { ...(learned && { learned }), ...(lives && { lives }) };
  const text = JSON.stringify({ type, chain, network, dbType, height, blockTime, hashes, ...unknown });
  const head = { type, height, hash: blockText(hashes), previous: null, reorgs, schema: null };
  const { head: made, body } = record(head, Buffer.from(text));
  return { head: { ...made, mark: markOf(point) }, body };
}

function record(head: Omit<RecordHead, 'size' | 'sha256' | 'mark'>, body: Uint8Array): RelayRecord {
  const sha256 = createHash('sha256').update(body).digest('hex');
  return { head: { ...head, size: body.length, sha256, mark: '' }, body };
}
