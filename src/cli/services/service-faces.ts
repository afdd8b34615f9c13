import type { Checks } from '../../config/load.ts';
import { decoderChecks, decoderVariables } from '../../config/services/decoder.ts';
import { encoderChecks, encoderVariables } from '../../config/services/encoder.ts';
import { explorerChecks, explorerVariables } from '../../config/services/explorer.ts';
import { hubVariables } from '../../config/services/hub.ts';
import { indexerChecks, indexerVariables } from '../../config/services/indexer.ts';
import { minerChecks, minerVariables } from '../../config/services/miner.ts';
import { syncVariables } from '../../config/services/sync.ts';
import { trackerChecks, trackerVariables } from '../../config/services/tracker.ts';
import type { Environment, Variables } from '../../config/variables.ts';
import { PlatformError } from '../../errors.ts';
import { loadSettings } from '../settings.ts';

/** Variables that tell the address and key of a service. */
interface ServiceFace {
  readonly host: string;
  readonly port: string;
  readonly key: string;
  readonly variables: Variables;
  /** Rules of a service whose port may come from the hub. */
  readonly checks?: Pick<Checks<Variables>, 'networkOf' | 'networkFromHub'>;
}

const FACES: Readonly<Record<string, ServiceFace>> = {
  sync: { host: 'SYNC_API_HOST', port: 'SYNC_API_PORT', key: 'SYNC_API_KEY', variables: syncVariables },
  hub: { host: 'HUB_HOST', port: 'HUB_PORT', key: 'HUB_API_KEY', variables: hubVariables },
  decoder: {
    host: 'DECODER_API_HOST',
    port: 'DECODER_API_PORT',
    key: 'DECODER_API_KEY',
    variables: decoderVariables,
    checks: decoderChecks
  },
  indexer: {
    host: 'INDEXER_API_HOST',
    port: 'INDEXER_API_PORT',
    key: 'INDEXER_API_KEY',
    variables: indexerVariables,
    checks: indexerChecks
  },
  utxo: {
    host: 'UTXO_TRACKER_API_HOST',
    port: 'UTXO_TRACKER_API_PORT',
    key: 'UTXO_TRACKER_API_KEY',
    variables: trackerVariables,
    checks: trackerChecks
  },
  encoder: {
    host: 'ENCODER_API_HOST',
    port: 'ENCODER_API_PORT',
    key: 'ENCODER_API_KEY',
    variables: encoderVariables,
    checks: encoderChecks
  },
  explorer: {
    host: 'EXPLORER_API_HOST',
    port: 'EXPLORER_API_PORT',
    key: 'EXPLORER_API_KEY',
    variables: explorerVariables,
    checks: explorerChecks
  },
  miner: {
    host: 'REGTEST_MINER_API_HOST',
    port: 'REGTEST_MINER_API_PORT',
    key: 'MINER_API_KEY',
    variables: minerVariables,
    checks: minerChecks
  }
};

/** The variables of all services that tell addresses and keys. */
export const FACE_VARIABLES: Variables = Object.assign({}, ...Object.values(FACES).map(ownVariables));

/** Address and key of a service on this machine. */
interface ServiceAddress {
  readonly url: string;
  readonly apiKey: string | undefined;
}

/**
 * Returns the address of a service on this machine by its settings. Reads no other variables, so faults elsewhere do
 * not matter.
 *
 * @throws {PlatformError} COMMAND_INVALID, CONFIG_INVALID
 */
export async function findService(name: string, env: Environment): Promise<ServiceAddress> {
  const face = FACES[name];
  if (!face) {
    const known = Object.keys(FACES).join(', ');
    throw new PlatformError('COMMAND_INVALID', { reason: `--service ${name} must be one of ${known}, container` });
  }
  const { networkOf, networkFromHub } = face.checks ?? {};
  const declared = {
    name: 'status',
    variables: ownVariables(face),
    checks: { ...(networkOf && { networkOf }), ...(networkFromHub && { networkFromHub }) }
  };
  const quiet = { waits: false, log: { info: () => undefined, warn: () => undefined } };
  const values = (await loadSettings(declared, env, quiet)).values as Readonly<Record<string, unknown>>;
  const key = values[face.key] as string | readonly string[] | undefined;
  return {
    url: `http://${reachable(String(values[face.host] ?? '127.0.0.1'))}:${values[face.port]}`,
    apiKey: typeof key === 'string' ? key : key?.[0]
  };
}

/**
 * Returns the service that the first process of this container runs.
 *
 * @param commandLine of process 1, in the form of /proc
 * @throws {PlatformError} COMMAND_INVALID
 */
export function readContainerService(commandLine: string): string {
  const service = commandLine.split('\0').find((word) => Object.hasOwn(FACES, word));
  if (service !== undefined) return service;
  const reason = `--service container: the first process runs none of ${Object.keys(FACES).join(', ')}`;
  throw new PlatformError('COMMAND_INVALID', { reason });
}

function ownVariables({ host, port, key, variables }: ServiceFace): Variables {
  return Object.fromEntries([host, port, key].map((name) => [name, variables[name]!]));
}

/** Returns an address by which a listening service of this machine can be reached. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
