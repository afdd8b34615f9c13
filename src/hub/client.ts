import { PlatformError } from '../errors.ts';
import { callMethod, reasonOf } from '../service/rpc/call-method.ts';
import { isWhole } from './delta.ts';
import { type ConfigAnswer, type ConfigTree, mergeTrees, readConfigAnswer } from './store/config-tree.ts';

export { type DiscoveredDatabase, type Discovery, discoverDatabases } from './discovery.ts';
export type { ConfigTree } from './store/config-tree.ts';

interface HubAddress {
  readonly host: string;
  readonly port: number;
}

interface HubClientOptions {
  /** Tried in order, until one answers. */
  readonly hosts: readonly HubAddress[];
  readonly apiKey?: string | undefined;
  /** Patience with one hub. */
  readonly timeoutMs: number;
}

export interface HubClient {
  /**
   * The whole configuration as it is now. In full at first, every tenth time, and whenever the changes do not add up;
   * otherwise only what changed is transferred.
   *
   * @throws {PlatformError} HUB_UNREACHABLE saying of each hub where it is and why it did not serve
   */
  fetchConfigs(signal?: AbortSignal): Promise<ConfigTree>;
}

/** State after the last answer: deltas count from its watermark, and only with the hub that gave it. */
interface Known extends ConfigAnswer {
  readonly hub: HubAddress;
  /** Deltas merged since the last answer in full. */
  readonly deltas: number;
}

const MOST_DELTAS = 9;

const urlOf = ({ host, port }: HubAddress): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;

/** Creates a reader of the hub's configuration. @see the section "Hub configuration store" of the specification */
export function createHubClient({ hosts, apiKey, timeoutMs }: HubClientOptions): HubClient {
  let known: Known | undefined;

  const ask = async (hub: HubAddress, since: number | undefined, signal: AbortSignal) => {
    const params = since === undefined ? {} : { since_updated_at: since };
    const result = await callMethod(urlOf(hub), 'getallconfigs', params, { apiKey, signal });
    return readConfigAnswer(result);
  };

  const refresh = async (hub: HubAddress, signal: AbortSignal): Promise<Known> => {
    const base = known?.hub === hub && known.deltas < MOST_DELTAS ? known : undefined;
    const answer = await ask(hub, base?.watermark, signal);
    if (base?.watermark === undefined || answer.watermark === undefined) return { ...answer, hub, deltas: 0 };
    const configs = mergeTrees(base.configs, answer.configs);
    if (!isWhole(base, answer, configs)) return { ...(await ask(hub, undefined, signal)), hub, deltas: 0 };
    return { ...answer, configs, hub, deltas: base.deltas + 1 };
  };

  return {
    async fetchConfigs(signal) {
      const reasons: string[] = [];
      for (const hub of hosts) {
        const patience = AbortSignal.timeout(timeoutMs);
        try {
          known = await refresh(hub, signal ? AbortSignal.any([signal, patience]) : patience);
          return known.configs;
        } catch (caught) {
          reasons.push(
            `${hub.host}:${hub.port} ${patience.aborted ? `did not answer within ${timeoutMs} ms` : reasonOf(caught)}`
          );
        }
        if (signal?.aborted) break;
      }
      throw new PlatformError('HUB_UNREACHABLE', {
        reason: `error connecting to the hub: ${reasons.join('; ') || 'no hub is named'}`
      });
    }
  };
}
