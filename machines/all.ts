import type { AnyStateMachine } from 'xstate';
import { availabilityMachine } from './explorer/availability.ts';
import { decoderMachine, trackerMachine } from './follower/chain-writer.ts';
import { mempoolMachine } from './follower/mempool.ts';
import { attestationMachine } from './hub/attestation.ts';
import { capabilityMachine } from './hub/capability.ts';
import { logPlaceMachine } from './hub/log-place.ts';
import { peerMachine } from './hub/peer.ts';
import { priceRoundMachine } from './hub/price-round.ts';
import { proposalMachine } from './hub/proposal.ts';
import { reorgReportMachine } from './hub/reorg-report.ts';
import { swapMachine } from './hub/swap.ts';
import { validatorMachine } from './hub/validator.ts';
import { hubPushMachine } from './indexer/hub-push.ts';
import { indexerMachine } from './indexer/indexer.ts';
import { watchdogMachine } from './indexer/watchdog.ts';
import { circuitBreakerMachine } from './runtime/circuit-breaker.ts';
import { haltMachine } from './runtime/halt.ts';
import { restartMachine } from './runtime/restart.ts';
import { auditMachine } from './sync/audit.ts';
import { balanceTreeMachine } from './sync/balance-tree.ts';
import { epochCommitMachine } from './sync/epoch-commit.ts';
import { hashQuorumMachine } from './sync/hash-quorum.ts';
import { heartbeatMachine } from './sync/heartbeat.ts';
import { replicaMachine } from './sync/replica.ts';
import { sourceMachine } from './sync/source.ts';
import { subscriberMachine } from './sync/subscriber.ts';

/** Every machine, under the name by which its transitions are reported. */
export const MACHINES: Readonly<Record<string, AnyStateMachine>> = {
  source: sourceMachine,
  replica: replicaMachine,
  decoder: decoderMachine,
  mempool: mempoolMachine,
  tracker: trackerMachine,
  indexer: indexerMachine,
  watchdog: watchdogMachine,
  hubPush: hubPushMachine,
  availability: availabilityMachine,
  priceRound: priceRoundMachine,
  capability: capabilityMachine,
  proposal: proposalMachine,
  attestation: attestationMachine,
  swap: swapMachine,
  reorgReport: reorgReportMachine,
  validator: validatorMachine,
  logPlace: logPlaceMachine,
  peer: peerMachine,
  restart: restartMachine,
  circuitBreaker: circuitBreakerMachine,
  audit: auditMachine,
  balanceTree: balanceTreeMachine,
  epochCommit: epochCommitMachine,
  halt: haltMachine,
  hashQuorum: hashQuorumMachine,
  heartbeat: heartbeatMachine,
  subscriber: subscriberMachine
};
