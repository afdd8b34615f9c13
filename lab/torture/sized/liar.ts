import { createRandom } from '../../../src/devnet/random.ts';
import { startLyingSource } from '../../../test/support/sync/lying-source.ts';

type Body = Record<string, unknown>;
type Tables = Record<string, unknown>[];

/** A liar's changes of the schema. */
const SCHEMAS: Readonly<Record<string, (tables: Tables) => Tables>> = {
  dropped: (tables) => tables.filter(({ name }) => name !== 'drafts'),
  empty: () => [],
  altered: (tables) =>
    tables.map((table) =>
      table['name'] === 'left_side' ? { ...table, columns: (table['columns'] as unknown[]).slice(0, 1) } : table
    ),
  added: (tables) => [...tables, { ...tables.find(({ name }) => name === 'drafts'), name: 'made_up' }],
  retyped: (tables) =>
    tables.map((table) =>
      table['name'] === 'totals'
        ? { ...table, columns: (table['columns'] as Body[]).map((column) => ({ ...column, type: 'varchar(3)' })) }
        : table
    )
};
const LIES = [...Object.keys(SCHEMAS), 'hash', 'reorg', 'none', 'none', 'none'];

/**
 * A way to a sync server on which, now and then, a block comes with a lie: of the schema (tables dropped, all gone, altered, added), of its
 * hash, or of a reorg that never was. All rows pass as they are: those that no hash covers are not weighed, and nobody claims that they are.
 */
export async function startLiar(
  url: string,
  seed: string
): Promise<{ readonly url: string; readonly lies: readonly string[] }> {
  const random = createRandom(`liar ${seed}`);
  const lies: string[] = [];
  let lie = 'none';
  const isSchemaLie = () => lie in SCHEMAS;
  const { url: own } = await startLyingSource(
    url,
    (path, body) => {
      if (!isSchemaLie() || !path.startsWith('/schema/')) return body;
      const tables = SCHEMAS[lie]!(body['typed'] as Tables);
      return { ...body, typed: tables, fingerprint: 'f'.repeat(64) };
    },
    undefined,
    (message) => {
      if (message['type'] !== 'block') return [message];
      lie = LIES[random.between(0, LIES.length - 1)]!;
      if (lie !== 'none') lies.push(lie);
      if (isSchemaLie()) return [{ ...message, schema_fingerprint: 'f'.repeat(64) }];
      if (lie === 'hash') return [{ ...message, ledger_hash: 'e'.repeat(64) }];
      if (lie !== 'reorg') return [message];
      const { chain, network, dbType, block_index: height } = message;
      return [{ type: 'reorg', chain, network, dbType, block_index: Number(height) - 3 }, message];
    }
  );
  return { url: own, lies };
}
