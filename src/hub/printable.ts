/** Returns a name from outside, fit for one line of a log: at most 64 characters, all of them printable ASCII. */
export function printable(name: string): string {
  return JSON.stringify(name.slice(0, 64))
    .slice(1, -1)
    .replaceAll(/[^\x20-\x7e]/g, (odd) => `\\u${odd.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
