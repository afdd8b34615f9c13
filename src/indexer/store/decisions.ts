/**
 * Kinds of actions that decide a fact. Each one has the id of its subject, which is an address, a list, a ticker or a poll.
 *
 * The tables of the ledger have no key by which these actions alone are read: anybody may add any number of others to
 * them, which decide nothing.
 */
export const DECIDES = {
  /** Valid SLEEP of an address, by its source. */
  sleep: 1,
  /** Edit after which all members of a list were kept, by the action that made the list. */
  keptList: 2,
  /** Edit that changed members of a list, likewise. It may have changed none in a ledger of an earlier release. */
  editedList: 3,
  /** Valid DISPENSER, by the address that is paid. */
  seller: 4,
  /** Valid DISPENSER, by the address that is paid and its source. */
  served: 5,
  /** Valid delegation of votes, by the ticker and the delegator. */
  voteDelegation: 6,
  /** Valid VOTE in a poll, by the poll and the voter. */
  ballot: 7,
  /** Valid VOTE in a poll, by the poll. */
  ballotOfAny: 8,
  /** Edit of a list that names an item, by the action that made the list and the id of the item. */
  editedItem: 9
} as const;

/** Table of the actions that decide facts. `other` is the second subject; 0 for none. */
export const DECIDING_ACTIONS = `CREATE TABLE IF NOT EXISTS deciding_actions (
  kind TINYINT UNSIGNED NOT NULL,
  subject BIGINT UNSIGNED NOT NULL,
  other BIGINT UNSIGNED NOT NULL,
  action_index BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (kind, subject, other, action_index),
  KEY (action_index)
) ENGINE=InnoDB`;

/** Table of what matches left of orders and swaps. The newest row of a trade counts; one without a row is whole. */
export const TRADE_RESTS = `CREATE TABLE IF NOT EXISTS trade_rests (
  trade BIGINT UNSIGNED NOT NULL,
  action_index BIGINT UNSIGNED NOT NULL,
  give_left DECIMAL(60,18) NOT NULL,
  get_left DECIMAL(60,18) NOT NULL,
  PRIMARY KEY (trade, action_index),
  KEY (action_index)
) ENGINE=InnoDB`;

/**
 * Table of the numbers of lists. The newest row of a list counts, unless a later edit changed members: a list without
 * one that counts is read whole, once.
 */
export const LIST_COUNTS = `CREATE TABLE IF NOT EXISTS list_counts (
  list BIGINT UNSIGNED NOT NULL,
  action_index BIGINT UNSIGNED NOT NULL,
  members BIGINT UNSIGNED NOT NULL,
  changes BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (list, action_index),
  KEY (action_index)
) ENGINE=InnoDB`;

/** Statements that fill both tables from the rows of an earlier release. */
export const FILL_DECISIONS: readonly string[] = [
  'DELETE FROM deciding_actions',
  'DELETE FROM trade_rests',
  ...[
    `1, x.source_id, 0, r.action_index FROM sleeps r JOIN actions x ON x.action_index = r.action_index
       WHERE r.status_id = 1 AND r.type = 1`,
    `2, r.list_action_index, 0, r.action_index FROM lists r WHERE r.status_id = 1 AND r.edit IS NOT NULL
       AND EXISTS (SELECT 1 FROM list_items i WHERE i.action_index = r.action_index)`,
    `3, r.list_action_index, 0, r.action_index FROM lists r WHERE r.status_id = 1 AND r.edit IS NOT NULL
       AND EXISTS (SELECT 1 FROM list_edits e WHERE e.action_index = r.action_index AND e.status_id = 1)`,
    '4, r.get_address_id, 0, r.action_index FROM dispensers r WHERE r.status_id = 1',
    `5, r.get_address_id, x.source_id, r.action_index FROM dispensers r JOIN actions x ON x.action_index = r.action_index
       WHERE r.status_id = 1`,
    '6, r.tick_id, r.delegator_address_id, r.action_index FROM vote_delegations r WHERE r.status_id = 1',
    'DISTINCT 7, r.poll_index, r.voter_address_id, r.action_index FROM votes r WHERE r.status_id = 1',
    'DISTINCT 8, r.poll_index, 0, r.action_index FROM votes r WHERE r.status_id = 1'
  ].map((select) => `INSERT INTO deciding_actions SELECT ${select}`),
  ...(['order', 'swap'] as const).map((kind) => {
    const side = (own: string, [gives, gets]: readonly [string, string]) =>
      `SELECT m.${own}_action_index AS trade, m.action_index, 1 AS used, m.${gives}_amount AS gives, m.${gets}_amount AS gets FROM ${kind}_matches m
       UNION ALL SELECT m.${own}_action_index, e.action_index, -1, m.${gives}_amount, m.${gets}_amount FROM ${kind}_matches m
         JOIN coinpay_expires e ON e.obligation_action_index = m.action_index AND e.status_id = 1`;
    const left = (own: string) =>
      `COALESCE(CAST(o.${own}_amount AS DECIMAL(60,18)), 1) - SUM(u.used * COALESCE(CAST(u.${own}s AS DECIMAL(60,18)), 1)) OVER
         (PARTITION BY u.trade ORDER BY u.action_index)`;
    // The order that pays coins gets back what a match used that was not paid.
    return `INSERT INTO trade_rests SELECT u.trade, u.action_index, ${left('give')}, ${left('get')}
       FROM (${side('give', ['get', 'give'])} UNION ALL ${side('get', ['give', 'get'])}) u
       JOIN ${kind}s o ON o.action_index = u.trade WHERE u.used = 1 OR o.give_tick_id IS NULL`;
  })
];

/** Statements that fill in the edits of items from the rows of an earlier release. */
export const FILL_EDITED_ITEMS: readonly string[] = [
  'DELETE FROM deciding_actions WHERE kind = 9',
  `INSERT INTO deciding_actions SELECT DISTINCT 9, r.list_action_index, e.item_id, r.action_index FROM lists r
     JOIN list_edits e ON e.action_index = r.action_index WHERE r.status_id = 1 AND r.edit IS NOT NULL AND e.status_id = 1`
];

/**
 * Returns SQL for the index of the newest action that decides a fact. It reads one row.
 *
 * @param subject expression of the subject @param other expression of the second subject
 */
export function newestDeciding(kind: keyof typeof DECIDES, subject = 'w.id', other = '0'): string {
  return `(SELECT d.action_index FROM deciding_actions d WHERE d.kind = ${DECIDES[kind]} AND d.subject = ${subject}
    AND d.other = ${other} ORDER BY d.action_index DESC LIMIT 1)`;
}
