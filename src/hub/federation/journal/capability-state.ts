import { type Connection, rows } from '../../../db/connection.ts';
import { stampOf } from '../../store/configs.ts';
import type { Operation } from '../consensus/messages.ts';
import { readCapability } from '../rounds/operations.ts';
import type { StateMachine } from './state-machine.ts';

const COLUMNS = [
  'signing_pubkey',
  'capability',
  'qualified',
  'self_test_ok',
  'enabled',
  'self_test_at',
  'self_test_msg',
  'qualified_at_block'
] as const;

/** The table `validator_capabilities`: each hub writes its own rows alone, since an operation is its submitter's. */
export const CAPABILITY_STATE: StateMachine = {
  async apply(connection: Connection, { submitter, body }: Operation, time: number): Promise<string | null> {
    const claim = readCapability(body);
    if (!claim) return 'it tells of no capability';
    const { name, phase, height, reason } = claim;
    const isQualified = phase === 'qualified' || phase === 'ready';
    const row = [submitter, name, isQualified, phase === 'ready', phase !== 'disabled', stampOf(time / 1_000), reason];
    await connection.query(`REPLACE INTO validator_capabilities (${COLUMNS}) VALUES (?)`, [[...row, height]]);
    return null;
  },

  async dump(connection: Connection): Promise<readonly string[]> {
    const found = await rows(
      connection,
      `SELECT ${COLUMNS} FROM validator_capabilities ORDER BY signing_pubkey, capability`
    );
    return found.map((row) => JSON.stringify(COLUMNS.map((column) => row[column])));
  },

  async replace(connection: Connection, dumped: readonly string[]): Promise<void> {
    await connection.query('DELETE FROM validator_capabilities');
    if (dumped.length === 0) return;
    await connection.query(`INSERT INTO validator_capabilities (${COLUMNS}) VALUES ?`, [
      dumped.map((row) => JSON.parse(row) as unknown[])
    ]);
  }
};
