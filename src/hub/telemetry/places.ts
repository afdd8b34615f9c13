import { type CityResponse, open } from 'maxmind';
import { PlatformError } from '../../errors.ts';

/** Place of an address, as far as it is kept. */
export interface Place {
  /** ISO 3166-1, such as DE. */
  readonly country: string | null;
  /** ISO 3166-2, such as DE-BW. */
  readonly region: string | null;
}

/** Finds the place of an address, or of an IPv6 prefix. */
export type PlaceOf = (address: string) => Place;

const NOWHERE: Place = { country: null, region: null };
const COUNTRY = /^[A-Z]{2}$/;
const REGION = /^[A-Z0-9]{1,3}$/;

/**
 * Reads the operator's database of addresses into memory.
 *
 * @param file in MaxMind's format; undefined: no place is known
 * @throws {PlatformError} CONFIG_INVALID when it cannot be read
 */
export async function openPlaces(file: string | undefined): Promise<PlaceOf> {
  if (file === undefined) return () => NOWHERE;
  try {
    const reader = await open<CityResponse>(file);
    const hasLong = reader.metadata.ipVersion === 6; // else the first half of a long address would be looked up as a short one
    return (address) =>
      address.includes(':') && !hasLong ? NOWHERE : placeIn(reader.get(address.split('/')[0] ?? ''));
  } catch (cause) {
    const reason = `TELEMETRY_GEO_DB=${file} cannot be used: ${(cause as Error).message}`;
    throw new PlatformError('CONFIG_INVALID', { reason }, { cause });
  }
}

/** Returns the place of an answer. The database is the operator's choice: a code that does not fit its column counts as unknown. */
function placeIn(found: CityResponse | null): Place {
  const country = found?.country?.iso_code;
  if (country === undefined || !COUNTRY.test(country)) return NOWHERE;
  const part = found?.subdivisions?.[0]?.iso_code;
  return { country, region: part !== undefined && REGION.test(part) ? `${country}-${part}` : null };
}
