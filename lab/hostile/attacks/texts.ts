/** An ISSUE of so many units, all to its source. */
export function issue(tick: string, units = '1000', decimals = 0): string {
  return `ISSUE|0|${tick}|1000000000000|1000000|${decimals}|hostile|${units}`;
}

/** The fields of a DISPENSER that sells one unit of a token for coins. */
interface Sale {
  readonly tick: string;
  /** Decimal coins for a unit. */
  readonly price: string;
  readonly escrow?: string;
  readonly version?: string;
  readonly coin?: string;
  readonly at?: string;
  /** Seconds since 1970. */
  readonly expiration?: string;
}

export function sale({
  tick,
  price,
  escrow = '10',
  version = '0',
  coin = 'LTC',
  at = '',
  expiration = ''
}: Sale): string {
  return ['DISPENSER', version, coin, tick, '1', '', escrow, coin, '', price, at, '', '', '', expiration].join('|');
}
