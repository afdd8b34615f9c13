import { majorityOf } from '../../../consensus/source-majority.ts';
import { PlatformError } from '../../../errors.ts';
import type { SchemaPlan, TableChange } from '../../ddl/schema-writer.ts';
import { holdingOf } from '../../tables/ddl.ts';
import type { Replica } from './replica.ts';
import type { SourceRecord } from './source-set.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources'>;

const ASK_LIMIT_MS = 10_000;
const MAX_NAMED = 20;

/** Facts of a table that must be the same at a majority: those that decide what rows it holds, or its whole definition. */
type Sameness = 'holding' | 'whole';

/**
 * Checks, with VERIFY_HASHES, that a strict majority of the configured sources has each table that would be made,
 * changed or set aside as the followed source has it. Keys that are not unique, collations and references may differ as long as the
 * rows of the replica fit them, and the table has the same class.
 *
 * @throws {PlatformError} SOURCE_INVALID naming the tables: another source is followed then
 */
export async function confirmSchema(
  replica: Parts,
  plan: SchemaPlan,
  changes: readonly TableChange[],
  sameness: Sameness,
  signal: AbortSignal
): Promise<void> {
  const { verifyHashes, sources: configured } = replica.data;
  if (!verifyHashes || configured.length < 2 || changes.length === 0) return;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ASK_LIMIT_MS)]);
  const { followed, others, marksOf } = replica.sources;
  await replica.sources.identify(followed, signal);
  const asked = others.map(async (record) => [record, await askPlan(replica, record, limit)] as const);
  const plans = [[followed, plan] as const, ...(await Promise.all(asked))];
  signal.throwIfAborted();
  const reports = (table: string) =>
    new Map(
      plans.flatMap(([{ client }, each]) => (each === null ? [] : [[client.url, holding(each, table, sameness)]]))
    );
  const tables = changes
    .map(({ table }) => table)
    .filter((table) => majorityOf(reports(table), configured.length, marksOf) !== holding(plan, table, sameness));
  if (tables.length === 0) return;
  const { url } = followed.client;
  followed.dissents++;
  const more = tables.length > MAX_NAMED ? ', …' : '';
  const reason = `no majority of the sources has these tables as ${url} has them: ${tables.slice(0, MAX_NAMED).join(', ')}${more}`;
  replica.log.error({ source: url, dissents: followed.dissents, tables }, reason);
  throw new PlatformError('SOURCE_INVALID', { reason, source: url, tables });
}

/** Asks a source for its schema; a source that cannot be asked agrees with nothing. */
async function askPlan(replica: Parts, record: SourceRecord, signal: AbortSignal): Promise<SchemaPlan | null> {
  const { client } = record;
  try {
    await replica.sources.identify(record, signal);
    return replica.store.planSchema(await client.schema(signal));
  } catch (caught) {
    replica.log.debug({ err: caught, source: client.url }, 'the source was not asked for its schema');
    return null;
  }
}

/** Returns the definition of a table: null where the source has none, an empty text for one that no replica can make. */
function holding({ tables, notReplicated }: SchemaPlan, name: string, sameness: Sameness): string | null {
  if (notReplicated.has(name)) return '';
  const found = tables.find(({ table }) => table.name === name);
  if (!found) return null;
  const text = `${found.class} ${holdingOf(found.table)}`;
  return sameness === 'holding' ? text : `${text} ${JSON.stringify(found.ddl)}`;
}
