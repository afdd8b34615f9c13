import { formatAmount, parseTokenAmount } from '../../../consensus/amount.ts';
import { byFormat, defineAction, type Step } from '../../rules/action-definition.ts';
import { MEMO_CHECKS, orNull, sourceSleeps, tickUnknown } from '../../rules/checks.ts';
import { COINS, FIATS } from '../../rules/rules.ts';
import type { Token } from '../../state/token.ts';
import { PRICE_ROUND } from './price-round.ts';

/** What an address says that a token costs. */
interface TokenPrice {
  readonly coin: string;
  readonly token: Token | null;
  readonly fiat: string;
  readonly valueText: string;
  /** Null for what is no price. */
  readonly value: bigint | null;
  readonly feeText: string;
  readonly fee: bigint | null;
  readonly memo: string;
}

const PLACES = 8;

function read({ action, ledger }: Step): TokenPrice[] {
  const { get } = action.fields;
  const [valueText, feeText] = [get('VALUE'), get('FEE')];
  return [
    {
      coin: get('COIN').toUpperCase(),
      token: ledger.token(get('TICK')),
      fiat: get('FIAT').toUpperCase(),
      valueText,
      value: parseTokenAmount(valueText, PLACES),
      feeText,
      fee: feeText === '' ? 0n : parseTokenAmount(feeText, PLACES),
      memo: get('MEMO')
    }
  ];
}

/** Anybody's price of a token; who pays by it decides whom to believe. */
const TOKEN_PRICE = defineAction<TokenPrice>({
  name: 'PRICE',
  table: 'prices',
  formats: { 1: 'COIN|TICK|FIAT|VALUE|FEE|MEMO' },
  read,
  checks: [
    ['COIN (unsupported COIN network)', ({ coin }) => !COINS.has(coin)],
    ['COIN (network)', ({ coin }, { rules }) => coin !== rules.coin],
    tickUnknown,
    ['FIAT (unsupported FIAT)', ({ fiat }) => !FIATS.has(fiat)],
    ['VALUE (format)', ({ value }) => value === null],
    ['VALUE (must be positive)', ({ value }) => value === 0n],
    ['FEE (format)', ({ fee }) => fee === null],
    sourceSleeps,
    ...MEMO_CHECKS
  ],
  row: ({ coin, token, fiat, valueText, value, feeText, fee, memo }, { action }, isValid) => ({
    version: action.format,
    source_id: action.source,
    coin_id: COINS.has(coin) ? coin : null,
    tick_id: token?.tick ?? null,
    fiat_id: FIATS.has(fiat) ? fiat : null,
    value: value === null ? orNull(valueText) : formatAmount(value),
    fee: feeText === '' || fee === null ? orNull(feeText) : formatAmount(fee),
    memo_id: orNull(memo),
    ...{ source: action.source, tick: token?.tick ?? null }, // no columns have them: a hub is told
    validation_status: isValid ? 'valid' : 'invalid'
  })
});

/** Prices of coins by validators, or of a token by anybody. */
export const PRICE = byFormat([PRICE_ROUND, TOKEN_PRICE]);
