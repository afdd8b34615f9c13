import type { Connection } from '../../db/connection.ts';
import { takeCensus } from './census.ts';
import { selectTips, upsertTip } from './chain-tips.ts';
import { applyConfigEdits, countConfigs, selectConfigMark, selectConfigState } from './configs.ts';
import {
  attest,
  initiateSwap,
  selectAttestation,
  selectAttestationOf,
  selectAttestations,
  selectSwap,
  selectSwaps
} from './cross-chain.ts';
import { selectEvidence } from './evidence.ts';
import { insertProposal, insertVote, selectProposal, selectProposals, selectVotes } from './governance.ts';
import { insertPing, pageOfInstallations, prunePings } from './pings.ts';
import { selectDecidedRounds, selectSlashEvidence } from './prices/decided-rounds.ts';
import { selectFeePrices } from './prices/fee-prices.ts';
import { insertOraclePrice, latestOracleIds, oraclePricesOf } from './prices/oracle-prices.ts';
import { changesAfter, hasMoreAfter, highestMarks } from './prices/price-changes.ts';
import { lacksRemovals } from './prices/price-removals.ts';
import { currentPrice, newestSnapshots, oldestPair, pageOf } from './prices/prices.ts';
import { recordRound } from './prices/record-round.ts';
import { retractPrices } from './prices/retraction.ts';
import { keepRound } from './prices/rounds.ts';
import { insertReorg, selectReorgs } from './reorgs.ts';
import { pruneOld, pruneSurplus } from './retention.ts';
import {
  hasValidatorAt,
  insertRewards,
  keysAt,
  pageOfValidators,
  removeValidator,
  selectCapabilities,
  selectRewards,
  selectValidator,
  upsertValidator,
  upsertValidators
} from './validators.ts';

/** All that the hub asks of its database, by name: each runs on one connection, in the thread that has the database. */
export const STATEMENTS = {
  selectTips,
  upsertTip,
  applyConfigEdits,
  countConfigs,
  selectConfigMark,
  selectConfigState,
  attest,
  initiateSwap,
  selectAttestation,
  selectAttestationOf,
  selectAttestations,
  selectSwap,
  selectSwaps,
  selectEvidence,
  selectDecidedRounds,
  selectSlashEvidence,
  selectFeePrices,
  insertProposal,
  insertVote,
  selectProposal,
  selectProposals,
  selectVotes,
  insertPing,
  pageOfInstallations,
  prunePings,
  takeCensus,
  changesAfter,
  hasMoreAfter,
  highestMarks,
  lacksRemovals,
  currentPrice,
  insertOraclePrice,
  latestOracleIds,
  newestSnapshots,
  oldestPair,
  oraclePricesOf,
  pageOf,
  retractPrices,
  insertReorg,
  selectReorgs,
  pruneOld,
  pruneSurplus,
  keepRound,
  recordRound,
  hasValidatorAt,
  keysAt,
  pageOfValidators,
  removeValidator,
  selectRewards,
  insertRewards,
  selectCapabilities,
  selectValidator,
  upsertValidator,
  upsertValidators
} as const;

export type Statements = typeof STATEMENTS;
export type StatementName = keyof Statements;

export type ArgumentsOf<F> = F extends (connection: Connection, ...given: infer Given) => unknown ? Given : never;
type AnswerOf<F> = F extends (...given: never[]) => Promise<infer Answer> ? Answer : never;

/** Runs a statement. Arguments and answer cross threads: they are plain data. */
export type RunStatement = <N extends StatementName>(
  name: N,
  ...given: ArgumentsOf<Statements[N]>
) => Promise<AnswerOf<Statements[N]>>;

/** @see RunStatement */
export async function runStatement<N extends StatementName>(
  connection: Connection,
  name: N,
  given: ArgumentsOf<Statements[N]>
): Promise<AnswerOf<Statements[N]>> {
  const statement = STATEMENTS[name] as (connection: Connection, ...given: unknown[]) => Promise<unknown>;
  return (await statement(connection, ...(given as unknown[]))) as AnswerOf<Statements[N]>;
}
