import { priceText, slotMessage, testSigner } from '../indexer-signers.ts';

const ROUND = /^round (\d+) of (\d+): (.+); ([a-z ]+)$/;
const PROOF = /^proof ([a-z]+) ([a-z]+) (\d+) of (\d+): (\S+)$/;

/**
 * Writes what signers of a ledger say, in braces: `signer one`, `round 7 of 110: BTC/USD 50000; one two`, `proof one oracle 7 of 110: x`.
 * The same name is the same key in all examples of a ledger.
 *
 * @returns undefined for anything else @see test/examples/FORMAT
 */
export function signedText(inner: string, timeAt: (height: number) => number): string | undefined {
  if (inner.startsWith('signer ')) return testSigner(inner.slice('signer '.length)).pubkey;
  const [, round, height, pairTexts, signers] = ROUND.exec(inner) ?? [];
  if (round !== undefined) {
    const pairs = pairTexts!.split(', ').map((pair) => pair.split(' ') as [string, string]);
    const content = { round: Number(round), height: Number(height), timestamp: timeAt(Number(height)), pairs };
    return priceText(content, signers!.split(' ').map(testSigner)).slice('PRICE|0|'.length);
  }
  const [, signer, engine, slot, of, content] = PROOF.exec(inner) ?? [];
  if (signer === undefined) return undefined;
  const message = { btc_block_height: Number(of), content };
  return slotMessage(testSigner(signer), message, `EQUIV|${engine}|${slot}|0||`).join('|');
}
