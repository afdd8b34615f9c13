import { rows, type Statements } from '../../db/connection.ts';
import { pages } from '../../db/pages.ts';
import { VALID_STATUS } from './valid-status.ts';

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
 * `@coin` is the coin of the chain. A migration runs it, so that its text stays as it is.
 */
export const FILE_MAPPINGS = `INSERT INTO mappings_files (action_index, type_id, id)
  SELECT f.action_index, 1, i.tick_id FROM links l JOIN actions x ON x.action_index = l.action_index
  JOIN index_coins c ON c.coin = @coin AND c.id = l.coin1_id AND c.id = l.coin2_id
  JOIN files f ON f.action_index IN (l.coin1_action_index, l.coin2_action_index) AND f.status_id = ${VALID_STATUS}
  JOIN issues i ON i.action_index IN (l.coin1_action_index, l.coin2_action_index) AND i.status_id = ${VALID_STATUS}
  WHERE l.status_id = ${VALID_STATUS} AND x.source_id = ${OWNER}`;

/** Valid LINKs of a valid FILE and a valid ISSUE, in either order. */
const LINKED = `FROM links l STRAIGHT_JOIN actions x ON x.action_index = l.action_index
  STRAIGHT_JOIN index_coins c ON c.coin = @coin AND c.id = l.coin1_id AND c.id = l.coin2_id
  STRAIGHT_JOIN files f ON f.action_index IN (l.coin1_action_index, l.coin2_action_index) AND f.status_id = ${VALID_STATUS}
  STRAIGHT_JOIN issues i ON i.action_index IN (l.coin1_action_index, l.coin2_action_index) AND i.status_id = ${VALID_STATUS}`;

/** Mapping that a LINK may have written, if its source owned the token. */
type Linked = {
  readonly link: number;
  readonly source: number;
  readonly file: number;
  readonly tick: number;
};

/** TRANSFER of a token by a valid ISSUE. */
type Transfer = {
  readonly tick_id: number;
  readonly action_index: number;
  readonly transfer_id: number;
};

/** LINKs and TRANSFERs of rolled back blocks, as far as they decide mappings of files that stay. */
interface UndoneLinks {
  readonly links: readonly Linked[];
  /** In the order of the chain. */
  readonly transfers: readonly Transfer[];
}

/** Reads the LINKs from an action on. Call it before a rollback deletes them. */
export async function readUndoneLinks(connection: Statements, first: number, coin: string): Promise<UndoneLinks> {
  await connection.query('SET @coin = ?', [coin]);
  const links = await rows<Linked>(
    connection,
    `SELECT l.action_index AS link, x.source_id AS source, f.action_index AS file, i.tick_id AS tick ${LINKED}
     WHERE l.status_id = ${VALID_STATUS} AND l.action_index >= ? AND f.action_index < ?`,
    [first, first]
  );
  const transfers =
    links.length === 0
      ? []
      : await rows<Transfer>(
          connection,
          `SELECT tick_id, action_index, transfer_id FROM issues
           WHERE action_index >= ? AND status_id = ${VALID_STATUS} AND transfer_id IS NOT NULL ORDER BY action_index`,
          [first]
        );
  return { links, transfers };
}

/**
 * Deletes as many mappings of each file to each token as rolled back LINKs wrote. Rows of one file and token are alike,
 * so that it does not matter which of them stay.
 *
 * Call it when the tokens are as they were below: then only the TRANSFERs that are undone too say who owned one later,
 * however many ISSUEs it has.
 */
export async function unmapFiles(connection: Statements, { links, transfers }: UndoneLinks): Promise<void> {
  const owners = await readOwners(connection, [...new Set(links.map(({ tick }) => tick))]);
  const undone = new Map<string, { readonly file: number; readonly tick: number; count: number }>();
  const later = Map.groupBy(transfers, ({ tick_id }) => tick_id);
  for (const { link, source, file, tick } of links) {
    const transfer = later.get(tick)?.findLast(({ action_index }) => action_index < link);
    // A token that did not exist has no mapping below.
    const owner = transfer?.transfer_id ?? owners.get(tick);
    if (owners.has(tick) && owner !== source) continue;
    const key = `${file} ${tick}`;
    const known = undone.get(key) ?? { file, tick, count: 0 };
    known.count++;
    undone.set(key, known);
  }
  for (const { file, tick, count } of undone.values()) {
    const most = owners.has(tick) ? `LIMIT ${count}` : '';
    await connection.query(`DELETE FROM mappings_files WHERE action_index = ? AND type_id = 1 AND id = ? ${most}`, [
      file,
      tick
    ]);
  }
}

async function readOwners(connection: Statements, ticks: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const owners = new Map<number, number>();
  for (const page of pages(ticks)) {
    const found = await rows<{ tick_id: number; owner_id: number }>(
      connection,
      'SELECT tick_id, owner_id FROM tokens WHERE tick_id IN (?)',
      [page]
    );
    for (const { tick_id, owner_id } of found) owners.set(tick_id, owner_id);
  }
  return owners;
}
