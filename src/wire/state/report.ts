import type { BlockHashes, DatabaseId } from '../data/database.ts';

/** State of a database's circuit breaker. */
export type Circuit = 'closed' | 'open' | 'half-open';

/** Reason why a replica is halted, as recorded in `sync_halt`. */
export interface Halt {
  readonly block_index: number | null;
  readonly reason: string;
  readonly mismatches: unknown;
  readonly sources: unknown;
  readonly detected_at: string;
}

/** `pending`: no comparison came to an end yet; `unverified`: the source offers none, or it did not succeed. */
export type Verification = 'pending' | 'verified' | 'unverified';

/** State of the tree over an indexer's balances. */
export interface StateCommitment {
  /** `off`: not wanted, or the source's own tables say the roots; `unsupported`: the tables are not as a tree needs them. */
  readonly phase: 'off' | 'unsupported' | 'waiting' | 'building' | 'ready' | 'failed';
  /** Progress of the first tree, 0 to 100. */
  readonly percent: number | null;
  /** The last block whose root was computed; at a replica also compared, if its source names one. */
  readonly height: number | null;
  /** Balances above zero. */
  readonly balances: number | null;
  /** Reason why there is no tree. */
  readonly reason: string | null;
}

/** Progress of a source's sweep over rows that no block reported. */
export interface SweepReport {
  /** Passes over all tables since the start; the first one learns the existing rows. */
  readonly passes: number;
  /** Blocks that the last pass took; null before the first has ended. */
  readonly blocks: number | null;
}

/** A source's look at what its last groups did not look at. */
export interface SettlingReport {
  /** The block that is settled when it ends. */
  readonly height: number;
  /** Tables to look at, and those that are left. */
  readonly tables: number;
  readonly left: number;
  /** The table under way. */
  readonly table: string | null;
  /** Milliseconds since it began. */
  readonly sinceMs: number;
}

/** A comparison of a replica with its source, under way. */
export interface ComparingReport {
  /** The block whose rows are compared; later ones may have been applied since. */
  readonly height: number;
  /** Percentage of the rows, by MariaDB's estimate of their number; 99 at most. */
  readonly percent: number;
  /** Milliseconds since it began. */
  readonly sinceMs: number;
}

/** `auto`: the binary log is used where the server and the account's rights allow it; `required`: nothing is broadcast without it. */
export type BinlogMode = 'auto' | 'required' | 'off';

/** Method by which a source finds the rows that changed. */
export interface BinlogReport {
  /** Groups are made of the binary log. */
  readonly used: boolean;
  /** Reason why they are not, with the remedy; null while they are. */
  readonly reason: string | null;
  /** Changed parts of tables that the sweep found and the log had not named; 0 is right. */
  readonly missed: number;
}

/** One of several copies of the databases that an explorer reads. */
export interface ReplicaReport {
  /** `behind`: it is asked when those with newer blocks do not answer; `forked`: it is on another chain, and serves nobody. */
  readonly state: 'serves' | 'behind' | 'forked' | 'unavailable';
  readonly height: number | null;
  /** Blocks that it is behind the newest that is served; null while it does not answer. */
  readonly lagBlocks: number | null;
  /** Reason why it does not serve. Names its place in the settings. */
  readonly error: string | null;
}

/** The fields that console and metrics read of the last report of any actor that follows a chain. */
export interface ActorReport {
  /** The machine's state, e.g. `polling.caughtUp` or `bootstrapping.loading`. */
  readonly phase: string;
  /** Null where its database is behind no circuit breaker. */
  readonly circuit: Circuit | null;
  /** The last block that is done with; of a server the last one sent. Null before the first. */
  readonly height: number | null;
  /** The last block that is known upstream. */
  readonly tip: number | null;
  readonly lagBlocks: number | null;
  readonly lastError: string | null;
  /** Seconds since the service upstream stopped, 0 while it goes on; missing where nobody looks at it. */
  readonly upstreamStopped?: number;
  /** Its coin node: whether it answers, and the seconds since it told its tip; null before its first answer. Missing where it has none. */
  readonly node?: { readonly isHeard: boolean | null; readonly ageS: number | null };
  /** Copies of its databases, where it reads several. */
  readonly replicas?: readonly ReplicaReport[];
}

/** Returns a report as of now: what an actor last told of its lag says nothing while its thread does not run. */
export function presentReport<R extends Pick<ActorReport, 'lagBlocks'>>(report: R, isUp: boolean): R {
  return isUp ? report : { ...report, lagBlocks: null };
}

/** An actor's last report on its database. Routes answer from it, so a stuck database cannot stall them. */
export interface DatabaseReport extends ActorReport {
  readonly id: DatabaseId;
  /** Database name, for `/catalog`. */
  readonly dbName: string;
  readonly mode: 'server' | 'client';
  readonly circuit: Circuit;
  readonly blockTime: number | null;
  readonly hashes: BlockHashes | null;
  /** Consecutive failed polls; 0 after a good one. */
  readonly pollErrorCount: number;
  /** Seconds for which its MariaDB has answered nothing; 0 while it answers. */
  readonly databaseSilentS?: number;
  readonly schemaFingerprint: string | null;
  /** Tables that are left out because no replica can make them, with the reason. */
  readonly notReplicated?: Readonly<Record<string, string>>;
  /** Indexer only. */
  readonly stateCommitment?: StateCommitment;
  /** Server only: names the database that is read; null where its MariaDB has no `@@server_uid`. */
  readonly origin?: string | null;
  readonly sweep?: SweepReport;
  readonly binlog?: BinlogReport;
  readonly settling?: SettlingReport | null;
  /** Server: the last block of which everything that changed was sent. Client: the last one at which the replica has it all. */
  readonly settledHeight?: number | null;
  /** Server: amendments of its last block that were sent; null: not known. */
  readonly amendments?: number | null;
  /** Client only. */
  readonly replica?: {
    readonly complete: boolean;
    /** Whether amendments of the last block may follow: it is complete when the source says that it sent everything. */
    readonly settling?: boolean;
    /** Progress of the bootstrap or catch-up, 0 to 100. */
    readonly percent: number | null;
    /** Rate of the bootstrap. */
    readonly rowsPerSecond: number | null;
    readonly etaSeconds: number | null;
    readonly halt: Halt | null;
    /** Result of the last comparison with the source. */
    readonly verification: Verification;
    /** Reason why it is not verified, and when it is compared next; null while it is. */
    readonly verificationReason?: string | null;
    readonly comparing?: ComparingReport | null;
    /** Tables that no majority of the sources was found to have as the replica has them. */
    readonly unconfirmed: readonly string[];
    /** The last height at which all tables were found equal to the source's, and when that was. */
    readonly verifiedHeight: number | null;
    readonly verifiedAt: string | null;
    /** Block and time at which a decoder's dispensers were the source's; null: not known. */
    readonly dispensers: { readonly height: number | null; readonly at: string } | null;
    /** Number of times that rows which differed from the source's were replaced. */
    readonly repairs: number;
    /** The source of each table's AUTO_INCREMENT ids; `*` stands for all other tables. */
    readonly ids: Readonly<Record<string, 'source' | 'own'>>;
    /** Lowest block of a truncated replica; null: it has the whole history. */
    readonly floor: number | null;
    readonly infraOnly: boolean;
    /** The highest checkpoint of a quorum that the replica was found to agree with. */
    readonly checkpointHeight: number | null;
    /** Number of times that the index of addresses differed from the source's; null while it was not compared. */
    readonly indexMapMismatches: number | null;
    readonly sources: readonly {
      readonly url: string;
      readonly state: string;
      readonly height: number | null;
      readonly error: string | null;
      /** Number of times that it named another block, or had other rows, than the majority. */
      readonly dissents: number;
      /** Result of its tables' last comparison with the replica's; null: they were not compared. */
      readonly digests: string | null;
      /** Sources that are the same server, or read the same database, where there are any. */
      readonly same_as?: readonly string[];
    }[];
    readonly reorgs: number;
    /** Seconds for which nothing was heard of its source, or the source's MariaDB has answered nothing; 0: both are heard. */
    readonly sourceSilentS?: number;
  };
}
