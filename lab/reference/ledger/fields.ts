import type { Test } from './terms.ts';

export const E18 = 10n ** 18n;

export const COINS = ['BTC', 'LTC', 'DOGE'];

export const FIATS = 'AUD BRL CAD CHF CNY EUR GBP INR JPY KRW MXN USD'.split(' ');

/** Units of the gas token that a key needs for each. */
export const CAPABILITIES: Record<string, bigint> = {
  price: 1_000n,
  cross_chain: 5_000n,
  oracle_publish: 500n,
  attestation: 1_000n,
  full_node: 2_000n
};

export const DAY = 86_400;

export const ALIASES: Record<string, string> = {
  TRANSFER: 'SEND',
  ADDR: 'ADDRESS',
  DROP: 'AIRDROP',
  CAST: 'BROADCAST',
  MSG: 'MESSAGE'
};

export function readAmount(text: string, places: number): bigint | null {
  const match = /^([0-9]{1,40})(?:\.([0-9]+))?$/.exec(text);
  if (!match || (match[2] ?? '').length > places) return null;
  return BigInt(match[1]!) * E18 + BigInt((match[2] ?? '').padEnd(18, '0'));
}

export function writeAmount(amount: bigint): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(19, '0');
  const text = `${digits.slice(0, -18)}.${digits.slice(-18)}`.replace(/0+$/, '').replace(/\.$/, '');
  return amount < 0n ? `-${text}` : text;
}

export function readWhole(text: string): number | null {
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : null;
}

/** Cut down to places. */
export function cut(amount: bigint, places: number): bigint {
  const step = 10n ** BigInt(18 - places);
  return (amount / step) * step;
}

/** A quotient rounded half up to places; both terms are counts of the same unit. */
export function divide(dividend: bigint, divisor: bigint, places: number): bigint {
  const step = 10n ** BigInt(18 - places);
  const [whole, rest] = [dividend / (divisor * step), dividend % (divisor * step)];
  return (rest * 2n >= divisor * step ? whole + 1n : whole) * step;
}

export const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

export const min = (a: bigint, b: bigint) => (a < b ? a : b);

export const points = (text: string) => [...text].length;

export function named(names: string, fields: readonly string[]): (name: string) => string {
  const places = names.split(' ');
  return (name) => (places.includes(name) ? (fields[places.indexOf(name)] ?? '') : '');
}

export function firstOf(tests: readonly Test[]): string | null {
  for (const test of tests) {
    const refusal = test();
    if (refusal !== false) return refusal;
  }
  return null;
}

export function memoTests(memo: string): Test[] {
  return [
    () => memo.includes('|') && 'MEMO (pipe)',
    () => memo.includes(';') && 'MEMO (semicolon)',
    () => points(memo) > 250 && 'MEMO (length)'
  ];
}

/** `ACTION|VERSION|FIELD|…`; the format is -1 where the version is none. */
export function parse(text: string): { name: string; format: number; fields: string[]; rest: string } {
  const [first = '', ...given] = text.split('|');
  const written = first.trim().toUpperCase();
  const name = ALIASES[written] ?? written;
  const version = (given[0] ?? '').trim();
  if (['ISSUE', 'MINT', 'SEND'].includes(name) && (version.length > 2 || !/^[0-9]*$/.test(version)))
    return { name, format: 0, fields: given.map((field) => field.trim()), rest: given.join('|') };
  const digits = version.replace(/['"]/g, '');
  const format = digits === '' ? 0 : /^[0-9]{1,3}$/.test(digits) && Number(digits) < 256 ? Number(digits) : -1;
  return { name, format, fields: given.slice(1).map((field) => field.trim()), rest: given.slice(1).join('|') };
}

/** Groups of fields; the last is filled up. */
export function groups(fields: readonly string[], size: number): string[][] {
  const made: string[][] = [];
  for (let at = 0; at < fields.length; at += size)
    made.push(Array.from({ length: size }, (_, place) => fields[at + place] ?? ''));
  return made;
}

/** Groups, each with the memo of all: the last field when it is one too many. */
export function groupsAndMemo(fields: readonly string[], size: number): string[][] {
  const isOdd = fields.length % size === 1;
  const memo = isOdd ? fields.at(-1)! : '';
  return groups(isOdd ? fields.slice(0, -1) : fields, size).map((group) => [...group, memo]);
}

/** A payment that no dispenser has seen. */
export const NONE_ASKED = { after: null, dispensers: 0, metEmpty: false } as const;
