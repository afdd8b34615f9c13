import { parseAmount, parseTokenAmount } from '../../../consensus/amount.ts';
import { COINS, FIATS } from '../../profile/rules.ts';
import { byFormat, defineAction, type Step } from '../../rules/action-definition.ts';
import { MEMO_CHECKS, orNull, sourceSleeps, tickColumn } from '../../rules/checks.ts';
import type { Token } from '../../state/token.ts';
import { PRICE_ROUND } from './price-round.ts';

/** Price of a token as an address names it. */
interface TokenPrice {
  readonly coin: string;
  /** Ticker as it is written: a price may come before its token, or be for a token of another chain. */
  readonly tick: string;
  readonly token: Token | null;
  readonly fiat: string;
  readonly valueText: string;
  /** Price; null for a text that is none. */
  readonly value: bigint | null;
  readonly feeText: string;
  readonly fee: bigint | null;
  readonly memo: string;
}

const PLACES = 8;
const MAX_NAME = 250;
const ONE = parseAmount('1')!;

function read({ action, ledger }: Step): TokenPrice[] {
  const { get } = action.fields;
  const [valueText, feeText] = [get('VALUE'), get('FEE')];
  return [
    {
      coin: get('COIN').toUpperCase(),
      tick: get('TICK'),
      token: ledger.token(get('TICK')),
      fiat: get('FIAT').toUpperCase(),
      valueText,
      value: parseTokenAmount(valueText, PLACES),
      feeText,
      fee: feeText === '' ? 0n : parseAmount(feeText),
      memo: get('MEMO')
    }
  ];
}

/** Records anybody's price of a token. Whoever pays by it decides whom to believe. */
const TOKEN_PRICE = defineAction<TokenPrice>({
  name: 'PRICE',
  table: 'prices',
  formats: { 1: 'COIN|TICK|FIAT|VALUE|FEE|MEMO' },
  read,
  checks: [
    ['COIN (unsupported)', ({ coin }) => !COINS.has(coin)],
    ['TICK (format)', ({ tick }) => tick === '' || tick.length > MAX_NAME],
    ['FIAT (unsupported)', ({ fiat }) => !FIATS.has(fiat)],
    ['VALUE (format)', ({ value }) => !value],
    ['FEE (format)', ({ fee }) => fee === null || fee > ONE],
    sourceSleeps,
    ...MEMO_CHECKS
  ],
  row: ({ coin, tick, token, fiat, valueText, feeText, memo }, step, isValid) => ({
    version: step.action.format,
    source_id: step.action.source,
    coin_id: COINS.has(coin) ? coin : null,
    tick_id: tickColumn(step, tick, token),
    fiat_id: FIATS.has(fiat) ? fiat : null,
    value: orNull(valueText),
    fee: orNull(feeText),
    memo_id: orNull(memo),
    source: step.action.source,
    tick: token?.tick ?? tick, // no columns have them: they are pushed to a hub
    validation_status: isValid ? 'valid' : 'invalid'
  })
});

/** Records prices of coins by validators, or of a token by anybody. */
export const PRICE = byFormat([PRICE_ROUND, TOKEN_PRICE]);
