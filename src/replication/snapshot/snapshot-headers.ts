import { SCHEMA_VERSION } from '../../wire/data/database.ts';
import type { SnapshotOrder } from '../../wire/data/snapshot.ts';
import { SNAPSHOT_HEADERS } from '../../wire/data/snapshot.ts';
import type { SnapshotPlan } from '../source/reading/snapshot-plan.ts';
import type { ArtifactHeaders } from './artifact.ts';

const HASH_HEADERS: Readonly<Record<string, string>> = {
  ledger_hash: SNAPSHOT_HEADERS.ledgerHash,
  actions_hash: SNAPSHOT_HEADERS.actionsHash,
  contract_hash: SNAPSHOT_HEADERS.contractHash,
  block_hash: SNAPSHOT_HEADERS.blockHash
};

/** Returns the facts in a snapshot's response headers, all read in the snapshot's own transaction. */
export function snapshotHeaders(
  { id, query, learned, life }: Pick<SnapshotOrder, 'id' | 'query' | 'learned' | 'life'>,
  plan: SnapshotPlan
): ArtifactHeaders {
  const headers: Record<string, string> = {
    [SNAPSHOT_HEADERS.height]: String(plan.head.height),
    [SNAPSHOT_HEADERS.schemaVersion]: String(SCHEMA_VERSION[id.dbType]),
    [SNAPSHOT_HEADERS.fingerprint]: plan.layout.fingerprint
  };
  for (const [name, hash] of Object.entries(plan.head.hashes)) {
    const header = HASH_HEADERS[name];
    if (header !== undefined && hash !== null) headers[header] = hash;
  }
  if (learned) headers[SNAPSHOT_HEADERS.learned] = `${learned.height} ${learned.id}`;
  if (life) headers[SNAPSHOT_HEADERS.life] = life;
  if (query.since !== null) {
    headers[SNAPSHOT_HEADERS.since] = String(query.since);
    headers[SNAPSHOT_HEADERS.wholeTables] = plan.wholeTables.join(',');
    if (query.older !== null) headers[SNAPSHOT_HEADERS.firstBlock] = String(plan.first);
    if (plan.missed) headers[SNAPSHOT_HEADERS.settled] = plan.missed.isSettled ? '1' : '0';
    if (plan.missed?.amendments != null) headers[SNAPSHOT_HEADERS.amendments] = String(plan.missed.amendments);
  }
  if (plan.estimatedRows !== null) headers[SNAPSHOT_HEADERS.rows] = String(plan.estimatedRows);
  return headers;
}
