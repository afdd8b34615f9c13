import { rows, type Statements } from '../../../db/connection.ts';
import { tickKey } from '../../state/keys.ts';
import { readDecimal } from '../read-decimal.ts';
import { VALID_STATUS } from '../valid-status.ts';

/**
 * Reads the least holding of each token that opens one of its files, by `tickKey`. Tokens without files are left out.
 */
export async function readGates(connection: Statements, keys: readonly string[]): Promise<Map<string, bigint>> {
  if (keys.length === 0) return new Map();
  const found = await rows<{ tick: string; least: string | null }>(
    connection,
    `SELECT gate_ticker AS tick, gate_min_amount AS least FROM gated_files
     WHERE gate_ticker IN (?) AND status_id = ${VALID_STATUS}`,
    [keys]
  );
  const gates = new Map<string, bigint>();
  for (const { tick, least } of found) {
    const [key, amount] = [tickKey(tick), least === null ? 0n : readDecimal(least)];
    const known = gates.get(key);
    if (known === undefined || amount < known) gates.set(key, amount);
  }
  return gates;
}
