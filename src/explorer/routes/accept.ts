const JSON_TYPE = 'application/json';
const CSV_TYPE = 'text/csv';
/** As far as a caller that is served needs; what is behind them is not looked at. */
const MAX_RANGES = 20;

interface MediaRange {
  readonly type: string;
  readonly quality: number;
  readonly place: number;
}

/** Returns whether a caller wants CSV rather than JSON, which it gets when it wants neither or both alike. @see RFC 9110 section 12.5.1 */
export function prefersCsv(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const ranges = accept.split(',', MAX_RANGES).map(readRange);
  const [csv, json] = [rangeOf(ranges, CSV_TYPE), rangeOf(ranges, JSON_TYPE)];
  if (csv === undefined || csv.quality === 0) return false;
  if (json === undefined || csv.quality !== json.quality) return csv.quality > (json?.quality ?? 0);
  if (csv.type !== CSV_TYPE) return false;
  return json.type !== JSON_TYPE || csv.place < json.place;
}

function readRange(text: string, place: number): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '');
  const quality = weight === undefined ? 1 : /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0;
  return { type, quality, place };
}

/** Finds the range that says most of a type. */
function rangeOf(ranges: readonly MediaRange[], type: string): MediaRange | undefined {
  for (const named of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const range = ranges.find((each) => each.type === named);
    if (range) return range;
  }
  return undefined;
}
