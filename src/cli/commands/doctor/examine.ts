import { NodeChain } from '../../../coin/node/node-chain.ts';
import { NodeRpc } from '../../../coin/node/node-rpc.ts';
import { type HubClientConfig, hubsOf } from '../../../config/hub-client.ts';
import type { LoadedConfig } from '../../../config/load.ts';
import type { Environment, Values, Variables } from '../../../config/variables.ts';
import { loadSettings } from '../../../discovery/settings.ts';
import { hasCode, PlatformError } from '../../../errors.ts';
import { createHubClient } from '../../../hub/client.ts';
import type { Service } from '../../../service/define.ts';
import { checkAlive } from '../../../service/life/probe.ts';
import type { Needs, NodeNeed } from '../../../service/needs.ts';
import { examineDatabase } from './database.ts';
import { type Finding, fault, faultOf, ok, unknown } from './finding.ts';
import { examineDirectory, examinePort } from './place.ts';

const PATIENCE_MS = 5_000;
const QUIET = { waits: false, log: { info: () => undefined, warn: () => undefined } };

/** Examines what a service needs by its settings, one thing after another. Starts and changes nothing. */
export async function examineService(service: Service, env: Environment): Promise<readonly Finding[]> {
  const { command: name, variables, checks, place } = service;
  let loaded: LoadedConfig<Variables>;
  try {
    loaded = await loadSettings({ name, variables, checks }, env, QUIET);
  } catch (caught) {
    if (!hasCode(caught, 'CONFIG_INVALID')) throw caught;
    const reasons = String(caught.detail['reason']).split('\n');
    return reasons.map((reason) => fault('configuration', reason, caught.hint));
  }
  const { values } = loaded;
  const host = String(values[place.host] ?? '127.0.0.1');
  return [
    ok('configuration', 'all variables can be read'),
    ...loaded.warnings.map((warning) => fault('configuration', warning, 'correct or unset it')),
    await examinePort(place.port, host, Number(values[place.port])),
    ...(await examineHub(values as unknown as HubClientConfig)),
    ...(await examineNeeds(service, values))
  ];
}

async function examineNeeds(service: Service, values: Values<Variables>): Promise<readonly Finding[]> {
  let needs: Needs;
  try {
    needs = (await service.needs?.(values)) ?? {};
  } catch (caught) {
    return [unknown('databases', PlatformError.from(caught).message, 'start the hub, which names them')];
  }
  const { databases = [], node, directories = [], services = [], problems = [] } = needs;
  const found: Finding[] = problems.map((problem) => fault('hub', problem, 'correct it with updateconfig of the hub'));
  for (const database of databases) found.push(...(await examineDatabase(database)));
  if (node) found.push(await examineNode(node));
  for (const { variable, place } of directories) found.push(...(await examineDirectory(variable, place)));
  for (const { variable, place } of services) found.push(await examineOther(variable, place));
  return found;
}

async function examineHub(config: HubClientConfig): Promise<readonly Finding[]> {
  const hosts = hubsOf(config);
  if (hosts.length === 0) return [];
  const check = `hub ${hosts.map(({ host, port }) => `${host}:${port}`).join(', ')}`;
  try {
    await createHubClient({ hosts, apiKey: config.HUB_API_KEY, timeoutMs: PATIENCE_MS }).fetchConfigs();
    return [ok(check, 'it answers')];
  } catch (caught) {
    return [faultOf(check, caught)];
  }
}

/** Examines a coin node as the service does at its start. */
async function examineNode({ network, rpc: options, needs }: NodeNeed): Promise<Finding> {
  const rpc = new NodeRpc({ ...options, retries: 0, timeoutMs: PATIENCE_MS });
  const check = `coin node ${options.url}`;
  try {
    const { height } = await new NodeChain(rpc).verify(network, needs);
    return ok(check, `${network.name}, at block ${height}${needs.hasIndex ? ', with an index of transactions' : ''}`);
  } catch (caught) {
    return faultOf(check, caught);
  } finally {
    await rpc.close();
  }
}

async function examineOther(variable: string, url: string): Promise<Finding> {
  const check = `${variable}=${url}`;
  return await checkAlive({ url, timeoutMs: PATIENCE_MS }).then(
    () => ok(check, 'it answers'),
    (caught: unknown) => fault(check, PlatformError.from(caught).message, 'start that service, or correct the address')
  );
}
