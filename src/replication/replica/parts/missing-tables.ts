import { PlatformError } from '../../../errors.ts';
import { findChanges, makeChanges } from '../../ddl/schema-writer.ts';
import { STATEMENT_LIMIT_S } from '../database/writer-connection.ts';
import { markMissing } from './doubt.ts';
import type { Replica } from './replica.ts';
import { ReplicaLost } from './replica-lost.ts';

/**
 * Makes tables again that were dropped in the replica by hand, and after a statement that lacked one, columns too. A comparison loads
 * their rows; the replica is not complete before it has ended.
 */
export async function restoreTables(
  replica: Pick<Replica, 'store' | 'sources' | 'log'>,
  signal: AbortSignal
): Promise<void> {
  const { store, sources, log } = replica;
  const { writer, state } = store;
  const record = await sources.client.schema(signal).catch((caught: unknown) => {
    // Without need it is no reason to leave a source.
    if (store.isTorn || signal.aborted) throw caught;
    return null;
  });
  if (record === null) return;
  const plan = store.planSchema(record);
  // Of another schema, its first rows bring the change.
  if (plan.fingerprint !== state.schemaFingerprint) return;
  const found = await findChanges(writer, plan);
  const changes = found.filter(({ statements, isHere }) => statements !== null && (store.isTorn || !isHere));
  if (changes.length > 0) {
    const tables = changes.map(({ table }) => table);
    log.warn(
      { tables },
      'tables of the replica were dropped or altered: they are made again, and loaded by a comparison'
    );
    await markMissing(replica);
    if (plan.fingerprint === null)
      throw new ReplicaLost(new PlatformError('ROW_CONTRADICTION', { reason: `tables are missing: ${tables}` }));
    await writer.query('SET SESSION max_statement_time = 0');
    await makeChanges(writer, changes, state.height!);
    await writer.query(`SET SESSION max_statement_time = ${STATEMENT_LIMIT_S}`);
    await store.reloadSchema();
  }
  store.isTorn = false;
}
