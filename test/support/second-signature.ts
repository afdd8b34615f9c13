/** Order of the group. @see RFC 8032, section 5.1 */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

/** The same signature with S + L: it satisfies the same equation. */
export function secondForm(sig: Uint8Array): Buffer {
  const s = BigInt(`0x${Buffer.from(sig.subarray(32)).reverse().toString('hex')}`) + L;
  const bytes = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
  return Buffer.concat([sig.subarray(0, 32), bytes]);
}
