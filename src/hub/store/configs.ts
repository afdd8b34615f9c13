import { type Connection, rows } from '../../db/core/connection.ts';
import { buildTree, type ConfigEntry, type ConfigTree } from '../config-tree.ts';

/** Result of `getallconfigs`. */
export interface ConfigEnvelope {
  readonly configs: ConfigTree;
  /** Number of the last committed write. */
  readonly seq: number;
  /** Epoch seconds of the newest change, 0 when there is none. */
  readonly watermark: number;
  /** Entries of the whole configuration, by which a reader of changes notices that one was removed. */
  readonly entries: number;
}

/** One parameter's new value; null removes it. */
export type ConfigEdit = Omit<ConfigEntry, 'value'> & { readonly value: string | null };

/** The configuration, or what changed. @param since epoch seconds, inclusive @see the section "Hub configuration store" */
export async function selectConfigs(connection: Connection, since = 0): Promise<ConfigEnvelope> {
  const [head] = await rows(
    connection,
    `SELECT COALESCE(UNIX_TIMESTAMP(MAX(updated_at)), 0) AS watermark, COUNT(*) AS entries,
            (SELECT value FROM consensus_state WHERE key_name = 'last_seq') AS seq FROM configs`
  );
  const changed = await rows<ConfigEntry & Record<string, unknown>>(
    connection,
    `SELECT coin, network, module, param_name AS param, param_value AS value
       FROM configs WHERE UNIX_TIMESTAMP(updated_at) >= ? ORDER BY coin, network, module, param_name`,
    [since]
  );
  return {
    configs: buildTree(changed),
    seq: Number(head?.['seq'] ?? 0),
    watermark: Number(head?.['watermark'] ?? 0),
    entries: Number(head?.['entries'] ?? 0)
  };
}

/**
 * Writes values and removes parameters, within the caller's transaction. No change is stamped older than one before it (the
 * clock may step back): a reader that has seen a watermark never misses a change that was committed later.
 */
export async function applyConfigEdits(connection: Connection, edits: readonly ConfigEdit[]): Promise<void> {
  const nameOf = ({ coin, network, module, param }: ConfigEdit) => [coin, network, module, param];
  const written = edits.filter(({ value }) => value !== null);
  const removed = edits.filter(({ value }) => value === null);
  if (removed.length > 0)
    await connection.query('DELETE FROM configs WHERE (coin, network, module, param_name) IN (?)', [
      removed.map(nameOf)
    ]);
  if (written.length === 0) return;
  const [now] = await rows(
    connection,
    'SELECT GREATEST(NOW(), COALESCE(MAX(updated_at), NOW())) AS stamp FROM configs'
  );
  await connection.query(
    `INSERT INTO configs (coin, network, module, param_name, param_value, updated_at) VALUES ?
     ON DUPLICATE KEY UPDATE
       updated_at = IF(BINARY param_value <=> BINARY VALUES(param_value), updated_at, VALUES(updated_at)),
       param_value = VALUES(param_value)`,
    [written.map((edit) => [...nameOf(edit), edit.value, now?.['stamp']])]
  );
}
