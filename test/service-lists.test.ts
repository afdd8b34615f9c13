import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UP_SERVICES } from '../src/config/up.ts';
import { knownFacts } from '../src/hub/store/known-values.ts';
import { platformView } from '../src/service/platform/platform-view.ts';
import { loadServices, SERVICE_COMMANDS } from '../src/services.ts';
import { boxOf } from '../src/wire/state/pipeline.ts';
import type { ServiceLook } from '../src/wire/state/service-look.ts';

/** Lists of services that stand below `src/services.ts`, and so cannot read it. */

/** Services that `up` does not run: an edge needs a NATS server. */
const NOT_BY_UP = ['edge'];

test('a hub counts each service of the program under its own name', () => {
  const modules = SERVICE_COMMANDS.map((command) => ({ module: command, running: true }));
  const kept = knownFacts({ event: 'heartbeat', modules } as Parameters<typeof knownFacts>[0]).modules;
  assert.deepEqual(
    kept.map(({ module }) => module),
    SERVICE_COMMANDS
  );
});

test('`up` runs every service but an edge, and a replica beside them', () => {
  const named: readonly string[] = UP_SERVICES;
  assert.deepEqual(named.toSorted(), [...SERVICE_COMMANDS.filter((one) => !NOT_BY_UP.includes(one)), 'replica'].sort());
});

test('the rows of the platform have a place for every service: only what is no service comes last', async () => {
  const lookOf = (service: string, role = service): ServiceLook => {
    const pipeline = { nodes: [boxOf(null, role, service)], edges: [] };
    return { instance: service, service, version: '1', mode: null, console: '/', readiness: 'ready', pipeline };
  };
  const names = (await loadServices()).map(({ name }) => name);
  const looks = names.map((name) => lookOf(name, name === 'sync' ? 'sync server' : name));
  const others = looks.map((look) => ({ url: `http://${look.service}:1`, look, fault: null }));
  const { rows } = platformView(lookOf(' stranger'), others);
  assert.deepEqual([rows.length, rows.at(-1)?.service], [names.length + 1, ' stranger']);
});
