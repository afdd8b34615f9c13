import { COINS, FUTURE_COINS } from '../../profile/rules.ts';
import type { Check, Step } from '../../rules/action-definition.ts';
import {
  fitsPlaces,
  HIGHEST_CAP,
  lengthOf,
  limitOf,
  MEMO_CHECKS,
  ownAddress,
  ownershipEscrowed,
  sourceSleeps
} from '../../rules/checks.ts';
import { LIST_OF_ADDRESSES } from '../../state/facts.ts';
import { tickBeginning, tickKey } from '../../state/keys.ts';
import { LOCKS } from '../../state/token.ts';
import { CONTROLLER_BINDING, CONTROLLER_KNOWN, type ControllerFields } from './controller.ts';
import { type Issue, MAX_DECIMALS } from './issue-request.ts';

const NAME_CHARACTERS = /^[A-Za-z0-9~!@#$%^&*()_+\-={}[\]:<>.?]*$/;
const MAX_NAME = 250;
const MIN_NEW_NAME = 4;
const MAX_DESCRIPTION = 249;

const isNew = ({ token }: Issue) => token === null;
const isNewChild = ({ token, name }: Issue) => token === null && name.includes('.');
const parentOf = ({ name }: Issue, { ledger }: Step) => ledger.token(name.slice(0, name.lastIndexOf('.')));

const nameChecks: readonly Check<Issue>[] = [
  ['TICK (null)', ({ name }) => name === ''],
  ['TICK (period)', ({ name }) => name.startsWith('.') || name.endsWith('.')],
  ['TICK (parent unknown)', (issue, step) => isNewChild(issue) && parentOf(issue, step) === null],
  [
    'TICK (parent issued by another address)',
    (issue, step) => isNewChild(issue) && parentOf(issue, step)!.owner !== step.action.source
  ],
  [
    'TICK (parent ownership escrowed)',
    (issue, step) => isNewChild(issue) && parentOf(issue, step)!.escrowActionIndex !== null
  ],
  ['TICK (character)', ({ name }) => !NAME_CHARACTERS.test(name)],
  ['TICK (id)', ({ name }) => name.startsWith('^') && !/^\^[\d.]+$/.test(name)],
  ['TICK (caret dot)', ({ name }) => name.startsWith('^') && name.includes('.')],
  ['TICK (unresolvable ^id)', (issue) => isNew(issue) && issue.name.startsWith('^')],
  ['TICK (length)', ({ name }) => name.length > MAX_NAME]
];

const isGas = ({ token, name }: Issue, { rules }: Step) => tickKey(token?.tick ?? name) === tickKey(rules.gasTick);

const reservedChecks: readonly Check<Issue>[] = [
  [
    'TICK (reserved)',
    (issue, step) => {
      const { rules, action } = step;
      const name = issue.name.toUpperCase();
      if (COINS.has(name) || (isNew(issue) && FUTURE_COINS.has(name))) return true;
      return isGas(issue, step) && !rules.isRegtest && rules.gasIssuer !== action.source;
    }
  ],
  ['TICK (BTC-only)', (issue, step) => isGas(issue, step) && step.rules.coin !== 'BTC'],
  [
    'TICK (length)',
    (issue, step) =>
      isNew(issue) && !isGas(issue, step) && !issue.name.includes('.') && issue.name.length < MIN_NEW_NAME
  ]
];

const formatChecks: readonly Check<Issue>[] = [
  ['MAX_SUPPLY (format)', ({ maxSupply }) => maxSupply === null],
  ['MAX_MINT (format)', ({ maxMint }) => maxMint === null],
  ['MINT_SUPPLY (format)', ({ mintSupply }) => mintSupply === null],
  [
    'CALLBACK_TICK (unknown)',
    ({ callbackTick }, { action }) => action.fields.get('CALLBACK_TICK') !== '' && callbackTick === null
  ],
  ['CALLBACK_AMOUNT (format)', ({ callbackAmount }) => callbackAmount === null],
  ['CALLBACK_BLOCK (format)', ({ callbackBlock }) => callbackBlock === null],
  ['MINT_ADDRESS_MAX (format)', ({ mintAddressMax }) => mintAddressMax === null],
  ['MINT_START_BLOCK (format)', ({ mintStartBlock }) => mintStartBlock === null],
  ['MINT_STOP_BLOCK (format)', ({ mintStopBlock }) => mintStopBlock === null],
  ...LOCKS.map((lock): Check<Issue> => [`${lock.toUpperCase()} (format)`, ({ locks }) => !/^[01]?$/.test(locks[lock])])
];

const authorityChecks: readonly Check<Issue>[] = [
  sourceSleeps,
  ['issued by another address', ({ token }, { action }) => token !== null && token.owner !== action.source],
  ownershipEscrowed,
  ...LOCKS.map(
    (lock): Check<Issue> => [
      `${lock.toUpperCase()} (locked)`,
      ({ token, locks }) => token?.locks[lock] === true && locks[lock] === '0'
    ]
  )
];

/** Returns the cap after the action; 0 is none. */
const capOf = ({ maxSupply, token }: Issue) => maxSupply ?? token?.maxSupply ?? 0n;
const supplyOf = ({ token }: Issue) => token?.supply ?? 0n;

const supplyChecks: readonly Check<Issue>[] = [
  ['MAX_SUPPLY (min/max)', ({ maxSupply }) => (maxSupply ?? 0n) > HIGHEST_CAP],
  ['MAX_SUPPLY < SUPPLY', (issue) => (issue.maxSupply ?? 0n) > 0n && (issue.maxSupply ?? 0n) < supplyOf(issue)],
  ['LOCK_MAX_SUPPLY (no max supply)', (issue) => issue.locks.lock_max_supply === '1' && capOf(issue) === 0n],
  ['DECIMALS (min/max)', ({ decimals }) => decimals === null || decimals > MAX_DECIMALS],
  ['DECIMALS (locked)', (issue) => supplyOf(issue) > 0n && issue.decimals !== issue.token!.decimals],
  ['TRANSFER (bad address)', ({ transfer }, step) => transfer !== '' && ownAddress(step, transfer) === null],
  [
    'TRANSFER_SUPPLY (bad address)',
    ({ transferSupply }, step) => transferSupply !== '' && ownAddress(step, transferSupply) === null
  ],
  ['MINT_SUPPLY (locked)', ({ token, mintSupply }) => token?.locks.lock_mint_supply === true && (mintSupply ?? 0n) > 0n]
];

const capChecks: readonly Check<Issue>[] = [
  ['MINT_SUPPLY > MAX_SUPPLY', (issue) => exceeds(issue.mintSupply, capOf(issue))],
  [
    'MINT_SUPPLY exceeds MAX_SUPPLY',
    (issue) => issue.mintSupply !== undefined && exceeds(issue.mintSupply! + supplyOf(issue), capOf(issue))
  ],
  ['MINT_ADDRESS_MAX > MAX_SUPPLY', (issue) => exceeds(issue.mintAddressMax, capOf(issue))],
  [
    'MINT_ADDRESS_MAX < MAX_MINT',
    (issue) => {
      if (issue.mintAddressMax === undefined && issue.maxMint === undefined) return false;
      const most = issue.mintAddressMax ?? issue.token?.mintAddressMax ?? 0n;
      return most > 0n && most < (issue.maxMint ?? issue.token?.maxMint ?? 0n);
    }
  ]
];

function exceeds(amount: bigint | null | undefined, cap: bigint): boolean {
  return (amount ?? 0n) > limitOf(cap);
}

/** Returns whether a field names another value than the token has. */
const changes = <T>(given: T | null | undefined, stored: T | null | undefined) =>
  given !== undefined && given !== null && given !== stored;

/** Returns whether fewer DECIMALS would round a locked cap to another one. */
function rounds(cap: bigint, { decimals }: Issue, { action, rules }: Step): boolean {
  return rules.isActive('LOCKED_CAPS', action.block.height) && !fitsPlaces(cap, { decimals: decimals! });
}

const frozenChecks: readonly Check<Issue>[] = [
  [
    'MAX_SUPPLY (locked)',
    (issue, step) => {
      const { token, maxSupply } = issue;
      if (token?.locks.lock_max_supply !== true) return false;
      return changes(maxSupply, token.maxSupply) || rounds(token.maxSupply, issue, step);
    }
  ],
  [
    'MAX_MINT (locked)',
    (issue, step) => {
      const { token, maxMint } = issue;
      return (
        token?.locks.lock_max_mint === true && (changes(maxMint, token.maxMint) || rounds(token.maxMint, issue, step))
      );
    }
  ],
  ['DESCRIPTION (length)', ({ description }) => lengthOf(description ?? '') > MAX_DESCRIPTION],
  [
    'DESCRIPTION (locked)',
    ({ token, description }) => token?.locks.lock_description === true && changes(description, token.description)
  ]
];

type CallbackTerm = 'callbackBlock' | 'callbackTick' | 'callbackAmount';
const TERMS: readonly (readonly [field: string, term: CallbackTerm])[] = [
  ['CALLBACK_BLOCK', 'callbackBlock'],
  ['CALLBACK_TICK', 'callbackTick'],
  ['CALLBACK_AMOUNT', 'callbackAmount']
];

function changesTerm(issue: Issue, term: CallbackTerm): boolean {
  if (issue.token === null) return false;
  if (term === 'callbackTick') return changes(issue.callbackTick?.tick, issue.token.callbackTick);
  return changes<bigint | number>(issue[term], issue.token[term]);
}

/** Returns whether anybody but the owner has some of the token. Below the height of KEPT_TERMS escrow does not count. */
function isDistributed({ token }: Issue, { action, ledger, rules }: Step): boolean {
  const { tick, owner, supply } = token!;
  if (supply === ledger.balance(tick, owner)) return false;
  return rules.isActive('KEPT_TERMS', action.block.height) || ledger.isHeldBeside(tick, owner);
}

const callbackChecks: readonly Check<Issue>[] = [
  ...TERMS.map(
    ([field, term]): Check<Issue> => [
      `${field} (locked)`,
      (issue) => issue.token?.locks.lock_callback === true && changesTerm(issue, term)
    ]
  ),
  [
    'CALLBACK_BLOCK (block index)',
    ({ token, callbackBlock }, { action }) => token !== null && (callbackBlock ?? Infinity) < action.block.height
  ],
  ...TERMS.map(
    ([field, term]): Check<Issue> => [
      `${field} (supply distributed)`,
      (issue, step) => changesTerm(issue, term) && isDistributed(issue, step)
    ]
  )
];

const isBadList = (list: Issue['allowList'], { ledger }: Step) =>
  list !== undefined &&
  list.root !== 0 &&
  (list.root === null || ledger.listHead(list.root)?.type !== LIST_OF_ADDRESSES);

const ofController = ([status, fails]: Check<ControllerFields>): Check<Issue> => [
  status,
  ({ controller }, step) => controller !== null && fails(controller, step)
];

const windowChecks: readonly Check<Issue>[] = [
  ['MINT_START_BLOCK < BLOCK_INDEX', ({ mintStartBlock }, { action }) => isPast(mintStartBlock, action.block.height)],
  ['MINT_STOP_BLOCK < BLOCK_INDEX', ({ mintStopBlock }, { action }) => isPast(mintStopBlock, action.block.height)],
  [
    'MINT_STOP_BLOCK < MINT_START_BLOCK',
    ({ mintStartBlock, mintStopBlock, token }) => {
      const stop = mintStopBlock ?? token?.mintStopBlock ?? 0;
      return stop > 0 && stop < (mintStartBlock ?? token?.mintStartBlock ?? 0);
    }
  ]
];

/** Returns whether a block number is below a height; 0 is no limit. */
function isPast(block: number | null | undefined, height: number): boolean {
  return block !== undefined && block !== null && block > 0 && block < height;
}

/** All checks of ISSUE in their order. */
export const ISSUE_CHECKS: readonly Check<Issue>[] = [
  ['TRANSFER (unresolvable ^id)', ({ transfer }) => transfer === null],
  ['TRANSFER_SUPPLY (unresolvable ^id)', ({ transferSupply }) => transferSupply === null],
  ...nameChecks,
  ...reservedChecks,
  ...formatChecks,
  ...authorityChecks,
  ...supplyChecks,
  ...capChecks,
  ...frozenChecks,
  ...callbackChecks,
  ['ALLOW_LIST (bad list)', ({ allowList }, step) => isBadList(allowList, step)],
  ['BLOCK_LIST (bad list)', ({ blockList }, step) => isBadList(blockList, step)],
  ofController(CONTROLLER_KNOWN),
  ['TICK (unknown)', ({ controller, token }) => controller !== null && token === null],
  ...CONTROLLER_BINDING.map(ofController),
  ...windowChecks,
  // The unique key of every index in use takes two such names for one.
  [
    'TICK (first 200 characters taken)',
    ({ token, name }, { ledger }) => {
      const beginning = token === null ? tickBeginning(name) : null;
      const isTaken = beginning !== null && ledger.get('tickBeginning', beginning);
      return isTaken && ledger.get('tickId', name) === null;
    }
  ],
  ...MEMO_CHECKS
];
