import { setTimeout as sleep } from 'node:timers/promises';
import type { ResumePoint } from '../../replication/source/reading/resume-point.ts';
import { type DatabaseId, hashesOf } from '../../wire/data/database.ts';
import { envelopeOf } from '../../wire/envelope.ts';
import { pointRecord, type RelayRecord } from './record.ts';
import type { Spool } from './spool.ts';
import type { DatabaseStream } from './stream.ts';

/** Time for a server to get to the last block of the stream that it takes over. */
const BEHIND_MS = 10_000;
const LOOK_MS = 50;

/** The end of a stream, which this server has sent too. */
interface CommonEnd {
  /** Position of the stream's last message in the spool. */
  readonly position: number;
  /** Sequence of that message. */
  readonly sequence: number;
  /** Says where the stream stands, and what this server does not know. */
  readonly point: RelayRecord;
}

interface TakeOverOptions {
  readonly id: DatabaseId;
  readonly stream: DatabaseStream;
  readonly spool: Spool;
  /** The last block that this server has broadcast, and what it does not know. */
  readonly point: () => ResumePoint;
  /** Whether it may still wait for its own messages. */
  readonly mayWait: () => boolean;
  readonly signal: AbortSignal;
}

/**
 * Looks where this server can continue what another one published, so that nobody behind the stream misses a change: behind a block
 * that both have sent with the same bytes, its amendments included, and of which everything that changed was sent.
 *
 * Equal bytes name the same group of blocks, so both servers have read the same state: what one sent before it, the other did too.
 *
 * @returns null where there is no such block: subscribers of the stream have to catch up
 */
export async function findCommonEnd(options: TakeOverOptions): Promise<CommonEnd | null> {
  const { id, stream, spool, point, mayWait, signal } = options;
  const tail = await stream.tail();
  const [block, last] = [tail?.[0], tail?.at(-1)];
  if (!tail || !block || !last) return null;
  const hashes = tail.map(({ sha256 }) => sha256);
  const isBehind = () => block.height > point().height || spool.find([block.sha256]) !== null;
  const until = performance.now() + BEHIND_MS;
  let position = spool.find(hashes);
  for (; position === null && isBehind() && performance.now() < until && mayWait(); position = spool.find(hashes))
    await sleep(LOOK_MS, undefined, { signal, ref: false });
  const first = spool.find([block.sha256]);
  if (position === null || first === null) return null;
  const facts = factsOf(await spool.read(first));
  if (last.type === 'settled' || (tail.length === 1 && isSettled(facts))) {
    const blockTime = typeof facts['block_time'] === 'number' ? facts['block_time'] : null;
    const stands = { height: block.height, blockTime, hashes: hashesOf(id.dbType, facts) };
    return { position, sequence: last.lastSequence, point: pointRecord('point', id, { ...point(), ...stands }) };
  }
  return null;
}

/** Returns the plain members of a message. */
function factsOf({ body }: RelayRecord): Readonly<Record<string, unknown>> {
  return body.length === 0 ? {} : JSON.parse(envelopeOf(Buffer.from(body.buffer, body.byteOffset, body.byteLength)));
}

/** Returns whether a block's message brought everything that changed, so that no amendment follows. An empty message tells nothing. */
function isSettled(facts: Readonly<Record<string, unknown>>): boolean {
  return 'block_index' in facts && facts['settling'] !== true && facts['unsettled'] === undefined;
}
