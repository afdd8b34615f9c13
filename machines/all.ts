import type { AnyStateMachine } from 'xstate';
import { circuitBreakerMachine } from './circuit-breaker.ts';
import { decoderMachine } from './decoder.ts';
import { epochCommitMachine } from './epoch-commit.ts';
import { haltMachine } from './halt.ts';
import { heartbeatMachine } from './heartbeat.ts';
import { replicaMachine } from './replica.ts';
import { restartMachine } from './restart.ts';
import { sourceMachine } from './source.ts';
import { subscriberMachine } from './subscriber.ts';
import { verificationMachine } from './verification.ts';

/** Every machine, under the name by which its transitions are reported. */
export const MACHINES: Readonly<Record<string, AnyStateMachine>> = {
  source: sourceMachine,
  replica: replicaMachine,
  decoder: decoderMachine,
  restart: restartMachine,
  circuitBreaker: circuitBreakerMachine,
  epochCommit: epochCommitMachine,
  halt: haltMachine,
  verification: verificationMachine,
  heartbeat: heartbeatMachine,
  subscriber: subscriberMachine
};
