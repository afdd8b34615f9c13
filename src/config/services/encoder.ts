import { hubClientVariables } from '../hub-client.ts';
import { findNodeFaults, findNodeNetwork, nodeNetworkFromHub, nodeVariables } from '../node.ts';
import { magicVariable, profileVariable } from '../profile.ts';
import { serviceVariables } from '../service.ts';
import { integer, parsed, port, type Values } from '../variables.ts';

/** Every variable of the encoder. @see the section "Shared configuration" of the specification */
export const encoderVariables = {
  ...nodeVariables,
  ...serviceVariables('ENCODER', { service: 'encoder', usualPort: 3003 }),
  ENCODER_RATE_LIMIT_RPM: integer({
    default: 60,
    min: 1,
    doc: 'requests per minute and address; each call of a batch counts'
  }),
  ENCODER_MAX_FEE_RATE: integer({
    min: 1,
    max: 1_000_000_000,
    doc: 'satoshis per virtual byte above which a fee is taken for a mistake; when absent 3,000, on Dogecoin 1,000,000'
  }),
  ENCODER_RESERVATION_MS: integer({
    default: 300_000,
    min: 1_000,
    max: 86_400_000,
    doc: 'ms for which coins that the encoder chose for a transaction are given to no other call of the caller'
  }),
  ENCODER_MAX_RESERVATIONS: integer({
    default: 100_000,
    min: 1,
    doc: 'coins that may be reserved at once; without ENCODER_API_KEY 2,000 for each address'
  }),
  UTXO_TRACKER_URL: parsed(readTrackerUrl, {
    doc: 'host or URL of a UTXO tracker of the same network, asked for coins in place of the node: milliseconds for an address instead of seconds',
    example: 'http://127.0.0.1:3001',
    hub: { service: 'utxo-tracker', params: ['host'], beside: 'db_host' }
  }),
  UTXO_TRACKER_API_PORT: port({
    doc: 'its port, where UTXO_TRACKER_URL names none; alone it is that of a tracker at 127.0.0.1',
    example: '3001',
    hub: { service: 'utxo-tracker', params: ['service_port'], beside: 'db_host' }
  }),
  DUST_AMOUNT: integer({
    default: 0,
    max: 1_000_000_000_000,
    doc: 'satoshis that an output of a transaction has at least, beside what nodes ask for its form'
  }),
  ...hubClientVariables,
  PLATFORM_PROFILE: profileVariable,
  PAYLOAD_MAGIC: magicVariable
} as const;

/** `tracker.local` or `https://tracker.local/path`, as a URL without a slash at its end. */
function readTrackerUrl(entry: string): string {
  const text = entry.includes('://') ? entry : `http://${entry}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new Error('must be a host, or an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw new Error('must have no user and no password: a tracker asks for none');
  if (url.search !== '' || url.hash !== '') throw new Error('must end with its path: no ? and no #');
  return withoutSlash(url);
}

const withoutSlash = ({ href }: URL) => href.replace(/\/+$/, '');

export type EncoderConfig = Values<typeof encoderVariables>;

/** Where the tracker is, without a slash at its end; undefined where there is none. */
export function trackerUrlOf({
  UTXO_TRACKER_URL,
  UTXO_TRACKER_API_PORT
}: Pick<EncoderConfig, 'UTXO_TRACKER_URL' | 'UTXO_TRACKER_API_PORT'>): string | undefined {
  if (UTXO_TRACKER_URL === undefined && UTXO_TRACKER_API_PORT === undefined) return undefined;
  const url = new URL(UTXO_TRACKER_URL ?? 'http://127.0.0.1');
  if (url.port === '' && UTXO_TRACKER_API_PORT !== undefined) url.port = String(UTXO_TRACKER_API_PORT);
  return withoutSlash(url);
}

export const encoderChecks = {
  prefixes: ['ENCODER_'],
  findFaults: findNodeFaults,
  networkOf: findNodeNetwork,
  networkFromHub: nodeNetworkFromHub('encoder')
} as const;
