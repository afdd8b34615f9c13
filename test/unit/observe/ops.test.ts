import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { loadCommand } from '../../../src/cli/commands.ts';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { explorerVariables } from '../../../src/config/services/explorer.ts';
import { findSyncFaults, syncVariables } from '../../../src/config/services/sync.ts';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { ALERTS_FILE, promtool, readRules } from '../../support/prometheus.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const known = new Set(Object.keys(syncVariables));

/** Checks the variables by which a service would be started, with secrets and an operator's own values filled in. */
function startsWith(env: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(env)) assert.ok(known.has(name), `${name} is no variable`);
  loadConfig(syncVariables, { env, findFaults: findSyncFaults });
}

test('alert rules: Prometheus takes them, and each waits for its patience and then fires', () => {
  const checked = promtool('check', 'rules', ALERTS_FILE);
  assert.equal(checked.code, 0, checked.output);
  assert.match(checked.output, /21 rules found/);
  const runbook = read('docs/operating/runbook.md');
  for (const { alert, labels, annotations } of readRules().groups.flatMap(({ rules }) => rules)) {
    assert.ok(annotations.summary && annotations.remedy, alert);
    assert.match(labels.severity, /^(?:warning|critical)$/, alert);
    assert.equal(annotations.runbook_url, `docs/operating/runbook.md#${alert.toLowerCase()}`);
    assert.ok(runbook.includes(`\n## ${alert}\n`), alert);
  }

  const directory = mkdtempSync(join(tmpdir(), 'platform-alerts-'));
  const file = join(directory, 'alerts.test.yml');
  writeFileSync(file, read('test/fixtures/alerts.test.yml').replace('ALERTS', ALERTS_FILE));
  const judged = promtool('test', 'rules', file);
  rmSync(directory, { recursive: true });
  assert.equal(judged.code, 0, judged.output);
});

test('the compose file starts a client with variables that there are', () => {
  const { services, volumes } = parse(read('ops/docker-compose.yml')) as {
    services: Record<
      string,
      { environment: Record<string, string>; volumes: string[]; command: string[]; ports?: string[] }
    >;
    volumes: Record<string, unknown>;
  };
  const given: Record<string, string> = { SYNC_SOURCES: 'http://sync1:3006', HUB_PORT: '10000' };
  const env = Object.entries(services['sync']!.environment).map(([name, value]) => {
    const [, variable] = /^\$\{(\w+)/.exec(String(value)) ?? [];
    return [name, variable ? (given[variable] ?? 'x') : String(value)];
  });
  startsWith(Object.fromEntries(env));
  assert.deepEqual(services['sync']!.command, ['sync']);
  for (const volume of services['sync']!.volumes) assert.ok(Object.hasOwn(volumes, volume.split(':')[0]!), volume);
  assert.ok(read('ops/grants.sql').length > 0);
});

/** Rights of a container of a compose file. */
interface Confined {
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly pids_limit?: number;
  readonly mem_limit?: string;
  readonly privileged?: boolean;
  readonly cap_add?: readonly string[];
  readonly user?: string;
  readonly network_mode?: string;
}

for (const file of ['ops/docker-compose.yml', 'ops/docker-compose.platform.yml', 'ops/docker-compose.federation.yml'])
  test(`the containers of ${file} have no rights that they do not need, and bounds of memory and processes`, () => {
    const { services } = parse(read(file), { merge: true }) as { services: Readonly<Record<string, Confined>> };
    for (const [name, service] of Object.entries(services)) {
      const { security_opt, pids_limit, mem_limit, read_only, cap_drop } = service;
      assert.deepEqual(security_opt, ['no-new-privileges:true'], name);
      assert.ok(Number(pids_limit) > 0 && /^\d+g$/.test(String(mem_limit)), name);
      for (const given of ['privileged', 'cap_add', 'network_mode', 'user'] as const)
        assert.equal(service[given], undefined, `${name}: ${given}`);
      // MariaDB changes its user at its start, and writes where it likes.
      if (!/^mariadb\d?$/.test(name)) assert.deepEqual([read_only, cap_drop], [true, ['ALL']], name);
    }
  });

interface ComposedService {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
}

test('the compose file of a whole network starts each service with variables that there are, and publishes the ports of the specification', async () => {
  const { services } = parse(read('ops/docker-compose.platform.yml'), { merge: true }) as {
    services: Readonly<Record<string, ComposedService>>;
  };
  const { mariadb, ...ownServices } = services;
  assert.ok(mariadb);
  assert.deepEqual(Object.keys(ownServices), ['hub', 'decoder', 'indexer', 'explorer', 'utxo', 'encoder']);
  for (const [name, { command, environment, ports = [] }] of Object.entries(ownServices)) {
    const { variables, checks } = await loadCommand(command[0]!);
    for (const variable of Object.keys(environment))
      assert.ok(Object.hasOwn(variables!, variable), `${name}: ${variable}`);
    const env = Object.entries(environment).map(([variable, value]) => [variable, filledIn(String(value))]);
    loadConfig(variables!, { env: Object.fromEntries(env), ...checks });
    const usual = Object.entries(variables!).flatMap(([variable, { fallback }]) =>
      /^(HUB|.+_API|EXPLORER_HTTPS)_PORT$/.test(variable) ? [String(fallback)] : []
    );
    for (const port of ports) assert.ok(usual.includes(port.split(':').at(-1)!), `${name} publishes ${port}`);
  }
  assert.deepEqual(ownServices['explorer']!.ports, ['18080:8080', '18081:8081']);
  for (const [name, { environment }] of Object.entries(ownServices))
    for (const [variable, user] of Object.entries(environment))
      if (variable.endsWith('_DB_USER'))
        assert.equal(user, name === 'utxo' ? 'tracker' : name, `${name} has its own account`);
});

test('the compose file of a set starts four hubs of it, each with its own key, address and database', async () => {
  const { services, volumes } = parse(read('ops/docker-compose.federation.yml'), { merge: true }) as {
    services: Readonly<Record<string, ComposedService>>;
    volumes: Readonly<Record<string, unknown>>;
  };
  const places = [1, 2, 3, 4];
  const names = places.flatMap((n) => [`hub${n}`, `mariadb${n}`]).toSorted();
  assert.deepEqual(Object.keys(services).toSorted(), names);
  assert.deepEqual(
    Object.keys(volumes),
    places.map((n) => `mariadb${n}`)
  );
  const directory = mkdtempSync(join(tmpdir(), 'platform-compose-'));
  const file = join(directory, 'federation.json');
  const seedOf = (n: number) => `0${n}`.repeat(32);
  const members = places.map((n) => ({ pubkey: signingKey(seedOf(n)).pubkey, addr: `hub${n}:10001` }));
  writeFileSync(file, JSON.stringify({ quorum: 'byzantine', members }));
  const { variables, checks } = await loadCommand('hub');
  for (const n of places) {
    const { environment, ports, command } = services[`hub${n}`]!;
    const { HUB_DB_HOST: host, P2P_VALIDATOR_ADDR: addr, SIGNING_PRIVKEY_HEX: seed } = environment;
    assert.deepEqual(
      [command, host, addr, ports],
      [['hub'], `mariadb${n}`, `hub${n}:10001`, [`127.0.0.1:100${n}0:10000`]]
    );
    assert.match(String(seed), new RegExp(`^\\$\\{HUB${n}_SEED:`));
    const own = { HUB_FEDERATION: file, SIGNING_PRIVKEY_HEX: seedOf(n), ORACLE_EPOCH_START: '1767225600000' };
    const given = Object.entries(environment).map(([name, value]): [string, string] => [name, filledIn(String(value))]);
    for (const [name] of given) assert.ok(Object.hasOwn(variables!, name), name);
    loadConfig(variables!, { env: { ...Object.fromEntries(given), ...own }, ...checks });
  }
  rmSync(directory, { recursive: true });
});

test('the accounts of the compose file have the rights of docs/operating/grants.md, in which each service is run', () => {
  const script = `docker_process_sql() { cat; }; . ${join(ROOT, 'ops/platform-grants.sh')}`;
  const env = { DB_PASS: "a'b", PATH: process.env['PATH'] };
  const { stdout, status, stderr } = spawnSync('bash', ['-eu', '-c', script], { encoding: 'utf8', env });
  assert.equal(status, 0, stderr);
  const made = stdout.split('\n').filter((line) => line.startsWith('GRANT'));
  const users = new Set(
    [...stdout.matchAll(/^CREATE USER '(\w+)'@'%' IDENTIFIED BY 'a''b';$/gm)].map(([, user]) => user)
  );
  assert.deepEqual([...users].sort(), ['decoder', 'explorer', 'hub', 'indexer', 'tracker']);
  const documented = [...read('docs/operating/grants.md').matchAll(/^GRANT .* TO '(\w+)'@.*$/gm)]
    .filter(([, user]) => users.has(user!))
    .map(([line]) => line.replace("@'127.0.0.1'", "@'%'"));
  const sorted = (lines: readonly string[]) =>
    lines
      .map((line) => line.replace(/GRANT (.*) ON/, (_, rights: string) => `GRANT ${rights.split(', ').sort()} ON`))
      .sort();
  assert.deepEqual(sorted(made), sorted(documented));
});

const NARROW = { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

interface Deployed {
  readonly enableServiceLinks: boolean;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: { readonly runAsNonRoot: boolean; readonly seccompProfile: { readonly type: string } };
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly env: readonly { readonly name: string; readonly value: string }[];
    readonly ports: readonly { readonly containerPort: number }[];
    readonly livenessProbe: { readonly httpGet: { readonly path: string } };
    readonly readinessProbe: { readonly httpGet: { readonly path: string } };
    readonly securityContext: object;
  }[];
}

test('the Kubernetes manifests of hub and explorer set variables that there are, and give their pods no more than they need', async () => {
  const documents = parseAllDocuments(read('ops/kubernetes-services.yaml')).map((document) => document.toJS());
  const pods = documents.flatMap(({ kind, spec }) => (kind === 'Deployment' ? [spec.template.spec as Deployed] : []));
  assert.deepEqual(
    pods.map(({ containers }) => containers[0]!.args),
    [['hub'], ['explorer']]
  );
  const secrets: Readonly<Record<string, string>> = { HUB_DB_PASS: 'x', INDEXER_DB_PASS: 'x', DECODER_DB_PASS: 'x' };
  for (const { enableServiceLinks, automountServiceAccountToken, securityContext, containers } of pods) {
    assert.deepEqual([enableServiceLinks, automountServiceAccountToken], [false, false]);
    assert.deepEqual([securityContext.runAsNonRoot, securityContext.seccompProfile.type], [true, 'RuntimeDefault']);
    const [container] = containers;
    assert.deepEqual(container!.securityContext, NARROW);
    const { variables, checks } = await loadCommand(container!.args[0]!);
    for (const { name } of container!.env) assert.ok(Object.hasOwn(variables!, name), name);
    const own = Object.fromEntries(container!.env.map(({ name, value }) => [name, value]));
    const needed = Object.entries(secrets).filter(([name]) => Object.hasOwn(variables!, name));
    const { values } = loadConfig(variables!, { env: { ...own, ...Object.fromEntries(needed) }, ...checks });
    const { HUB_PORT, EXPLORER_API_PORT } = values as Readonly<Record<string, unknown>>;
    assert.equal(container!.ports[0]!.containerPort, container!.args[0] === 'hub' ? HUB_PORT : EXPLORER_API_PORT);
    assert.equal(container!.livenessProbe.httpGet.path, '/livez');
    assert.equal(container!.readinessProbe.httpGet.path, '/readyz');
  }
});

test('the Kubernetes manifests of NATS and edges: users, ports and probes fit, and the autoscaler reads a metric that there is', async () => {
  const documents = parseAllDocuments(read('ops/kubernetes-edges.yaml')).map((document) => document.toJS());
  const [nats, edge] = documents.flatMap(({ spec }) => (spec.template ? [spec.template.spec as Deployed] : []));
  for (const { enableServiceLinks, automountServiceAccountToken, securityContext, containers } of [nats!, edge!]) {
    assert.deepEqual([enableServiceLinks, automountServiceAccountToken], [false, false]);
    assert.deepEqual([securityContext.runAsNonRoot, securityContext.seccompProfile.type], [true, 'RuntimeDefault']);
    assert.deepEqual(containers[0]!.securityContext, NARROW);
  }
  const { args, env, ports, livenessProbe, readinessProbe } = edge!.containers[0]!;
  const { variables, checks } = await loadCommand(args[0]!);
  const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const { values } = loadConfig(variables!, { env: { ...own, EDGE_API_KEY: 'x' }, ...checks });
  assert.equal(ports[0]!.containerPort, (values as { EDGE_API_PORT?: number }).EDGE_API_PORT);
  assert.deepEqual([livenessProbe.httpGet.path, readinessProbe.httpGet.path], ['/livez', '/readyz']);
  const routes = nats!.containers[0]!.args.find((word) => word.startsWith('--routes='));
  assert.deepEqual(
    routes?.slice('--routes='.length).split(','),
    own['SYNC_NATS_URL']
      ?.split(',')
      .map((url) => url.replace('4222', '6222').replace('//', '//routes:$(PLATFORM_ROUTES)@'))
  );
  assert.ok(nats!.containers[0]!.args.includes('--cluster=nats://routes:$(PLATFORM_ROUTES)@0.0.0.0:6222'));
  const [, ...users] =
    /^(?:.*--from-literal=(PLATFORM_\w+)=.*--from-literal=(PLATFORM_\w+)=.*\n.*--from-literal=(PLATFORM_\w+)=.*)$/m.exec(
      read('ops/kubernetes-edges.yaml')
    )!;
  assert.deepEqual(
    users,
    [...read('ops/nats/nats-server.conf').matchAll(/nkey: \$(\w+)/g)].map(([, name]) => name)
  );
  const { metrics } = documents.find(({ kind }) => kind === 'HorizontalPodAutoscaler').spec;
  assert.ok(read('ops/dashboard.json').includes(metrics[0].pods.metric.name));
});

/** A value of a compose file as it is with what its comments ask an operator to set. */
function filledIn(value: string): string {
  return value.replaceAll(
    /\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g,
    (_, name: string, usual?: string) => usual ?? OPERATORS[name] ?? 'x'
  );
}

const OPERATORS: Readonly<Record<string, string>> = { NODE_URL: '10.0.0.5' };

test('the Kubernetes example starts a server with variables that there are, and probes paths that there are', () => {
  const { spec } = parse(read('ops/kubernetes.yaml')) as {
    spec: {
      template: {
        spec: Omit<Deployed, 'containers'> & {
          containers: {
            securityContext: object;
            args: string[];
            env: { name: string; value: string }[];
            ports: { containerPort: number }[];
            livenessProbe: { httpGet: { path: string } };
            readinessProbe: { httpGet: { path: string } };
          }[];
        };
      };
    };
  };
  const [container] = spec.template.spec.containers;
  startsWith(Object.fromEntries(container!.env.map(({ name, value }) => [name, value])));
  const { enableServiceLinks, automountServiceAccountToken, securityContext } = spec.template.spec;
  assert.deepEqual([enableServiceLinks, automountServiceAccountToken], [false, false]);
  assert.deepEqual([securityContext.runAsNonRoot, securityContext.seccompProfile.type], [true, 'RuntimeDefault']);
  assert.deepEqual(container!.securityContext, NARROW);
  assert.equal(container!.ports[0]!.containerPort, syncVariables.SYNC_API_PORT.fallback);
  assert.equal(container!.livenessProbe.httpGet.path, '/livez');
  assert.equal(container!.readinessProbe.httpGet.path, '/readyz');
});

interface Workload {
  readonly kind: string;
  readonly metadata: { readonly annotations?: object };
  readonly spec: { readonly template: { readonly metadata: { readonly annotations?: object } } };
}

test('no manifest asks for a scrape without a key, and Prometheus takes the job that each names instead', () => {
  for (const file of ['ops/kubernetes.yaml', 'ops/kubernetes-services.yaml', 'ops/kubernetes-edges.yaml']) {
    const text = read(file);
    const documents = parseAllDocuments(text).map((document) => document.toJS() as Workload);
    const places = documents.flatMap(({ metadata, spec }) => [
      metadata,
      ...(spec.template ? [spec.template.metadata] : [])
    ]);
    // All of them have a key, which an annotation cannot carry: their /metrics would be 401.
    for (const { annotations = {} } of places)
      assert.deepEqual(
        Object.keys(annotations).filter((name) => name.startsWith('prometheus.io/')),
        [],
        file
      );
    const [, job] = /give the scrape job one, `(.+)`\.$/m.exec(text) ?? [];
    const directory = mkdtempSync(join(tmpdir(), 'scrape-'));
    const config = join(directory, 'prometheus.yml');
    const credentials = join(directory, 'key');
    writeFileSync(credentials, 'k');
    const named = (job ?? assert.fail(file)).replace('/etc/prometheus/key', credentials);
    writeFileSync(config, `scrape_configs: [{ job_name: services, ${named} }]\n`);
    const checked = promtool('check', 'config', config);
    rmSync(directory, { recursive: true });
    assert.equal(checked.code, 0, checked.output);
  }
});

for (const name of ['platform-node.service', 'platform-node@.service'])
  test(`systemd judges ${name} at 3.0 or better`, () => {
    const file = join(ROOT, 'ops', name);
    const judged = spawnSync('systemd-analyze', ['security', '--offline=yes', '--threshold=30', file], {
      encoding: 'utf8'
    });
    assert.equal(judged.status, 0, judged.stdout + judged.stderr);
    assert.match(read(`ops/${name}`), /^Restart=on-failure$/m);
  });

test('each service that keeps a state has it where the unit, the image and its volume do', () => {
  const places = (text: string) => [...text.matchAll(/\b(\w+_STATE_DIR)=(\S+)/g)].map(([, name]) => name).sort();
  const all = Object.keys({ ...syncVariables, ...explorerVariables })
    .filter((name) => name.endsWith('_STATE_DIR'))
    .sort();
  assert.deepEqual(places(read('ops/platform-node@.service')), all);
  assert.deepEqual(places(read('Dockerfile')), all);
});

test('the systemd unit is one, and does not restart what would end the same way', () => {
  const unit = read('ops/platform-node.service');
  const [, codes = ''] = /^RestartPreventExitStatus=(.+)$/m.exec(unit) ?? [];
  assert.deepEqual(codes.split(' ').map(Number), Object.values(EXIT));
  for (const [, name = ''] of unit.matchAll(/^Environment=(\w+)=/gm)) assert.ok(known.has(name), name);

  const directory = mkdtempSync(join(tmpdir(), 'platform-unit-'));
  const file = join(directory, 'platform-node.service');
  writeFileSync(file, unit.replace('/opt/platform-node/platform-node', join(ROOT, 'scripts/platform-node')));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
  rmSync(directory, { recursive: true });
  const findings = stderr.split('\n').filter((line) => line.includes('platform-node.service'));
  assert.deepEqual(findings, []);
  assert.equal(status, 0, stderr);
});
