import { CHAIN_NETWORKS } from '../coin/chains.ts';
import { type HubClientConfig, hubClientVariables, hubsOf } from '../config/hub-client.ts';
import {
  type Checks,
  findText,
  type HubTexts,
  type LoadedConfig,
  loadConfig,
  type NetworkFromHub,
  readLocal,
  type Sources
} from '../config/load.ts';
import type { Environment, HubPlace, Variables } from '../config/variables.ts';
import { hasCode, PlatformError } from '../errors.ts';
import { createHubClient } from '../hub/client.ts';
import { ANY_NETWORK, fetchSettings, type HubQuestion } from '../hub/settings.ts';
import { createLogger, type Logger } from '../log.ts';

/** Limit for one request to a hub, in milliseconds. */
export const HUB_TIMEOUT_MS = 5_000;

/** A command's declaration of its settings. */
interface Declared<V extends Variables> {
  readonly name: string;
  readonly variables: V;
  readonly checks?: Checks<V>;
}

/** Ways to deal with a hub that does not answer. */
interface HubPatience {
  /** True: a start waits up to MAX_HUB_WAIT_MS while a required value is set nowhere else. False: one attempt. */
  readonly waits: boolean;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Reads the settings of a service: from the environment, else files of secrets, else the configuration file, else the hub,
 * else defaults.
 *
 * The hub is asked only for values that are set nowhere else: those of the service's network, which the hub may name,
 * or of any network when the service serves several.
 *
 * @throws {PlatformError} CONFIG_INVALID with every fault; HUB_UNREACHABLE
 */
export async function loadSettings<V extends Variables>(
  { name, variables, checks = {} }: Declared<V>,
  env: Environment,
  patience?: HubPatience
): Promise<LoadedConfig<V>> {
  const local = readLocal({ ...hubClientVariables, ...variables }, env);
  const textOf = (variable: string) => findText(variable, local).text;
  const own = checks.networkOf?.(textOf) ?? networkFromHub(checks.networkFromHub, textOf);
  const network = own ?? (checks.fromAnyNetwork ? ANY_NETWORK : undefined);
  const fromAny = checks.fromAnyNetwork?.(textOf) ?? [];
  const isAsked = (variable: string) => own !== undefined || fromAny.includes(variable);
  const places = Object.fromEntries(Object.entries(unsetPlaces(variables, local)).filter(([name]) => isAsked(name)));
  const parted = partedGroups(variables, local);
  const client = Object.keys(places).length + parted.length > 0 && network ? hubClientOf(local) : undefined;
  if (!network || !client) return loadConfig(variables, { ...local, ...checks });
  const asking = patience ?? { waits: true, log: createLogger(name) };
  for (const { sentence, isLacking } of parted) asking.log[isLacking ? 'warn' : 'info'](sentence);
  const asked = network !== ANY_NETWORK && 'service' in network ? namesOf(network) : [];
  const needed = [...asked, ...Object.keys(places).filter((variable) => variables[variable]?.required)];
  const { texts, reason } =
    Object.keys(places).length > 0 ? await askHub(client, { network, places, needed }, asking) : { texts: {} };
  const reasons = [...parted.map(({ sentence }) => sentence), reason].filter(Boolean).join('; ');
  return loadConfig(variables, { ...local, hub: { texts, reason: reasons, asked }, ...checks });
}

/** Returns the rule for taking the network from the hub, if no variable names the network. */
function networkFromHub(
  fromHub: NetworkFromHub | undefined,
  textOf: (variable: string) => string | undefined
): NetworkFromHub | undefined {
  return fromHub && namesOf(fromHub).every((variable) => textOf(variable) === undefined) ? fromHub : undefined;
}

const namesOf = ({ textsOf }: NetworkFromHub): readonly string[] => Object.keys(textsOf(CHAIN_NETWORKS[0]!));

/**
 * Returns the hub's places for variables that are set nowhere else. Once one variable of a group is set, the group has
 * none.
 */
export function unsetPlaces(variables: Variables, local: Sources): Readonly<Record<string, HubPlace>> {
  const groups = groupsOf(variables, local);
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, { hub }]) => {
      const isSet = findText(name, local).text !== undefined || groups.get(hub?.group)?.some(({ isSet }) => isSet);
      return hub && !isSet ? [[name, hub] as const] : [];
    })
  );
}

/**
 * Finds groups of which only some variables are set. @returns one sentence per group, and whether a required variable
 * is missing
 */
function partedGroups(variables: Variables, local: Sources) {
  return [...groupsOf(variables, local).values()].flatMap((group) => {
    const namesOf = (wanted: boolean) => group.filter(({ isSet }) => isSet === wanted).map(({ name }) => name);
    const set = namesOf(true);
    const unset = namesOf(false).filter((name) => !name.endsWith('_PORT')); // ports have defaults
    if (set.length === 0 || unset.length === 0) return [];
    const what = unset.join(', ');
    const isLacking = unset.some((name) => variables[name]!.required);
    const here = `${set.join(', ')} set here`;
    const sentence = isLacking
      ? `an address and its account must both come from the hub, or neither: ${here}, so set ${what} too`
      : `not taken from the hub, because ${here}: ${what}`;
    return [{ sentence, isLacking }];
  });
}

function groupsOf(variables: Variables, local: Sources) {
  const members = Object.entries(variables).flatMap(([name, { hub }]) =>
    hub?.group === undefined ? [] : [{ group: hub.group, name, isSet: findText(name, local).text !== undefined }]
  );
  return Map.groupBy(members, ({ group }): string | undefined => group);
}

/**
 * Returns the hub's client settings; undefined when no hub is named or they are wrong: that fault is reported with the
 * others.
 */
function hubClientOf(local: Sources): HubClientConfig | undefined {
  try {
    const { values } = loadConfig(hubClientVariables, local);
    return hubsOf(values).length > 0 ? values : undefined;
  } catch (caught) {
    if (hasCode(caught, 'CONFIG_INVALID')) return undefined;
    throw caught;
  }
}

async function askHub(
  client: HubClientConfig,
  question: Pick<HubQuestion, 'network' | 'places' | 'needed'>,
  { waits, log }: HubPatience
): Promise<HubTexts> {
  const hosts = hubsOf(client);
  const hub = createHubClient({ hosts, apiKey: client.HUB_API_KEY, timeoutMs: HUB_TIMEOUT_MS });
  const isAwaited = waits && question.needed.length > 0;
  const maxWaitMs = isAwaited ? client.MAX_HUB_WAIT_MS : 0;
  try {
    const { texts, problems } = await fetchSettings({ ...question, hub, maxWaitMs, warn: (line) => log.warn(line) });
    for (const problem of problems) log.warn(problem);
    if (Object.keys(texts).length > 0) log.info(`settings taken from the hub: ${Object.keys(texts).join(', ')}`);
    return { texts, reason: problems.join('; ') };
  } catch (caught) {
    const { detail } = PlatformError.from(caught, 'HUB_UNREACHABLE');
    if (isAwaited) {
      const reason = `${question.needed.join(', ')}: set neither in the environment nor in a file; ${detail['reason']}`;
      throw new PlatformError('HUB_UNREACHABLE', { reason }, { cause: caught });
    }
    log.warn(`starting without settings of the hub: ${detail['reason']}`);
    return { texts: {}, reason: String(detail['reason']) };
  }
}
