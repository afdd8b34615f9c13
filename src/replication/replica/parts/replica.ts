import { join } from 'node:path';
import type { PlatformError } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import { databaseKey } from '../../../wire/data/database.ts';
import type { ReplicaCommitment } from '../../commitment/replica-commitment.ts';
import type { ReplicaActorData } from '../../protocol.ts';
import { FollowedMemory } from './followed-memory.ts';
import { type HaltObserver, ReplicaHalt } from './halt.ts';
import { LiveStream } from './live-stream.ts';
import { SourceSet } from './source-set.ts';
import { ReplicaStore } from './store.ts';

/** A bootstrap changes its source only at this death in a row: with another source it begins again. */
const DEATHS_OF_A_BOOTSTRAP = 3;

/** The progress of an effect, as reported. */
export interface Progress {
  /** Progress of the bootstrap or catch-up, 0 to 100. */
  percent: number | null;
  /** Rate of the bootstrap, with the time that is left. */
  pace: { readonly rowsPerSecond: number; readonly etaSeconds: number | null } | null;
  reorgs: number;
  /** To be called whenever something that is reported has changed. */
  readonly changed: () => void;
  /** To be called with what the effect waits for, then with null. */
  readonly waiting: (on: string | null) => void;
}

/** The parts of one replica. Each effect takes the parts it needs. */
export class Replica {
  readonly data: ReplicaActorData;
  readonly log: Logger;
  readonly progress: Progress;
  readonly store: ReplicaStore;
  readonly sources: SourceSet;
  readonly stream: LiveStream;
  readonly halt: ReplicaHalt;
  /** Compares state roots; null where they are not compared. */
  readonly commitment: ReplicaCommitment | null;
  readonly #memory: FollowedMemory;
  #hasLooked = false;

  /**
   * @param inspect sees the halt machine's changes of state
   * @param waiting called with what the opening waits for, then with null
   */
  constructor(
    data: ReplicaActorData,
    log: Logger,
    inspect: HaltObserver,
    changed: () => void,
    commitment: ReplicaCommitment | null = null,
    waiting: (on: string | null) => void = () => undefined
  ) {
    this.data = data;
    this.log = log;
    this.commitment = commitment;
    this.progress = { percent: null, pace: null, reorgs: 0, changed, waiting };
    this.store = new ReplicaStore(data, log, changed, commitment, waiting);
    this.sources = new SourceSet(data, log, changed);
    this.stream = new LiveStream({ data, log, sources: this.sources, store: this.store, changed });
    this.halt = new ReplicaHalt({
      file: fileOf(data, 'halt.json'),
      log,
      inspect,
      writer: () => this.store.writer,
      source: () => this.sources.client.url,
      onRaised: () => this.stream.drop(),
      changed
    });
    this.#memory = new FollowedMemory(fileOf(data, 'followed.json'));
  }

  /**
   * Opens what is not open, and reads marker, schema and halt.
   *
   * @param adopt makes the marker of a database that another client made, where the operator said so
   */
  async open(adopt?: () => Promise<void>): Promise<void> {
    await this.store.open(adopt);
    this.commitment?.align(this.store.state.height);
    await this.halt.find();
    await this.store.reloadSchema();
    await this.#rememberFollowed();
  }

  /** Closes stream and store after a fault; if it is the source's, another source is followed. @returns the fault as it is reported */
  drop(fault: PlatformError): PlatformError {
    this.stream.drop();
    this.store.drop();
    this.progress.pace = null;
    return fault.code.startsWith('SOURCE_') ? this.sources.leave(fault) : fault;
  }

  /** Lets go of everything. */
  async close(): Promise<void> {
    this.stream.close();
    this.store.drop();
    await this.#memory
      .forget()
      .catch((err: unknown) =>
        this.log.warn({ err }, 'the graceful stop could not be saved: the next actor counts it as a death')
      );
    await this.sources.close();
  }

  /** The highest block known of any source, so that a stuck replica does not look caught up. */
  get announcedTip(): number | null {
    const heights = [this.sources.tip, this.stream.newest].filter((height) => height !== null);
    return heights.length === 0 ? null : Math.max(...heights);
  }

  /**
   * Notes the followed source for the next actor, and looks once whether this actor follows a death. That source may have caused it
   * (by what it sent), so another is tried first; during a bootstrap later, since only its own source resumes it.
   */
  async #rememberFollowed(): Promise<void> {
    const { height, phase, bootstrap } = this.store.state;
    const progress = `${height} ${Object.keys(bootstrap?.done ?? {}).length}`;
    if (!this.#hasLooked) {
      this.#hasLooked = true;
      const deaths = await this.#memory.findDeaths(progress);
      const limit = phase === 'bootstrapping' ? DEATHS_OF_A_BOOTSTRAP : 1;
      if (deaths !== null && deaths.count >= limit) this.sources.avoid(deaths.url);
    }
    await this.#memory
      .keep(this.sources.client.url, progress)
      .catch((err: unknown) => this.log.warn({ err }, 'the followed source cannot be saved'));
  }
}

/** Returns the path of a private file of a replica in the state directory. */
export function fileOf(
  { stateDirectory, id }: Pick<ReplicaActorData, 'stateDirectory' | 'id'>,
  suffix: string
): string {
  return join(stateDirectory, `${databaseKey(id).replaceAll('/', '-')}.${suffix}`);
}
