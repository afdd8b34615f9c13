import type { Step } from '../../rules/action-definition.ts';
import { namedAddress, orNull, readAmount, readIndex } from '../../rules/checks.ts';
import { LOCKS, type LockName } from '../../state/token.ts';
import { readController } from './controller.ts';

/** Fields of an ISSUE, read once. An empty text keeps what the token has. */
export type Issue = ReturnType<typeof readIssue>;

/** Format that binds a token to a contract. */
export const CONTROLLER_FORMAT = 6;
/** Decimals of a token whose ISSUE names none. */
export const DEFAULT_DECIMALS = 0;
/** Most decimals of a token. */
export const MAX_DECIMALS = 18;

/** Reads the fields of any format. */
export function readIssue(step: Step) {
  const { action, ledger } = step;
  const { get } = action.fields;
  const name = get('TICK');
  const token = ledger.token(name);
  const stored = token?.decimals ?? DEFAULT_DECIMALS;
  const decimals = get('DECIMALS') === '' ? stored : readIndex(get('DECIMALS'));
  const inToken = { decimals: decimals === null || decimals > MAX_DECIMALS ? MAX_DECIMALS : decimals };
  const amount = (field: string) => (get(field) === '' ? undefined : readAmount(get(field), inToken));
  const number = (field: string) => (get(field) === '' ? undefined : readIndex(get(field)));
  const paidIn = get('CALLBACK_TICK') || (token?.callbackTick ?? '');
  const callbackTick = paidIn === '' ? null : ledger.token(paidIn);
  const supplyTo = namedAddress(step, get('TRANSFER_SUPPLY'));
  return {
    name,
    token,
    decimals,
    /** Amounts; undefined where the field is empty, null where it is badly formed. */
    maxSupply: amount('MAX_SUPPLY'),
    maxMint: amount('MAX_MINT'),
    mintSupply: amount('MINT_SUPPLY'),
    mintAddressMax: amount('MINT_ADDRESS_MAX'),
    mintStartBlock: number('MINT_START_BLOCK'),
    mintStopBlock: number('MINT_STOP_BLOCK'),
    callbackBlock: number('CALLBACK_BLOCK'),
    callbackTick,
    callbackAmount: get('CALLBACK_AMOUNT') === '' ? undefined : readAmount(get('CALLBACK_AMOUNT'), callbackTick),
    allowList: readList(get('ALLOW_LIST'), step),
    blockList: readList(get('BLOCK_LIST'), step),
    description: orNull(get('DESCRIPTION')),
    /** New owner. An empty text is no change, null an `^id` that names nothing. */
    transfer: namedAddress(step, get('TRANSFER')),
    transferSupply: supplyTo === action.source ? '' : supplyTo,
    locks: Object.fromEntries(LOCKS.map((lock) => [lock, get(lock.toUpperCase())])) as Record<LockName, string>,
    memo: get('MEMO'),
    controller: action.format === CONTROLLER_FORMAT ? readController(step) : null
  };
}

/** Reads the root of a list. Undefined is no change, `0` no list, and a root of null an index without a list. */
function readList(field: string, { ledger }: Step): { readonly root: number | null } | undefined {
  if (field === '') return undefined;
  const index = readIndex(field);
  return { root: index === 0 ? 0 : index === null ? null : ledger.listRoot(index) };
}
