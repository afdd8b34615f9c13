/**
 * Reads where another service is: `tracker.local` or `https://tracker.local/path`.
 *
 * @returns a URL without a slash at its end
 * @throws {Error} naming the fault
 */
export function readServiceUrl(entry: string): string {
  const text = entry.includes('://') ? entry : `http://${entry}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new Error('must be a host, or an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw new Error('must have no user and no password: the service asks for none');
  if (url.search !== '' || url.hash !== '') throw new Error('must end with its path: no ? and no #');
  return withoutSlash(url);
}

/**
 * Returns where a service is, without a slash at its end; undefined where neither is set.
 *
 * @param place its URL; default 127.0.0.1
 * @param port counts where the URL names none
 */
export function serviceUrlOf(place: string | undefined, port: number | undefined): string | undefined {
  if (place === undefined && port === undefined) return undefined;
  const url = new URL(place ?? 'http://127.0.0.1');
  if (url.port === '' && port !== undefined) url.port = String(port);
  return withoutSlash(url);
}

const withoutSlash = ({ href }: URL) => href.replace(/\/+$/, '');
