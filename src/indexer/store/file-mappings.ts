import { type Connection, rows } from '../../db/connection.ts';
import { pages } from '../../db/pages.ts';
import { VALID_STATUS } from './valid-status.ts';

type Query = Pick<Connection, 'query'>;

/**
 * Owner of the token of an ISSUE when a LINK named it: the TRANSFER of the newest ISSUE before the LINK, or else the
 * first issuer.
 */
const OWNER = `COALESCE(
  (SELECT n.transfer_id FROM issues n WHERE n.tick_id = i.tick_id AND n.status_id = ${VALID_STATUS}
     AND n.action_index < l.action_index AND n.transfer_id IS NOT NULL ORDER BY n.action_index DESC LIMIT 1),
  (SELECT o.source_id FROM issues n JOIN actions o ON o.action_index = n.action_index
     WHERE n.tick_id = i.tick_id AND n.status_id = ${VALID_STATUS} ORDER BY n.action_index LIMIT 1))`;

/**
 * Statement that writes a row (file, type of a ticker, ticker) for each file that a valid LINK gives to a token.
 * `@coin` is the coin of the chain.
 */
export const FILE_MAPPINGS = `INSERT INTO mappings_files (action_index, type_id, id)
  SELECT f.action_index, 1, i.tick_id FROM links l JOIN actions x ON x.action_index = l.action_index
  JOIN index_coins c ON c.coin = @coin AND c.id = l.coin1_id AND c.id = l.coin2_id
  JOIN files f ON f.action_index IN (l.coin1_action_index, l.coin2_action_index) AND f.status_id = ${VALID_STATUS}
  JOIN issues i ON i.action_index IN (l.coin1_action_index, l.coin2_action_index) AND i.status_id = ${VALID_STATUS}
  WHERE l.status_id = ${VALID_STATUS} AND x.source_id = ${OWNER}`;

/**
 * Returns the actions that valid LINKs name, from the LINK `firstLink` on. Read it before a rollback deletes the LINKs.
 */
export async function linkedActions(connection: Query, firstLink: number): Promise<readonly number[]> {
  const found = await rows<{ a: number; b: number }>(
    connection,
    `SELECT coin1_action_index AS a, coin2_action_index AS b FROM links WHERE action_index >= ? AND status_id = ${VALID_STATUS}`,
    [firstLink]
  );
  return [...new Set(found.flatMap(({ a, b }) => [a, b]))];
}

/** Replaces the mappings of some files by those of the LINKs that are left after a rollback. */
export async function remapFiles(connection: Query, files: readonly number[], coin: string): Promise<void> {
  await connection.query('SET @coin = ?', [coin]);
  for (const page of pages(files)) {
    await connection.query('DELETE FROM mappings_files WHERE action_index IN (?)', [page]);
    await connection.query(`${FILE_MAPPINGS} AND f.action_index IN (?)`, [page]);
  }
}
