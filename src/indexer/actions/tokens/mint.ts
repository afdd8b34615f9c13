import { formatAmount } from '../../../consensus/amount.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import {
  isExcluded,
  limitOf,
  MEMO_CHECKS,
  namedAddress,
  orNull,
  ownAddress,
  readAmount,
  sourceExcluded,
  sourceSleeps,
  tickColumn,
  tickSleeps,
  tickUnknown,
  transferFacts
} from '../../rules/checks.ts';
import { pairKey } from '../../state/keys.ts';
import type { Token } from '../../state/token.ts';

interface Mint {
  readonly token: Token | null;
  readonly amountText: string;
  /** Amount; null for a text that is no amount of the token. */
  readonly amount: bigint | null;
  /** Destination as the text names it; null for an `^id` that names nothing. */
  readonly named: string | null;
  /** Destination. It is empty where the source keeps the units, also if the text names the source. */
  readonly destination: string | null;
  readonly memo: string;
}

function read(step: Step): Mint[] {
  const { action, ledger } = step;
  const { get } = action.fields;
  ledger.request(transferFacts(get('TICK'), action.source, ''));
  const token = ledger.token(get('TICK'));
  const named = namedAddress(step, get('DESTINATION'));
  return [
    {
      token,
      amountText: get('AMOUNT'),
      amount: readAmount(get('AMOUNT'), token),
      named,
      destination: named === action.source ? '' : named,
      memo: get('MEMO')
    }
  ];
}

function exceedsAddressMax({ token, amount }: Mint, { ledger, action }: Step): boolean {
  const { mintAddressMax, tick } = token!;
  return mintAddressMax > 0n && ledger.get('minted', pairKey(tick, action.source)) + amount! > mintAddressMax;
}

/** Makes new units of a token for anybody, within the limits of its issuer. */
export const MINT = defineAction<Mint>({
  name: 'MINT',
  table: 'mints',
  formats: { 0: 'TICK|AMOUNT|DESTINATION|MEMO' },
  read,
  checks: [
    ['DESTINATION (unresolvable ^id)', ({ destination }) => destination === null],
    tickUnknown,
    ['LOCK_MINT', ({ token }) => token!.locks.lock_mint],
    ['AMOUNT (format)', ({ amount }) => amount === null],
    ['DESTINATION (format)', ({ destination }, step) => destination !== '' && ownAddress(step, destination) === null],
    sourceSleeps,
    tickSleeps,
    ...MEMO_CHECKS,
    ['AMOUNT > MAX_MINT', ({ token, amount }) => token!.maxMint > 0n && amount! > token!.maxMint],
    ['mint exceeds MAX_SUPPLY', ({ token, amount }) => token!.supply + amount! > limitOf(token!.maxSupply)],
    sourceExcluded,
    [
      'DESTINATION (not authorized)',
      ({ token, destination }, { ledger }) => destination !== '' && isExcluded(ledger, token!, destination!)
    ],
    ['mint exceeds MINT_ADDRESS_MAX', exceedsAddressMax],
    ['MINT_START_BLOCK', ({ token }, { action }) => action.block.height < token!.mintStartBlock],
    [
      'MINT_STOP_BLOCK',
      ({ token }, { action }) => token!.mintStopBlock > 0 && action.block.height > token!.mintStopBlock
    ]
  ],
  row: ({ token, amountText, amount, named, memo }, step) => ({
    tick_id: tickColumn(step, step.action.fields.get('TICK'), token),
    amount: amount === null ? orNull(amountText) : formatAmount(amount),
    destination_id: ownAddress(step, named),
    memo_id: orNull(memo)
  }),
  apply: ({ token, amount, destination }, { action, ledger }) => {
    ledger.credit(token!, action.source, amount!);
    if (destination) {
      ledger.debit(token!, action.source, amount!);
      ledger.credit(token!, destination, amount!);
    }
    const key = pairKey(token!.tick, action.source);
    const total = ledger.get('minted', key) + amount!;
    ledger.set('minted', key, total);
    ledger.record('mint_totals', {
      action_index: action.index,
      address_id: action.source,
      tick_id: token!.tick,
      total: formatAmount(total)
    });
  }
});
