import type { Alarm } from '../../wire/state/alarm.ts';
import type { Circuit, StateCommitment } from '../../wire/state/report.ts';
import type { ProgressPlace } from '../block/progress.ts';
import type { IndexerFacts } from './work.ts';

/** What an indexer's loop last said of itself. */
export interface IndexerReport extends IndexerFacts {
  readonly state: string;
  /** Attempts that failed since something last went well. */
  readonly failures: number;
  /** Why it does not go on, while it tries; null while it does. */
  readonly alarm: Alarm | null;
  /** Where it is in a block; null between two, and while rows are written. */
  readonly inFlight: ProgressPlace | null;
  readonly decoderDbCircuit: Circuit;
  readonly indexerDbCircuit: Circuit;
  /** The tree over all balances, whose root blocks have as soon as it is ready. */
  readonly stateCommitment?: StateCommitment;
  /** Why no hub takes what it is to be told; null while one does, and where there is none to tell. */
  readonly pushFault?: string | null;
}
