import { type Connection, rows } from '../../../db/connection.ts';
import { stampOf } from '../../store/configs.ts';
import type { Operation } from '../consensus/messages.ts';
import type { MatterRules } from '../matters/rules.ts';
import {
  type Approval,
  isApproved,
  type ListChange,
  MOST_LISTED,
  MOST_WAITING,
  readListChanges
} from '../matters/validator-list.ts';
import type { StateMachine } from './state-machine.ts';

/** Columns of the list and of the hubs' words about it, as a dump has them. */
const LIST = ['signing_pubkey', 'addr', 'status', 'created_at', 'updated_at'] as const;
const WORDS = ['pubkey', 'hub', 'addr'] as const;
/** Validators that were taken out, and are remembered. */
const MOST_REMOVED = 1_000;
const ROWS_AT_ONCE = 1_000;

/** The table `validators`: a change is made when more hubs than may lie want it. */
export function validatorListState({ keys, faulty }: Pick<MatterRules, 'keys' | 'faulty'>): StateMachine {
  return {
    async apply(connection: Connection, { submitter, body }: Operation, time: number): Promise<string | null> {
      const changes = readListChanges(body);
      if (!changes) return 'it changes no list of validators';
      if (!keys.includes(submitter)) return 'its submitter is not of the set';
      await note(connection, submitter, changes, faulty, stampOf(time / 1_000));
      return await findSurplus(connection, submitter);
    },

    async dump(connection: Connection): Promise<readonly string[]> {
      const listed = await rows(connection, `SELECT ${LIST} FROM validators ORDER BY signing_pubkey`);
      const words = await rows(connection, `SELECT ${WORDS} FROM consensus_approvals ORDER BY pubkey, hub`);
      return [
        ...listed.map((row) => JSON.stringify(['listed', ...LIST.map((column) => row[column])])),
        ...words.map((row) => JSON.stringify(['wanted', ...WORDS.map((column) => row[column])]))
      ];
    },

    async replace(connection: Connection, dumped: readonly string[], isOfSet = false): Promise<void> {
      if (!isOfSet)
        await connection.query(
          `INSERT INTO matters_before_set (name, number, record)
           SELECT 'validators', 0, JSON_ARRAY(${LIST}) FROM validators`
        );
      const all = dumped.map((line) => JSON.parse(line) as [kind: string, ...row: unknown[]]);
      for (const [table, columns, kind] of [
        ['validators', LIST, 'listed'],
        ['consensus_approvals', WORDS, 'wanted']
      ] as const) {
        await connection.query(`DELETE FROM ${table}`);
        const own = all.filter(([of]) => of === kind).map(([, ...row]) => row);
        for (let at = 0; at < own.length; at += ROWS_AT_ONCE)
          await connection.query(`INSERT INTO ${table} (${columns}) VALUES ?`, [own.slice(at, at + ROWS_AT_ONCE)]);
      }
    }
  };
}

/**
 * Notes a hub's words about validators; where enough hubs have said the same, the list has it, and the words go. All are read and written
 * together: one that lies may ask for many at a time, which must not hold up others.
 */
async function note(
  connection: Connection,
  hub: string,
  changes: readonly ListChange[],
  faulty: number,
  stamp: string
): Promise<void> {
  const keys = changes.map(({ pubkey }) => pubkey);
  const listed = await rows(
    connection,
    "SELECT signing_pubkey, addr FROM validators WHERE signing_pubkey IN (?) AND status = 'active'",
    [keys]
  );
  const present = new Map(listed.map((row) => [String(row['signing_pubkey']), String(row['addr'])]));
  // Where it is so already, what this hub wanted before counts no more.
  await connection.query('DELETE FROM consensus_approvals WHERE hub = ? AND pubkey IN (?)', [hub, keys]);
  const wanted = changes.filter(({ pubkey, addr }) => (present.get(pubkey) ?? null) !== addr);
  if (wanted.length === 0) return;
  await connection.query('INSERT INTO consensus_approvals (pubkey, hub, addr) VALUES ?', [
    wanted.map(({ pubkey, addr }) => [pubkey, hub, addr])
  ]);
  const found = await rows(connection, 'SELECT pubkey, hub, addr FROM consensus_approvals WHERE pubkey IN (?)', [keys]);
  const approvals = found.map((row): Approval => {
    const address = row['addr'] === null ? null : String(row['addr']);
    return { pubkey: String(row['pubkey']), hub: String(row['hub']), addr: address };
  });
  const byKey = Map.groupBy(approvals, ({ pubkey }) => pubkey);
  for (const change of wanted)
    if (isApproved(faulty, change, byKey.get(change.pubkey) ?? [])) await carryOut(connection, change, stamp);
}

async function carryOut(connection: Connection, { pubkey, addr }: ListChange, stamp: string): Promise<void> {
  await connection.query('DELETE FROM consensus_approvals WHERE pubkey = ?', [pubkey]);
  const remove = "UPDATE validators SET status = 'removed', updated_at = ? WHERE status = 'active' AND";
  if (addr === null) {
    await connection.query(`${remove} signing_pubkey = ?`, [stamp, pubkey]);
    return;
  }
  await connection.query(`${remove} addr = ? AND signing_pubkey <> ?`, [stamp, addr, pubkey]);
  await connection.query(
    `INSERT INTO validators (signing_pubkey, addr, status, created_at, updated_at) VALUES (?)
     ON DUPLICATE KEY UPDATE addr = VALUES(addr), status = 'active', updated_at = VALUES(updated_at)`,
    [[pubkey, addr, 'active', stamp, stamp]]
  );
}

/** Returns why an operation asks for too much, whereupon it is undone; null where it does not. Forgets old ones that were taken out. */
async function findSurplus(connection: Connection, hub: string): Promise<string | null> {
  const [waiting] = await rows(connection, 'SELECT COUNT(*) AS count FROM consensus_approvals WHERE hub = ?', [hub]);
  if (Number(waiting?.['count']) > MOST_WAITING)
    return `${MOST_WAITING} changes of this hub wait until others want the same`;
  const found = await rows(connection, 'SELECT status, COUNT(*) AS count FROM validators GROUP BY status');
  const countOf = (status: string) => Number(found.find((row) => row['status'] === status)?.['count'] ?? 0);
  if (countOf('active') > MOST_LISTED) return `the list has ${MOST_LISTED} validators: take some out`;
  const surplus = countOf('removed') - MOST_REMOVED;
  if (surplus > 0)
    await connection.query(
      "DELETE FROM validators WHERE status = 'removed' ORDER BY updated_at, signing_pubkey LIMIT ?",
      [surplus]
    );
  return null;
}
