import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attestationMachine } from '../../../machines/hub/attestation.ts';
import { proposalMachine } from '../../../machines/hub/proposal.ts';
import { reorgReportMachine } from '../../../machines/hub/reorg-report.ts';
import { swapMachine } from '../../../machines/hub/swap.ts';
import { pbftQuorum } from '../../../src/consensus/pbft-quorum.ts';
import { stateAfter } from '../../../src/hub/store/decide.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const vote = (approves: boolean) => ({ type: 'vote.received', approves }) as const;
const ENDED = { type: 'voting.ended' } as const;

test('a proposal passes with two thirds, and fails as soon as they are out of reach', () => {
  const { actor, state } = onSimulatedClock(proposalMachine, { electorate: 4, approvals: 0, rejections: 0 });
  actor.send(vote(true));
  actor.send(vote(false));
  actor.send(vote(true));
  assert.equal(state(), 'voting');
  actor.send(vote(true));
  assert.equal(state(), 'passed');
  assert.equal(stateAfter(proposalMachine, { electorate: 4, approvals: 2, rejections: 2 }, []), 'failed');
});

test('at the end of the voting half decide whether it failed or expired', () => {
  const at = (approvals: number) => stateAfter(proposalMachine, { electorate: 4, approvals, rejections: 0 }, [ENDED]);
  assert.deepEqual([at(0), at(1), at(2)], ['expired', 'expired', 'failed']);
});

test('no order of votes passes a proposal with less than two thirds, nor fails it while they are in reach', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 16 }), fc.array(fc.boolean(), { maxLength: 16 }), (electorate, votes) => {
      const cast = votes.slice(0, electorate);
      let [approvals, rejections, expected] = [0, 0, 'voting'];
      for (const approves of cast) {
        if (expected !== 'voting') break;
        if (approves) approvals++;
        else rejections++;
        if (approvals >= Math.ceil((2 * electorate) / 3)) expected = 'passed';
        else if (electorate - rejections < Math.ceil((2 * electorate) / 3)) expected = 'failed';
      }
      const input = { electorate, approvals: 0, rejections: 0 };
      assert.equal(stateAfter(proposalMachine, input, cast.map(vote)), expected);
    })
  );
});

test('an attestation and a reorg report need the same quorum of 1 to 16 validators', () => {
  for (let validators = 1; validators <= 16; validators++) {
    const quorum = pbftQuorum(validators);
    const times = (count: number, event: string) => Array.from({ length: count }, () => ({ type: event }) as never);
    const attestation = (count: number, event: string) =>
      stateAfter(attestationMachine, { validators }, times(count, event));
    const report = (count: number, event: string) =>
      stateAfter(reorgReportMachine, { validators }, times(count, event));
    const refusals = validators - quorum + 1;
    assert.deepEqual(
      [attestation(quorum - 1, 'signature.received'), attestation(quorum, 'signature.received')],
      ['pending', 'attested']
    );
    assert.deepEqual(
      [report(quorum - 1, 'confirmation.received'), report(quorum, 'confirmation.received')],
      ['reported', 'confirmed']
    );
    assert.deepEqual(
      [attestation(refusals, 'refusal.received'), report(refusals, 'denial.received')],
      ['rejected', 'rejected']
    );
  }
});

test('every state of the four charts is reached', () => {
  const proposal = [vote(true), vote(false), ENDED];
  const input = { electorate: 3, approvals: 0, rejections: 0 };
  assert.deepEqual(reachedStates(proposalMachine, input, proposal), everyState(proposalMachine));
  const expired = { type: 'time.expired' } as const;
  assert.deepEqual(
    reachedStates(attestationMachine, { validators: 2 }, [
      { type: 'signature.received' },
      { type: 'refusal.received' },
      expired
    ]),
    everyState(attestationMachine)
  );
  assert.deepEqual(
    reachedStates(reorgReportMachine, { validators: 2 }, [
      { type: 'confirmation.received' },
      { type: 'denial.received' },
      expired
    ]),
    everyState(reorgReportMachine)
  );
  assert.deepEqual(
    reachedStates(swapMachine, undefined, [
      { type: 'attestation.attested' },
      { type: 'attestation.refused' },
      { type: 'action.executed' },
      { type: 'action.failed' },
      { type: 'swap.settled' }
    ]),
    everyState(swapMachine)
  );
});
