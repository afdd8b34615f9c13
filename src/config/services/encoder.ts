import { hubClientVariables } from '../hub-client.ts';
import { findNodeFaults, findNodeNetwork, nodeNetworkFromHub, nodeVariables } from '../node.ts';
import { magicVariable, profileVariable } from '../profile.ts';
import { serviceVariables } from '../service.ts';
import { placeVariables } from '../service-url.ts';
import { integer, type Values } from '../variables.ts';

/** All variables of the encoder. @see the section "Shared configuration" of the specification */
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
    doc: 'satoshis per virtual byte above which a fee is refused as a mistake; unset: 3,000, on Dogecoin 1,000,000'
  }),
  ENCODER_RESERVATION_MS: integer({
    default: 300_000,
    min: 1_000,
    max: 86_400_000,
    doc: 'ms for which coins that the encoder chose are reserved: further calls of the caller do not get them'
  }),
  ENCODER_MAX_RESERVATIONS: integer({
    default: 100_000,
    min: 1,
    doc: 'most reserved coins; without ENCODER_API_KEY at most 2,000 of them for each address'
  }),
  ...placeVariables('UTXO_TRACKER', {
    of: 'a UTXO tracker of the same network, which finds coins in place of the node: in milliseconds instead of seconds',
    service: 'utxo-tracker',
    usualPort: 3001
  }),
  DUST_AMOUNT: integer({
    default: 0,
    max: 1_000_000_000_000,
    doc: 'least satoshis of an output; the dust limits of nodes count too'
  }),
  ...hubClientVariables,
  PLATFORM_PROFILE: profileVariable,
  PAYLOAD_MAGIC: magicVariable
} as const;

/** Values of `encoderVariables`. */
export type EncoderConfig = Values<typeof encoderVariables>;

/** Rules that concern several variables of the encoder. */
export const encoderChecks = {
  prefixes: ['ENCODER_'],
  findFaults: findNodeFaults,
  networkOf: findNodeNetwork,
  networkFromHub: nodeNetworkFromHub('encoder')
} as const;
