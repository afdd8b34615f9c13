import { formatAmount } from '../../../src/consensus/amount.ts';
import type { Random } from '../../../src/devnet/random.ts';
import type { BlockLedger } from './block-ledger.ts';
import { pairKey } from './state.ts';

/** Text of every kind that a row must carry unharmed. */
const MEMOS = [
  'thanks',
  '',
  'ends with a space ',
  'naïve café',
  '€ 5',
  '😀 four bytes',
  'it\'s \\ "quoted"',
  'NULL',
  '\t tab',
  'A',
  'a',
  '0'
] as const;

/** What a transaction without an action string does: a likely action of an indexer, from the seed alone. */
export function inventAction(random: Random, ledger: BlockLedger, sourceId: number): string {
  const kind = random.between(1, 100);
  const { index_tickers: tickers, index_addresses: addresses } = ledger.state.lookups;
  if (ledger.state.tokens.size === 0 || kind <= 3) return inventIssue(random, tickers.last + 1);
  const tickId = random.between(1, tickers.last);
  const tick = tickers.valueOf(tickId);
  const amount = formatAmount(BigInt(random.between(1, 1_000_000)) * 10n ** 15n);
  const address =
    random.between(1, 4) === 1 ? newAddress(random) : addresses.valueOf(random.between(1, addresses.last));
  const memo = MEMOS[random.between(0, MEMOS.length - 1)]!;
  const held = ledger.state.balances.get(pairKey(sourceId, tickId)) ?? 0n;
  if (kind <= 55)
    return held === 0n && kind <= 40
      ? `MINT|0|${tick}|${amount}||${memo}`
      : `SEND|0|${tick}|${amount}|${address}|${memo}`;
  if (kind <= 60) return `MINT|0|${tick}|${amount}|${address}|${memo}`;
  if (kind <= 66) return `SEND|1|${tick}|0.001|${address}|0.001|${address}|0.001|${address}`;
  if (kind <= 70) return `DESTROY|0|${tick}|0.001|${memo}`;
  if (kind <= 74) return `BATCH|0|MINT|0|${tick}|5;SEND|0|${tick}|1|${address};SEND|0|${tick}|1|${address};NOSUCH|1`;
  if (kind <= 78) return `BROADCAST|0|${memo}`;
  if (kind <= 82) return `LIST|0|${random.between(1, 2)}|${tick}|${tick}|${memo}|${address}`;
  if (kind <= 85) return `STAKE|0|${amount}`;
  if (kind <= 88) return `DELEGATE|0|${address}|${amount}`;
  if (kind <= 91) return `BATCH|0|MINT|0|${tick}|1;DISPENSER|0|${tick}|0.001|0.01|${random.between(1, 12)}`;
  if (kind <= 93) return `ATTEST|0|${memo.repeat(random.between(0, 40))}`;
  if (kind <= 94) return `COLLECT|0|${amount}`;
  if (kind <= 95) return `DEPLOY|0|return ${random.between(0, 9)}${' '.repeat(random.between(0, 300))}`;
  return `EXECUTE|0|${random.between(1, 5)}|key ${random.between(1, 8)}|${memo}`;
}

function inventIssue(random: Random, number: number): string {
  const names = ['GAS', 'Rare', 'rare', 'x.y', 'A-b_c', '~T', 'EMPTY'] as const;
  return `ISSUE|0|${random.pick(names)}${number}|1000000000000000000000|1000000|18|token ${number} é|${random.between(0, 5000)}`;
}

/** An address that nothing checks: of the form, not of a key. */
export function newAddress(random: Random): string {
  const alphabet = '023456789acdefghjklmnpqrstuvwxyz';
  return `rltc1q${Array.from({ length: 38 }, () => alphabet[random.between(0, 31)]).join('')}`;
}
