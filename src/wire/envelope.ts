import { endOfText } from './json.ts';

/** Bytes read of a message's beginning; the members that identify its block stand before its rows. */
const HEAD_BYTES = 64 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENS: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSES: ReadonlySet<number> = new Set([0x7d, 0x5d]);

/**
 * Returns the plain members of a JSON object (texts, numbers, true, false, null) as JSON: what is nested is left out,
 * and never parsed. Only the first 64 KiB are looked at; an object that goes on is taken as far as its last whole
 * member there.
 *
 * @returns what JSON.parse reads as an object, or refuses: bytes that are no object make none
 */
export function envelopeOf(bytes: Buffer): string {
  const head = bytes.subarray(0, HEAD_BYTES);
  const members: string[] = [];
  let depth = 0;
  let start = 0;
  let isNested = false;
  for (let at = 0; at < head.length; at++) {
    const byte = head[at]!;
    if (byte === QUOTE) at = endOfText(head, at);
    else if (OPENS.has(byte)) {
      depth += 1;
      if (depth === 1) start = at + 1;
      else isNested = true;
    } else if (CLOSES.has(byte) || byte === COMMA) {
      if (byte !== COMMA) depth -= 1;
      if (depth > (byte === COMMA ? 1 : 0)) continue;
      if (!isNested) members.push(head.toString('utf8', start, at));
      isNested = false;
      start = at + 1;
      if (depth <= 0) break;
    }
  }
  return `{${members.filter((member) => member.trim() !== '').join(',')}}`;
}
