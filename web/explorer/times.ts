/** Units of time in seconds, the largest first. */
const UNITS = [
  ['years', 31_557_600],
  ['months', 2_629_800],
  ['days', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1]
] as const;
const EVERY_MS = 5_000;

/** Returns how long ago a time was, in the largest unit that it has one of. */
function ageOf(timeMs: number, nowMs: number): string {
  const seconds = Math.round((nowMs - timeMs) / 1_000);
  const away = Math.abs(seconds);
  if (away < 2) return 'just now';
  const [unit, length] = UNITS.find(([, least]) => away >= least) ?? ['s', 1];
  const count = Math.floor(away / length);
  const span = `${count} ${count === 1 ? unit.replace(/s$/, '') || unit : unit}`;
  return seconds < 0 ? `in ${span}` : `${span} ago`;
}

/** Shows the times of a part of the page as ages; the absolute ones are in their titles. */
export function tellTimes(part: ParentNode): void {
  const now = Date.now();
  for (const time of part.querySelectorAll('time')) {
    const at = Date.parse(time.dateTime);
    if (Number.isNaN(at)) continue;
    const text = ageOf(at, now);
    if (time.textContent !== text) time.textContent = text;
  }
}

/** Keeps the times of the page as ages. */
export function keepTimes(): void {
  tellTimes(document);
  setInterval(() => tellTimes(document), EVERY_MS);
}
