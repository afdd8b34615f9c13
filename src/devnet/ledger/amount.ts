const DECIMALS = 18;
const UNIT = 10n ** BigInt(DECIMALS);

/** A plain decimal with at most 18 places as a count of 10^-18. @returns null when the text is no such number */
export function parseAmount(text: string): bigint | null {
  const match = /^(\d{1,40})(?:\.(\d{1,18}))?$/.exec(text);
  if (!match) return null;
  return BigInt(match[1]!) * UNIT + BigInt((match[2] ?? '').padEnd(DECIMALS, '0'));
}

/** The shortest plain decimal: `0`, `1.5`, `-0.000000000000000001`. */
export function formatAmount(amount: bigint): string {
  if (amount < 0n) return `-${formatAmount(-amount)}`;
  const places = (amount % UNIT).toString().padStart(DECIMALS, '0').replace(/0+$/, '');
  return `${amount / UNIT}${places ? `.${places}` : ''}`;
}
