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

/** A source that contradicts the replica again within this time, in milliseconds, is believed. */
const CONTRADICTED_MS = 600_000;

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
  #contradictedAt = Number.NEGATIVE_INFINITY;
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

  /** Returns the outcome, or `lost` where only a bootstrap helps: one contradiction alone empties no replica. */
  async orLost(work: Promise<Outcome>): Promise<Outcome> {
    const { replica, audit } = this.#parts;
    try {
      return await work;
    } catch (caught) {
      if (!(caught instanceof ReplicaLost)) throw caught;
      audit.scheduleNow();
      const isFirst = performance.now() - this.#contradictedAt > CONTRADICTED_MS;
      this.#contradictedAt = performance.now();
      if (isFirst) throw caught;
      refuseLoss(replica.store.state, caught.message);
      replica.log.error({ err: caught }, 'the replica contradicts its source: bootstrapping it again');
      replica.drop(new PlatformError('ROW_CONTRADICTION', { reason: caught.message }));
      await replica.open();
      return { kind: 'lost' };
    }
  }

  /** Drops connection and stream after a fault. @returns the fault */
  toFault(caught: unknown): PlatformError {
    const { replica, breaker } = this.#parts;
    const fault = this.#faultOf(caught);
    if (fault.code === 'DATABASE_UNAVAILABLE') {
      this.#outage = fault;
      breaker.tell('call.failed');
    }
    return replica.drop(fault);
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
