import { hasCode } from '../../../errors.ts';
import { findChanges, makeChanges } from '../../ddl/schema-writer.ts';
import { examineForeign, type ForeignHeights, readHeights, refusal, takeOver } from '../apply/adoption.ts';
import { cutJournal } from '../apply/undo-journal.ts';
import { markAdopted, writeReplicaState } from '../database/state.ts';
import { ownHashes } from '../parts/own-hashes.ts';
import type { Replica } from '../parts/replica.ts';
import { SourceHeads } from '../quorum/heads.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources'>;

/**
 * Takes over a replica that another client made: its tables must be the source's, its heights without a gap, and its tip, or a
 * block at most MAX_ROLLBACK_DEPTH below it, one of the source's. Nothing is written before all of that is known.
 *
 * Where the source sends whole tables, the replica is cut back by a block at least, so that the first since-snapshot brings them.
 *
 * @throws {PlatformError} REPLICA_FOREIGN with the reason
 */
export async function adopt(replica: Parts, signal: AbortSignal): Promise<void> {
  const { data, log, store } = replica;
  if (data.infraOnly) throw refusal('an infra-only replica has no blocks to compare with its source');
  const plan = store.planSchema(await replica.sources.client.schema(signal));
  const { lowest, tip } = await examineForeign(store.writer, plan);
  const height = await findStart(replica, { lowest, tip }, plan.fingerprint !== null, signal);
  await makeChanges(store.writer, await findChanges(store.writer, plan), height).catch((caught: unknown) => {
    throw hasCode(caught, 'ROW_CONTRADICTION') ? refusal(caught.message) : caught;
  });
  await store.reloadSchema();
  const place = await takeOver(store.writer, store.context, { lowest, tip, height });
  await markAdopted(store.writer, {
    height: place.height,
    blockTime: place.blockTime,
    hashes: place.hashes,
    schemaFingerprint: plan.fingerprint,
    source: replica.sources.client.url
  });
  log.warn({ lowest, tip, height }, 'adopting a replica that another client made');
}

/**
 * Takes over once more a replica whose source has left its branch before the adoption was complete: there is no journal that leads back.
 *
 * @throws {PlatformError} REPLICA_FOREIGN with the reason
 */
export async function adoptLower(replica: Parts, signal: AbortSignal): Promise<void> {
  const { log, store } = replica;
  const { lowest, tip } = await readHeights(store.writer);
  const height = await findStart(replica, { lowest, tip }, store.state.schemaFingerprint !== null, signal);
  await cutJournal(store.writer, -1);
  const place = await takeOver(store.writer, store.context, { lowest, tip, height });
  await writeReplicaState(store.writer, {
    height: place.height,
    blockTime: place.blockTime,
    hashes: place.hashes,
    source: replica.sources.client.url,
    complete: false,
    phase: 'adopting'
  });
  await store.reloadState();
  log.warn(
    { lowest, tip, height },
    'its source left the branch of a replica that is being adopted: it is cut back again'
  );
}

/** Finds the block at which an adoption begins: one that both have, and below the source's last one if whole tables follow. */
async function findStart(
  replica: Parts,
  { lowest, tip }: ForeignHeights,
  sendsWhole: boolean,
  signal: AbortSignal
): Promise<number> {
  const status = await replica.sources.client.status(signal);
  if (status.height === null) throw refusal('its source has no blocks yet');
  const heads = new SourceHeads(replica, (height) => ownHashes(replica, height), status, signal);
  const floor = Math.max(lowest, tip - replica.data.maxRollbackDepth);
  const fork = await findShared(heads, floor, Math.min(tip, status.height));
  if (fork === null) throw refusal(`none of its blocks from ${floor} to ${tip} could be found in its source's chain`);
  if (!sendsWhole && fork < tip)
    throw refusal(`block ${fork + 1} is of another branch, and its source does not send whole tables`);
  const height = sendsWhole ? Math.min(fork, status.height - 1) : fork;
  if (height < lowest) throw refusal('it shares only its first block with its source');
  return height;
}

/** Finds the highest block that both have; chains that agree at a height agree below it. */
async function findShared(heads: SourceHeads, floor: number, top: number): Promise<number | null> {
  if (top < floor) return null;
  if ((await heads.isShared(top)) === true) return top;
  let [low, high] = [floor - 1, top];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((await heads.isShared(middle)) === true) low = middle;
    else high = middle;
  }
  return low < floor ? null : low;
}
