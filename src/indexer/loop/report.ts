import type { Alarm } from '../../wire/state/alarm.ts';
import type { Circuit, StateCommitment } from '../../wire/state/report.ts';
import type { ProgressPlace } from '../block/progress.ts';
import type { IndexerFacts } from './work.ts';

/** Newest report of an indexer's loop. */
export interface IndexerReport extends IndexerFacts {
  readonly state: string;
  /** Attempts that failed since the last success. */
  readonly failures: number;
  /** Reason for which it does not go on, while it tries; null while it goes on. */
  readonly alarm: Alarm | null;
  /** Place in a block; null between two blocks, and while rows are written. */
  readonly inFlight: ProgressPlace | null;
  readonly decoderDbCircuit: Circuit;
  readonly indexerDbCircuit: Circuit;
  /** State of the tree over all balances. Blocks have its root from when it is ready. */
  readonly stateCommitment?: StateCommitment;
  /** Reason for which no hub takes pushes; null while one takes them, and where there is none. */
  readonly pushFault?: string | null;
}
