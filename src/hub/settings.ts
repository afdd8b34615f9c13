import { setTimeout as sleep } from 'node:timers/promises';
import type { ChainNetwork } from '../coin/chains.ts';
import { sameNetwork } from '../coin/find-network.ts';
import type { HubPlace } from '../config/variables.ts';
import { PlatformError } from '../errors.ts';
import type { HubClient } from './client.ts';
import type { ConfigTree, ModuleParams } from './config-tree.ts';

/** What the hub's configuration has for one service of a network. */
export interface HubSettings {
  /** By the name of the variable. Some are secrets. */
  readonly texts: Readonly<Record<string, string>>;
  /** One sentence for each module that is missing, or is there more than once. */
  readonly problems: readonly string[];
}

export interface HubQuestion {
  readonly hub: Pick<HubClient, 'fetchConfigs'>;
  readonly network: ChainNetwork;
  /** The variables that are set nowhere else, and where each is in the hub's configuration. */
  readonly places: Readonly<Record<string, HubPlace>>;
  /** Those of them that the service cannot start without. */
  readonly needed: readonly string[];
  /** For how long the hub is asked again while it does not answer or lacks what is needed; 0: it is asked once. */
  readonly maxWaitMs: number;
  /** Told why the hub is asked again. */
  readonly warn: (line: string) => void;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;

/**
 * Asks the hub until it has all that is needed, or for `maxWaitMs`; then what it has is all that comes of it.
 *
 * @throws {PlatformError} HUB_UNREACHABLE when the last answer did not come
 */
export async function fetchSettings(question: HubQuestion): Promise<HubSettings> {
  const { hub, network, places, needed, maxWaitMs, warn } = question;
  const deadline = performance.now() + maxWaitMs;
  for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS)) {
    const answer = await hub.fetchConfigs().then(
      (tree) => pickSettings(tree, network, places),
      (caught) => PlatformError.from(caught, 'HUB_UNREACHABLE')
    );
    const leftMs = deadline - performance.now();
    if (answer instanceof PlatformError) {
      if (leftMs < retryMs) throw answer;
      warn(`${answer.message}; asking again for ${Math.round(leftMs / 1000)} s`);
    } else {
      const lacking = needed.filter((variable) => answer.texts[variable] === undefined);
      if (lacking.length === 0 || leftMs < retryMs) return answer;
      warn(`the hub has no ${lacking.join(', ')} yet; asking again for ${Math.round(leftMs / 1000)} s`);
    }
    await sleep(retryMs);
  }
}

/**
 * What a configuration has of some variables: the first parameter of each that is set, in the module `<prefix>-<service>` of the
 * network, whatever the prefix. Of several modules of one service the first counts.
 */
export function pickSettings(
  tree: ConfigTree,
  network: ChainNetwork,
  places: Readonly<Record<string, HubPlace>>
): HubSettings {
  const modules = modulesOf(tree, network);
  const services = [...new Set(Object.values(places).map(({ service }) => service))];
  const found = new Map(
    services.map((service) => [service, modules.filter(([module]) => module.endsWith(`-${service}`))])
  );
  const texts = Object.entries(places).flatMap(([variable, { service, params }]) => {
    const [, values] = found.get(service)?.[0] ?? [];
    const text = params.map((param) => values?.[param]).find(Boolean);
    return text === undefined ? [] : [[variable, text]];
  });
  const problems = [...found].flatMap(([service, [first, ...others]]) =>
    first
      ? others.map(([module]) => `the hub's ${module} of ${network.name} is not used: ${first[0]} comes before it`)
      : [`the hub names no module <prefix>-${service} of ${network.name}`]
  );
  return { texts: Object.fromEntries(texts) as Record<string, string>, problems };
}

/** The modules of a network, however the hub spells it. */
function modulesOf(tree: ConfigTree, wanted: ChainNetwork): [module: string, params: ModuleParams][] {
  return Object.entries(tree).flatMap(([chain, networks]) =>
    Object.entries(networks).flatMap(([network, modules]) =>
      sameNetwork({ chain, network }, wanted) ? Object.entries(modules) : []
    )
  );
}
