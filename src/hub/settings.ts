import { setTimeout as sleep } from 'node:timers/promises';
import { CHAIN_NETWORKS, type ChainNetwork } from '../coin/chains.ts';
import { sameNetwork } from '../coin/find-network.ts';
import type { NetworkFromHub } from '../config/load.ts';
import { nearestWithin } from '../config/nearest.ts';
import type { HubPlace } from '../config/variables.ts';
import { PlatformError } from '../errors.ts';
import type { HubClient } from './client.ts';
import { printable } from './printable.ts';
import { type ConfigTree, MASK, type ModuleParams } from './store/config-tree.ts';

/** The hub's configuration for one service of a network. */
interface HubSettings {
  /** By the name of the variable. Some are secrets. */
  readonly texts: Readonly<Record<string, string>>;
  /** One sentence for each module that is missing or there more than once, and each text that cannot be used. */
  readonly problems: readonly string[];
  /** Whether the hub names several networks, and no variable says which one is meant: asking again is of no use. */
  readonly isAmbiguous?: boolean;
}

/** Stands for a service that serves several networks. */
export const ANY_NETWORK = 'any';

export interface HubQuestion {
  readonly hub: Pick<HubClient, 'fetchConfigs'>;
  /** Network of the settings: a given one, a way to learn it from the hub, or all networks with the values that they agree on. */
  readonly network: ChainNetwork | NetworkFromHub | typeof ANY_NETWORK;
  /** The variables that are set nowhere else, and where each is in the hub's configuration. */
  readonly places: Readonly<Record<string, HubPlace>>;
  /** The variables that the service cannot start without. */
  readonly needed: readonly string[];
  /** Time for which the hub is asked again while it does not answer or lacks what is needed; 0: it is asked once. */
  readonly maxWaitMs: number;
  /** Called with the reason when the hub is asked again. */
  readonly warn: (line: string) => void;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;
/** Edits of a service's name that was probably meant. */
const MOST_EDITS = 1;
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
      (tree) => settingsIn(tree, network, places, needed),
      (caught) => PlatformError.from(caught, 'HUB_UNREACHABLE')
    );
    const leftMs = deadline - performance.now();
    if (answer instanceof PlatformError) {
      if (leftMs < retryMs) throw answer;
      warn(`${answer.message}; needed: ${needed.join(', ')}; asking again for ${Math.round(leftMs / 1000)} s`);
    } else {
      const lacking = needed.filter((variable) => answer.texts[variable] === undefined);
      if (lacking.length === 0 || leftMs < retryMs || answer.isAmbiguous) return answer;
      const why = answer.problems.length > 0 ? ` (${answer.problems.join('; ')})` : '';
      warn(`the hub has no ${lacking.join(', ')} yet${why}; asking again for ${Math.round(leftMs / 1000)} s`);
    }
    await sleep(retryMs);
  }
}

function settingsIn(
  tree: ConfigTree,
  asked: HubQuestion['network'],
  places: HubQuestion['places'],
  needed: readonly string[]
): HubSettings {
  if (asked === ANY_NETWORK) return pickAgreed(tree, places, needed);
  if (!('service' in asked)) return pickSettings(tree, asked, places, needed);
  const found = CHAIN_NETWORKS.filter((network) => modulesOf(tree, network).some(isOf(asked.service)));
  const [network, ...others] = found;
  if (network && others.length === 0) {
    const { texts, problems } = pickSettings(tree, network, places, needed);
    return { texts: { ...asked.textsOf(network), ...texts }, problems };
  }
  const modules = `<prefix>-${asked.service}`;
  if (!network) return { texts: {}, problems: [`the hub names no module ${modules}`] };
  const names = found.map(({ name }) => name).join(', ');
  return { texts: {}, problems: [`the hub names modules ${modules} of ${names}`], isAmbiguous: true };
}

/** Returns the values of variables that all networks of a configuration agree on. */
function pickAgreed(tree: ConfigTree, places: HubQuestion['places'], needed: readonly string[]): HubSettings {
  const found = CHAIN_NETWORKS.map((network) => pickSettings(tree, network, places, []));
  const texts: Record<string, string> = {};
  const problems = found.flatMap((settings) => settings.problems);
  for (const [variable, { service }] of Object.entries(places)) {
    const [text, ...others] = new Set(found.flatMap((settings) => settings.texts[variable] ?? []));
    if (text !== undefined && others.length === 0) texts[variable] = text;
    else if (text !== undefined)
      problems.push(`modules <prefix>-${service} of the hub differ in ${variable}: set it, or none of them counts`);
    else if (needed.includes(variable)) problems.push(`the hub names no module <prefix>-${service} of any network`);
  }
  return { texts, problems };
}

/**
 * Returns a configuration's values of variables: the first parameter of each that is set, in the module `<prefix>-<service>` of the
 * network, whatever the prefix. Of several modules of one service the first counts.
 *
 * @param needed the variables whose module is missed where there is none; default: all
 */
export function pickSettings(
  tree: ConfigTree,
  network: ChainNetwork,
  places: Readonly<Record<string, HubPlace>>,
  needed: readonly string[] = Object.keys(places)
): HubSettings {
  const modules = modulesOf(tree, network);
  const problems: string[] = [];
  const texts: Record<string, string> = {};
  for (const service of new Set(Object.values(places).map((place) => place.service))) {
    const [first, ...others] = modules.filter(isOf(service));
    const isMissed = needed.some((variable) => places[variable]?.service === service);
    if (!first && isMissed) {
      const meant = modules.find(([module]) => nearestWithin(service, [suffixOf(module)], MOST_EDITS))?.[0];
      const other = meant === undefined ? '' : `; its module ${printable(meant)} may be misspelt`;
      problems.push(`the hub names no module <prefix>-${service} of ${network.name}${other}`);
    }
    if (first && others.length > 0)
      problems.push(
        `the hub names ${others.length + 1} modules <prefix>-${service} of ${network.name}: ${printable(first[0])} counts`
      );
    for (const [variable, place] of Object.entries(places)) {
      const isThere = place.beside === undefined || first?.[1][place.beside];
      const value = place.params.map((param) => first?.[1][param]).find(Boolean) ?? (first && place.present);
      const text = place.service === service && isThere && value;
      if (text === MASK) problems.push(`the hub tells ${variable} to callers with its key alone: set HUB_API_KEY`);
      else if (text && isUsable(text)) texts[variable] = text;
      else if (text) problems.push(`what the hub has for ${variable} is too long, or holds control characters`);
    }
  }
  return { texts, problems };
}

const isOf =
  (service: string) =>
  ([module]: readonly [string, ModuleParams]): boolean =>
    module.endsWith(`-${service}`);

/** Returns a module's name without its prefix. */
const suffixOf = (module: string) => module.slice(module.indexOf('-') + 1);

/** Returns whether a text is fit for one line. */
function isUsable(text: string): boolean {
  return text.length <= MAX_TEXT_LENGTH && !/\p{Cc}/u.test(text);
}

/** Finds the modules of a network, however the hub spells it. */
function modulesOf(tree: ConfigTree, wanted: ChainNetwork): [module: string, params: ModuleParams][] {
  return Object.entries(tree).flatMap(([chain, networks]) =>
    Object.entries(networks).flatMap(([network, modules]) =>
      sameNetwork({ chain, network }, wanted) ? Object.entries(modules) : []
    )
  );
}
