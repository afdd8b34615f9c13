import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { databaseOf } from '../../../config/database.ts';
import { hubVariables } from '../../../config/services/hub.ts';
import { validatorVariables } from '../../../config/services/hub-validator.ts';
import { connect, rows } from '../../../db/connection.ts';
import { loadSettings } from '../../../discovery/settings.ts';
import { PlatformError } from '../../../errors.ts';
import { exportLog } from '../../../hub/federation/audit/export.ts';
import { type Audit, auditLog, firstDifference } from '../../../hub/federation/audit/verify.ts';
import { matterRulesOf, roundRulesOf, setIdOf } from '../../../hub/federation/gossip/signatures.ts';
import { Journal } from '../../../hub/federation/journal/journal.ts';
import { setState } from '../../../hub/federation/journal/set-state.ts';
import { hubSetOf } from '../../../hub/validator-settings.ts';
import type { Environment } from '../../command.ts';

const {
  HUB_DB_HOST,
  HUB_DB_PORT,
  HUB_DB_NAME,
  HUB_DB_USER,
  HUB_DB_PASS,
  HUB_DB_CA,
  ORACLE_ROUND_INTERVAL,
  GOV_VOTING_PERIOD
} = hubVariables;
const { HUB_FEDERATION, ORACLE_EPOCH_START, ORACLE_MIN_SUBMISSIONS, ORACLE_SUBMISSION_WINDOW } = validatorVariables;

/** Variables of an export: the hub's database, and its set. */
export const exportVariables = {
  HUB_DB_HOST,
  HUB_DB_PORT,
  HUB_DB_NAME,
  HUB_DB_USER,
  HUB_DB_PASS,
  HUB_DB_CA,
  HUB_FEDERATION,
  ORACLE_EPOCH_START,
  ORACLE_ROUND_INTERVAL,
  ORACLE_SUBMISSION_WINDOW,
  ORACLE_MIN_SUBMISSIONS,
  GOV_VOTING_PERIOD
};

/**
 * Writes the log of this machine's hub, with its certificates, into a new file that its owner alone may read.
 *
 * @throws {PlatformError} COMMAND_INVALID where the set is not named, DATABASE_UNAVAILABLE, STATE_UNUSABLE
 */
export async function exportToFile(path: string, env: Environment): Promise<void> {
  const { values } = await loadSettings({ name: 'federation', variables: exportVariables }, env);
  const set = hubSetOf(values);
  if (!set)
    throw new PlatformError('COMMAND_INVALID', {
      reason: 'export needs HUB_FEDERATION, the file of the set, and ORACLE_EPOCH_START'
    });
  const connection = await connect(databaseOf(values, 'HUB'));
  try {
    const [known] = await rows(connection, "SELECT value FROM consensus_state WHERE key_name = 'set'");
    if (known?.['value'] !== setIdOf(set))
      throw new PlatformError('COMMAND_INVALID', {
        reason: `the log of this database is of the set ${known?.['value'] ?? '-'}, and HUB_FEDERATION names ${setIdOf(set)}`
      });
    const machine = setState({ rounds: roundRulesOf(set), matters: matterRulesOf(set) });
    const lines = Readable.from(exportLog(new Journal(connection, machine), set)).map((line) => `${line}\n`);
    await pipeline(lines, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  } catch (caught) {
    throw PlatformError.from(caught, 'STATE_UNUSABLE', { path });
  } finally {
    connection.destroy();
  }
}

/** Checks exported logs one after the other, and each with the first. @returns lines for the operator, and whether all are well */
export async function verifyFiles(
  paths: readonly string[]
): Promise<{ readonly text: string; readonly isWell: boolean }> {
  const audits: { readonly path: string; readonly audit: Audit }[] = [];
  for (const path of paths) {
    const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
    const audit = await auditLog(lines).catch((caught: unknown) => {
      throw PlatformError.from(caught, 'INPUT_INVALID', { path });
    });
    audits.push({ path, audit });
  }
  const [first, ...others] = audits;
  const lines = audits.map(({ path, audit }) => `${path}: ${audit.fault ?? wordsOf(audit)}`);
  const differences = others.flatMap(({ path, audit }) => {
    const seq = firstDifference(first!.audit, audit);
    if (first!.audit.set !== audit.set) return [`${path} and ${first!.path} are of different sets`];
    return seq === null ? [] : [`${path} and ${first!.path} differ from batch ${seq} on`];
  });
  const isWell = differences.length === 0 && audits.every(({ audit }) => audit.fault === null);
  return { text: [...lines, ...differences].join('\n'), isWell };
}

function wordsOf({ set, first, last, checkpoint }: Audit): string {
  const batches = first === null ? 'no batches' : `batches ${first} to ${last}, each with the commits of a quorum`;
  const state = checkpoint === null ? 'no checkpoint' : `the state of checkpoint ${checkpoint}`;
  return `${batches}; ${state}; set ${set}`;
}
