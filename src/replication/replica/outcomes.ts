import type { CircuitBreaker } from '../../../actors/runtime/thread/circuit.ts';
import type { Inspection, Outcome } from '../../../machines/sync/replica.ts';
import { databaseError, isLacking } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import { refuseLoss } from './apply/adoption.ts';
import { adopt } from './bootstrap/adoption.ts';
import type { ReplicaChain } from './catch-up/chain.ts';
import { markMissing } from './parts/doubt.ts';
import type { Replica } from './parts/replica.ts';
import { ReplicaLost } from './parts/replica-lost.ts';
import type { SourceQuorum } from './quorum/source-quorum.ts';
import type { ReplicaAudit } from './verifying/audit.ts';

/** A contradiction counts for so long, in milliseconds. */
const CONTRADICTED_MS = 600_000;

/** A source whose rows contradicted the replica's. */
interface Contradiction {
  readonly url: string;
  readonly at: number;
  /** Whether another source was followed since. */
  otherFollowed: boolean;
}

/** Parts of a replica whose effects decide how its machine goes on. */
interface OutcomeParts {
  readonly replica: Replica;
  readonly chain: ReplicaChain;
  readonly audit: ReplicaAudit;
  readonly sourceQuorum: SourceQuorum;
  readonly breaker: CircuitBreaker;
}

/** Outcomes of a replica's effects, and faults of those that fail. */
export class ReplicaOutcomes {
  readonly #parts: OutcomeParts;
  #contradiction: Contradiction | null = null;
  /** Fault for which the circuit is open; null: none yet. */
  #outage: PlatformError | null = null;
  /** The source may send what followed the replica's block: else the last comparison counts no more. */
  #mayResume = false;

  constructor(parts: OutcomeParts) {
    this.#parts = parts;
  }

  /** Opens the replica, and says whether it is halted and whether it has its first snapshot. */
  async inspect(signal: AbortSignal): Promise<Inspection> {
    const { replica, audit, sourceQuorum, breaker } = this.#parts;
    if (breaker.refuses) {
      const { chain, network } = replica.data.id;
      const open = { reason: `circuit breaker open for ${chain}/${network}` };
      throw this.#outage ?? new PlatformError('DATABASE_UNAVAILABLE', open);
    }
    breaker.tell('call.started');
    await replica.open(() => adopt(replica, signal));
    if (replica.store.isTorn && replica.store.state.height !== null) await markMissing(replica);
    this.#mayResume = replica.stream.mayResume;
    if (!this.#mayResume) audit.renew();
    sourceQuorum.listen();
    breaker.tell('call.succeeded');
    const { height, phase } = replica.store.state;
    return { halted: replica.halt.current !== null, bootstrapped: height !== null && phase !== 'bootstrapping' };
  }

  /** Catches up. A comparison follows, at once or when the amendments of the last block have come. */
  catchUp(reconcile: boolean, signal: AbortSignal): Promise<Outcome> {
    const { audit, chain } = this.#parts;
    const work = async () => {
      audit.close();
      const outcome = await chain.catchUp(reconcile, signal, () => {
        if (this.#mayResume) audit.renew();
        this.#mayResume = false;
      });
      if (outcome.kind === 'settling') audit.scheduleNow('it was not compared since it caught up');
      return outcome;
    };
    return this.orLost(work());
  }

  /** Returns the outcome, or `lost` where only a bootstrap helps: one contradiction alone empties no replica, nor does one source of several. */
  async orLost(work: Promise<Outcome>): Promise<Outcome> {
    const { replica, audit } = this.#parts;
    try {
      const outcome = await work;
      if (this.#contradiction && this.#contradiction.url !== replica.sources.client.url)
        this.#contradiction.otherFollowed = true;
      return outcome;
    } catch (caught) {
      if (!(caught instanceof ReplicaLost)) throw caught;
      audit.scheduleNow();
      if (!this.#isConfirmed(replica.sources.client.url)) throw caught;
      refuseLoss(replica.store.state, caught.message);
      replica.log.error({ err: caught }, 'the replica contradicts its source: bootstrapping it again');
      replica.drop(new PlatformError('ROW_CONTRADICTION', { reason: caught.message }));
      await replica.open();
      return { kind: 'lost' };
    }
  }

  /** Notes a contradiction. @returns whether another source said one before, or this one did and no other could be followed */
  #isConfirmed(url: string): boolean {
    const before = this.#contradiction;
    this.#contradiction = { url, at: performance.now(), otherFollowed: false };
    if (!before || this.#contradiction.at - before.at > CONTRADICTED_MS) return false;
    return before.url !== url || !before.otherFollowed;
  }

  /** Drops connection and stream after a fault. @returns the fault */
  toFault(caught: unknown): PlatformError {
    const { replica, breaker } = this.#parts;
    const fault = this.#faultOf(caught);
    if (fault.code === 'DATABASE_UNAVAILABLE') {
      this.#outage = fault;
      breaker.tell('call.failed');
    }
    const dropped = replica.drop(fault);
    return caught instanceof ReplicaLost ? replica.sources.leave(dropped) : dropped;
  }

  /** Returns the fault of an error: driver errors carry a number; any other error that is not a PlatformError is a bug. */
  #faultOf(caught: unknown): PlatformError {
    const { replica } = this.#parts;
    if (lacks(caught)) {
      replica.store.isTorn = true;
      const reason = `the replica was changed by hand: ${(caught as Error).message}; it is made again and loaded from its source`;
      return new PlatformError('ROW_CONTRADICTION', { reason });
    }
    if (caught instanceof ReplicaLost) return new PlatformError('ROW_CONTRADICTION', { reason: caught.message });
    const { errno, fatal } = caught as { errno?: unknown; fatal?: unknown };
    return errno !== undefined || fatal !== undefined
      ? databaseError(caught, { database: replica.data.coordinates.name })
      : PlatformError.from(caught);
  }
}

/** Returns whether a statement named a table or column that the replica does not have. */
function lacks(caught: unknown): boolean {
  return isLacking(caught) || (caught instanceof PlatformError && isLacking(caught.detail));
}
