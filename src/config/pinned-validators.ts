import type { PinnedValidator } from '../consensus/quorum.ts';

const MAX_VALIDATORS = 1_000;
const MAX_WEIGHT = 1e12;
const SHAPE = 'must be a JSON list of {"pubkey": 64 hex digits, "weight": a whole number above 0, "source": a name}';

/** Reads `[{"pubkey", "weight", "source"}]`. @throws {Error} whose message is the reason */
export function readPinnedValidators(value: unknown): readonly PinnedValidator[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_VALIDATORS) throw new Error(SHAPE);
  const validators = value.map((entry: unknown, index) => {
    const { pubkey, weight, source } = Object(entry) as Record<string, unknown>;
    const fits =
      typeof pubkey === 'string' &&
      /^[0-9a-f]{64}$/i.test(pubkey) &&
      Number.isSafeInteger(weight) &&
      Number(weight) > 0 &&
      Number(weight) <= MAX_WEIGHT &&
      typeof source === 'string' &&
      source !== '';
    if (!fits) throw new Error(`${SHAPE}; entry ${index + 1} does not fit`);
    return { pubkey: pubkey.toLowerCase(), weight: Number(weight), source };
  });
  const twice = validators.find(({ pubkey }, index) => validators.findIndex((each) => each.pubkey === pubkey) < index);
  if (twice) throw new Error(`must name each pubkey once; ${twice.pubkey} is there twice`);
  return validators;
}
