import { PlatformError } from '../errors.ts';
import { readBounded } from '../wire/bounded.ts';
import { parseJson } from '../wire/json.ts';
import { type ConfigAnswer, type ConfigTree, mergeTrees, readConfigAnswer } from './config-tree.ts';
import { isWhole } from './delta.ts';

export type { ConfigTree } from './config-tree.ts';
export { type DiscoveredDatabase, type Discovery, discoverDatabases } from './discovery.ts';

export interface HubAddress {
  readonly host: string;
  readonly port: number;
}

export interface HubClientOptions {
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

/** What the last answer left: deltas count from its watermark, and only with the hub that gave it. */
interface Known extends ConfigAnswer {
  readonly hub: HubAddress;
  /** Deltas merged since the last answer in full. */
  readonly deltas: number;
}

const MOST_DELTAS = 9;

const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** A reader of the hub's configuration. @see the section "Hub configuration store" of the specification */
export function createHubClient({ hosts, apiKey, timeoutMs }: HubClientOptions): HubClient {
  let known: Known | undefined;

  const ask = async (hub: HubAddress, since: number | undefined, signal: AbortSignal) => {
    const params = since === undefined ? {} : { since_updated_at: since };
    const result = await call(hub, 'getallconfigs', params, { apiKey, signal });
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

/** One JSON-RPC call; the body is bounded and redirects are not followed. */
async function call(
  { host, port }: HubAddress,
  method: string,
  params: object,
  { apiKey, signal }: { readonly apiKey: string | undefined; readonly signal: AbortSignal }
): Promise<unknown> {
  const response = await fetch(`http://${host.includes(':') ? `[${host}]` : host}:${port}/`, {
    method: 'POST',
    redirect: 'error',
    headers: { 'content-type': 'application/json', ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal
  });
  const body = await readBounded(
    response.body ?? [],
    MAX_BODY_BYTES,
    () => new Error(`answered more than ${MAX_BODY_BYTES} bytes`)
  );
  if (!response.ok) throw new Error(`answered HTTP ${response.status}`);
  const reply: unknown = parseJson(body);
  if (typeof reply !== 'object' || reply === null) throw new Error('answered no JSON-RPC reply');
  if ('error' in reply && reply.error) throw new Error(`answered ${JSON.stringify(reply.error).slice(0, 200)}`);
  return 'result' in reply ? reply.result : undefined;
}

/** fetch hides the interesting part in its cause. */
function reasonOf(caught: unknown): string {
  if (caught instanceof PlatformError) return String(caught.detail['reason'] ?? caught.message);
  if (!(caught instanceof Error)) return String(caught);
  const cause = caught.cause instanceof Error ? caught.cause : caught;
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}
