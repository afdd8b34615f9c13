import { defineAction, type Step } from '../../rules/action-definition.ts';
import { lengthOf, sourceSleeps } from '../../rules/checks.ts';
import { readSigned, SIGNED_CHECKS, type Signed, signedColumn } from '../../staking/signatures.ts';

/** Answer of validators to a contract's request. */
interface Answer extends Signed {
  readonly request: string;
  readonly provider: string;
  readonly payload: string;
  readonly status: string;
  readonly meta: string;
}

const FIRST_SIGNATURE = 5;
const LONGEST_PAYLOAD = 65_536;
const LONGEST_META = 256;
const REQUEST = /^[0-9a-f]{64}$/;
const PROVIDER = /^[A-Za-z0-9_.:-]{1,32}$/;
const STATUSES: ReadonlySet<string> = new Set(['ok', 'timeout', 'no_quorum', 'provider_error']);

function read({ action }: Step): Answer[] {
  const { get, all } = action.fields;
  return [
    {
      request: get('REQUEST_ID').toLowerCase(),
      provider: get('PROVIDER_ID'),
      payload: get('RESPONSE_PAYLOAD'),
      status: get('STATUS').toLowerCase(),
      meta: get('META'),
      ...readSigned(all, FIRST_SIGNATURE)
    }
  ];
}

/** Records validators' answers to contracts. There are no contracts, so no answer has a request. */
export const ATTEST = defineAction<Answer>({
  name: 'ATTEST',
  table: 'attests',
  formats: { 1: 'REQUEST_ID|PROVIDER_ID|RESPONSE_PAYLOAD|STATUS|META|SIG_COUNT|(PUBKEY|SIG)+' },
  read,
  checks: [
    ['REQUEST_ID (format)', ({ request }) => !REQUEST.test(request)],
    ['PROVIDER_ID (format)', ({ provider }) => !PROVIDER.test(provider)],
    ['RESPONSE_PAYLOAD (length)', ({ payload }) => lengthOf(payload) > LONGEST_PAYLOAD],
    ['STATUS (format)', ({ status }) => !STATUSES.has(status)],
    ['META (length)', ({ meta }) => lengthOf(meta) > LONGEST_META],
    ...SIGNED_CHECKS,
    sourceSleeps,
    ['REQUEST_ID (unknown)', () => true]
  ],
  row: (answer, { action }) => ({
    version: action.format,
    request_id: REQUEST.test(answer.request) ? answer.request : '',
    provider_id: answer.provider,
    response_payload: answer.payload,
    response_status: STATUSES.has(answer.status) ? answer.status : null,
    meta: answer.meta,
    validator_signatures: signedColumn(answer),
    block_index: action.block.height
  })
});
