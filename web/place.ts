/** Returns the path of the view in the page's address, such as `#/timeline`. */
export const pathOfPlace = (): string => location.hash.split('?')[0] || '#/';

/** Parameters of the view in the page's address: an instant, a filter, a block. */
export const placeParameters = (): URLSearchParams => new URLSearchParams(location.hash.split('?')[1] ?? '');

/** Browsers refuse hundreds of changes of the address in some seconds, such as those of a pointer that drags. */
const PAUSE_MS = 300;
let due: ReturnType<typeof setTimeout> | undefined;

/** Notes in the address what a view shows, so that a link leads to the same; empty values are left out. */
export function notePlace(values: Readonly<Record<string, string | null>>): void {
  const given = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1]);
  const path = pathOfPlace();
  const place = given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
  clearTimeout(due);
  due = setTimeout(() => {
    if (path === pathOfPlace() && place !== (location.hash || '#/')) history.replaceState(null, '', place);
  }, PAUSE_MS);
}
