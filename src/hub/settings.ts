import { setTimeout as sleep } from 'node:timers/promises';
import type { ChainNetwork } from '../coin/chains.ts';
import { sameNetwork } from '../coin/find-network.ts';
import type { HubPlace } from '../config/variables.ts';
import { PlatformError } from '../errors.ts';
import type { HubClient } from './client.ts';
import type { ConfigTree, ModuleParams } from './config-tree.ts';
import { printable } from './printable.ts';

/** What the hub's configuration has for one service of a network. */
export interface HubSettings {
  /** By the name of the variable. Some are secrets. */
  readonly texts: Readonly<Record<string, string>>;
  /** One sentence for each module that is missing or there more than once, and each text that cannot be used. */
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
/** Our own hub takes no longer value. */
const MAX_TEXT_LENGTH = 1024;

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
  const problems: string[] = [];
  const texts: Record<string, string> = {};
  for (const service of new Set(Object.values(places).map((place) => place.service))) {
    const [first, ...others] = modules.filter(([module]) => module.endsWith(`-${service}`));
    if (!first) problems.push(`the hub names no module <prefix>-${service} of ${network.name}`);
    if (first && others.length > 0)
      problems.push(
        `the hub names ${others.length + 1} modules <prefix>-${service} of ${network.name}: ${printable(first[0])} counts`
      );
    for (const [variable, place] of Object.entries(places)) {
      const text = place.service === service && place.params.map((param) => first?.[1][param]).find(Boolean);
      if (text && isUsable(text)) texts[variable] = text;
      else if (text) problems.push(`what the hub has for ${variable} is too long, or holds control characters`);
    }
  }
  return { texts, problems };
}

/** Fit for one line. */
function isUsable(text: string): boolean {
  return text.length <= MAX_TEXT_LENGTH && !/\p{Cc}/u.test(text);
}

/** The modules of a network, however the hub spells it. */
function modulesOf(tree: ConfigTree, wanted: ChainNetwork): [module: string, params: ModuleParams][] {
  return Object.entries(tree).flatMap(([chain, networks]) =>
    Object.entries(networks).flatMap(([network, modules]) =>
      sameNetwork({ chain, network }, wanted) ? Object.entries(modules) : []
    )
  );
}
