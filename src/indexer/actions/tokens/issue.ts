import { roundHalfUp } from '../../../consensus/amount.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import { indexColumn, orNull, ownAddress, tickColumn } from '../../rules/checks.ts';
import { tickKey } from '../../state/keys.ts';
import { LOCKS, type Token } from '../../state/token.ts';
import { ISSUE_CHECKS } from './issue-checks.ts';
import { CONTROLLER_FORMAT, DEFAULT_DECIMALS, type Issue, MAX_DECIMALS, readIssue } from './issue-request.ts';

/** Fields of a valid ISSUE about its token. Undefined and empty texts are no change. */
export type Issued = Pick<
  Issue,
  | 'maxSupply'
  | 'maxMint'
  | 'mintAddressMax'
  | 'mintStartBlock'
  | 'mintStopBlock'
  | 'description'
  | 'callbackBlock'
  | 'callbackAmount'
  | 'transfer'
  | 'locks'
> & {
  readonly decimals: number | null;
  readonly callbackTick: { readonly tick: string } | null;
  /** Allow list; a root of 0 removes it. */
  readonly allowList: { readonly root: number | null } | undefined;
  readonly blockList: { readonly root: number | null } | undefined;
};

/** Returns the token after a valid ISSUE, without the supply that it mints. */
export function issuedToken(issue: Issued, former: Token, actionIndex: number): Token {
  const list = (given: Issued['allowList'], stored: number | null) =>
    given === undefined ? stored : given.root || null;
  const decimals = issue.decimals ?? former.decimals;
  const cap = (given: bigint | null | undefined, stored: bigint) => capWith(given ?? stored, decimals);
  return {
    ...former,
    owner: issue.transfer || former.owner,
    decimals,
    maxSupply: cap(issue.maxSupply, former.maxSupply),
    maxMint: cap(issue.maxMint, former.maxMint),
    mintAddressMax: cap(issue.mintAddressMax, former.mintAddressMax),
    mintStartBlock: issue.mintStartBlock ?? former.mintStartBlock,
    mintStopBlock: issue.mintStopBlock ?? former.mintStopBlock,
    description: issue.description ?? former.description,
    callbackBlock: issue.callbackBlock ?? former.callbackBlock,
    callbackTick: issue.callbackTick?.tick ?? former.callbackTick,
    callbackAmount: issue.callbackAmount ?? former.callbackAmount,
    allowList: list(issue.allowList, former.allowList),
    blockList: list(issue.blockList, former.blockList),
    locks: Object.fromEntries(
      LOCKS.map((lock) => [lock, former.locks[lock] || issue.locks[lock] === '1'])
    ) as Token['locks'],
    lastActionIndex: actionIndex
  };
}

/**
 * Returns a cap in the decimals of its token. A cap that would round to 0, which means none, becomes the smallest
 * amount.
 */
function capWith(cap: bigint, decimals: number): bigint {
  const rounded = roundHalfUp(cap, decimals);
  return rounded === 0n && cap > 0n ? 10n ** BigInt(MAX_DECIMALS - decimals) : rounded;
}

/** Returns a new token without any settings. */
export function blankToken(id: number, tick: string, actionIndex: number, owner: string): Token {
  return {
    id,
    tick,
    owner,
    supply: 0n,
    maxSupply: 0n,
    maxMint: 0n,
    mintAddressMax: 0n,
    decimals: DEFAULT_DECIMALS,
    description: null,
    locks: Object.fromEntries(LOCKS.map((lock) => [lock, false])) as Token['locks'],
    callbackBlock: null,
    callbackTick: null,
    callbackAmount: null,
    allowList: null,
    blockList: null,
    mintStartBlock: 0,
    mintStopBlock: 0,
    actionIndex,
    lastActionIndex: actionIndex,
    escrowActionIndex: null
  };
}

function apply(issue: Issue, step: Step): void {
  const { action, ledger } = step;
  if (action.format === CONTROLLER_FORMAT) return;
  const former = issue.token ?? blankToken(ledger.tickerId(issue.name)!, issue.name, action.index, action.source);
  const token = issuedToken(issue, former, action.index);
  ledger.setToken(token);
  ledger.set('past', String(action.index), { name: 'ISSUE', tick: token.tick });
  const minted = issue.mintSupply ?? 0n;
  if (minted === 0n) return;
  ledger.credit(token, action.source, minted);
  if (!issue.transferSupply) return;
  ledger.debit(token, action.source, minted);
  ledger.credit(token, issue.transferSupply, minted);
}

const AMOUNTS = ['MAX_SUPPLY', 'MAX_MINT', 'MINT_SUPPLY', 'CALLBACK_AMOUNT', 'MINT_ADDRESS_MAX'] as const;
const NUMBERS = ['DECIMALS', 'CALLBACK_BLOCK', 'MINT_START_BLOCK', 'MINT_STOP_BLOCK'] as const;

/** Makes a token, or changes what its owner may still change. */
export const ISSUE = defineAction<Issue>({
  name: 'ISSUE',
  table: 'issues',
  formats: {
    0: 'TICK|MAX_SUPPLY|MAX_MINT|DECIMALS|DESCRIPTION|MINT_SUPPLY|TRANSFER|TRANSFER_SUPPLY|LOCK_MAX_SUPPLY|LOCK_MAX_MINT|LOCK_DESCRIPTION|LOCK_SLEEP|LOCK_CALLBACK|CALLBACK_BLOCK|CALLBACK_TICK|CALLBACK_AMOUNT|ALLOW_LIST|BLOCK_LIST|MINT_ADDRESS_MAX|MINT_START_BLOCK|MINT_STOP_BLOCK|LOCK_MINT|LOCK_MINT_SUPPLY|MEMO',
    1: 'TICK|DESCRIPTION|MEMO',
    2: 'TICK|MAX_MINT|MINT_SUPPLY|TRANSFER_SUPPLY|MINT_ADDRESS_MAX|MINT_START_BLOCK|MINT_STOP_BLOCK|MEMO',
    3: 'TICK|LOCK_MAX_SUPPLY|LOCK_MAX_MINT|LOCK_DESCRIPTION|LOCK_SLEEP|LOCK_CALLBACK|LOCK_MINT|LOCK_MINT_SUPPLY|MEMO',
    4: 'TICK|CALLBACK_BLOCK|CALLBACK_TICK|CALLBACK_AMOUNT|MEMO',
    5: 'TICK|ALLOW_LIST|BLOCK_LIST|MEMO',
    [CONTROLLER_FORMAT]: 'TICK|CONTROLLER|ACTION_CLASS|COOLDOWN_BLOCKS|UNBIND|MEMO'
  },
  read: (step) => [readIssue(step)],
  checks: ISSUE_CHECKS,
  charges: ({ name, token }, { rules }) =>
    token !== null || tickKey(name) === tickKey(rules.gasTick) ? null : { subtoken: name.includes('.') },
  row: (issue, step) => {
    const { get } = step.action.fields;
    return {
      // First, because its ticker gets its id first.
      callback_tick_id: get('CALLBACK_TICK') === '' ? null : tickColumn(step, get('CALLBACK_TICK'), issue.callbackTick),
      tick_id: tickColumn(step, issue.name),
      ...Object.fromEntries(AMOUNTS.map((field) => [field.toLowerCase(), orNull(get(field))])),
      ...Object.fromEntries(NUMBERS.map((field) => [field.toLowerCase(), indexColumn(get(field))])),
      description: issue.description,
      ...Object.fromEntries(LOCKS.map((lock) => [lock, orNull(issue.locks[lock])])),
      transfer_id: ownAddress(step, issue.transfer),
      transfer_supply_id: ownAddress(step, issue.transferSupply),
      allow_list: issue.allowList?.root ?? null,
      block_list: issue.blockList?.root ?? null,
      memo_id: orNull(issue.memo)
    };
  },
  apply: (issue, step) => apply(issue, step)
});
