import { hasCode } from '../../../errors.ts';
import { findChanges, makeChanges, type SchemaPlan } from '../../ddl/schema-writer.ts';
import { writeReplicaState } from '../database/state.ts';
import { STATEMENT_LIMIT_S } from '../database/writer-connection.ts';
import type { Replica } from './replica.ts';
import { ReplicaLost } from './replica-lost.ts';
import { confirmSchema } from './schema-quorum.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources'>;

/** Fingerprint of tables that are half-way to another schema: no source has it, so whichever is followed next, they are brought to its own. */
const BETWEEN = 'between two schemas';

/**
 * Brings the tables to the source's schema. A replica whose rows do not fit it is loaded again.
 * With VERIFY_HASHES it takes the majority of a block, and for a definition that the rows do not fit a majority that has it to the letter.
 *
 * @param fingerprint what the source's next rows are made for
 */
export async function followSourceSchema(
  replica: Parts,
  fingerprint: string | null,
  signal: AbortSignal
): Promise<void> {
  const { writer } = replica.store;
  const { log } = replica;
  const plan = replica.store.planSchema(await replica.sources.client.schema(signal));
  try {
    await writer.query('SET SESSION max_statement_time = 0'); // a large table takes its time
    const changes = await findChanges(writer, plan);
    await confirmSchema(replica, plan, changes, 'holding', signal);
    const isTold = fingerprint !== null && changes.length > 0;
    if (isTold) await writeReplicaState(writer, { schemaFingerprint: BETWEEN });
    const aside = await makeChanges(writer, changes, replica.store.state.height!).catch(async (caught: unknown) => {
      if (hasCode(caught, 'ROW_CONTRADICTION')) await confirmSchema(replica, plan, changes, 'whole', signal);
      throw caught;
    });
    await writer.query(`SET SESSION max_statement_time = ${STATEMENT_LIMIT_S}`);
    const tables = changes.map(({ table }) => table);
    if (tables.length > 0) log.info({ fingerprint, tables }, 'tables altered to the newer schema of the source');
    if (aside.length > 0) log.warn({ aside }, 'tables that the source has no more are kept under these names');
  } catch (caught) {
    throw hasCode(caught, 'ROW_CONTRADICTION') ? new ReplicaLost(caught) : caught;
  }
  await writeReplicaState(writer, { schemaFingerprint: fingerprint, notReplicated: tellLeftOut(replica, plan) });
  await replica.store.reloadState();
  await replica.store.reloadSchema();
}

/** Returns the tables that are left out, for the marker, and logs those that are new. */
export function tellLeftOut({ store, log }: Pick<Replica, 'store' | 'log'>, plan: SchemaPlan): Record<string, string> {
  const tables = Object.fromEntries([...plan.notReplicated].sort());
  const known = store.state.notReplicated;
  const isNew = Object.keys(tables).some((name) => known[name] === undefined);
  if (isNew) log.warn({ tables }, 'these tables of the source are not replicated; all others are');
  return tables;
}
