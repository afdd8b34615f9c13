import { setTimeout as sleep } from 'node:timers/promises';
import { ROUND_TIMEOUT_MS } from '../../src/hub/federation/consensus/rules.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { type Figure, median, p99, report } from './support/figures.ts';
import { call, joined, openMesh, placeInSet, startAgain, until } from './support/hub-mesh.ts';
import { chooseParts } from './support/parts.ts';
import { cpuMs, Helper } from './support/processes/helper.ts';
import type { HttpLoad, HttpLoadAsk } from './support/processes/http-load.ts';

const HUBS = 4;
const WRITES = 500;
const [CALLERS, BY_CALLERS] = [64, 4_000];
const KILLS = 5;
const ENTRIES = 100_000;
const PARAMS = ['host', 'port', 'name', 'user', 'pass', 'db_host', 'db_port', 'service_port'];
const EDITS = 1_000;
const [LARGE_SET, IDLE_MS, SETTLE_MS] = [7, 60_000, 10_000];

const configOf = (module: string, host = 'h') => ({ config: { LTC: { regtest: { [module]: { host } } } } });

/** Writes at a hub that does not lead, one after the other, then by many callers. */
async function writes(): Promise<Figure[]> {
  const hubs = await openMesh(HUBS);
  const { leader } = await placeInSet(hubs[0]!);
  const hub = hubs.find(({ key }) => key !== leader)!;
  for (let number = 0; number < WRITES / 5; number++) await call(hub, 'updateconfig', configOf(`warm-${number}`));
  const each: number[] = [];
  for (let number = 0; number < WRITES; number++) {
    const began = performance.now();
    await call(hub, 'updateconfig', configOf(`w-${number}`));
    each.push(performance.now() - began);
  }
  const load = new Helper<HttpLoadAsk>('http-load.ts');
  const requests = Array.from({ length: BY_CALLERS }, (_, number) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'updateconfig', params: configOf(`c-${number}`) });
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    return `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  });
  const ask = { type: 'load', port: hub.port, requests, connections: CALLERS, count: BY_CALLERS } as const;
  const { wallMs } = await load.ask<HttpLoad>(ask);
  load.end();
  for (const { process } of hubs) process.end();
  console.log(`${Math.round((1_000 * BY_CALLERS) / wallMs)} writes a second, ${CALLERS} callers`);
  const what = `a write, committed by ${HUBS} hubs and answered`;
  const common = { reference: 0, unit: 'ms', compare: 'above' } as const;
  return [
    { ...common, what: `${what}, p50`, measured: median(each), most: 25, aim: 12 },
    { ...common, what: `${what}, p99`, measured: p99(each), most: 80, aim: 40 },
    { ...common, what: `a write of ${CALLERS} callers`, measured: wallMs / BY_CALLERS, most: 1_000 / 200, aim: 1 }
  ];
}

/** The time from the death of the leader to the next write that is answered. */
async function leader(): Promise<Figure[]> {
  const hubs = await openMesh(HUBS);
  const times: number[] = [];
  for (let run = 0; run < KILLS; run++) {
    const { leader: key } = await placeInSet(hubs[0]!);
    const killed = hubs.find((hub) => hub.key === key)!;
    const other = hubs.find((hub) => hub !== killed)!;
    await call(other, 'updateconfig', configOf(`before-${run}`));
    killed.process.end();
    const began = performance.now();
    await call(other, 'updateconfig', configOf(`after-${run}`));
    times.push(performance.now() - began);
    await startAgain(killed);
    await joined(hubs);
    // The timeout is longer after a change of the view, until some batches are decided.
    for (let number = 0; number < 20; number++) await call(other, 'updateconfig', configOf(`more-${run}-${number}`));
  }
  for (const { process } of hubs) process.end();
  const what = 'the leader is killed: the next write, against the timeout of a round';
  const figure = { what, measured: median(times), reference: ROUND_TIMEOUT_MS, unit: 'ms', compare: 'times' } as const;
  return [{ ...figure, most: 1.5, aim: 1.1 }];
}

/** A hub that comes with an empty database, from the start of its process until it has all. */
async function joining(): Promise<Figure[]> {
  const hubs = await openMesh(HUBS);
  for (let first = 0; first < ENTRIES; first += EDITS) {
    const modules = Array.from({ length: EDITS / PARAMS.length }, (_, at) => [
      `m${first / PARAMS.length + at}`,
      Object.fromEntries(PARAMS.map((param) => [param, '1']))
    ]);
    await call(hubs[0]!, 'updateconfig', { config: { LTC: { regtest: Object.fromEntries(modules) } } });
  }
  const last = hubs.at(-1)!;
  const { seq } = await placeInSet(hubs[0]!);
  last.process.end();
  const database = await createDatabase('hub');
  const began = performance.now();
  await startAgain(last, database);
  await until('it has all', async () => (await placeInSet(last)).seq >= seq);
  const measured = (performance.now() - began) / 1_000;
  for (const { process } of hubs) process.end();
  const what = `a hub comes with an empty database to ${ENTRIES} entries: all are there`;
  return [{ what, measured, reference: 0, unit: 's', compare: 'above', most: 10, aim: 4 }];
}

/** CPU time of a hub of a larger set that has nothing to do. What a program takes that only wakes as often is printed beside it. */
async function idle(): Promise<Figure[]> {
  const hubs = await openMesh(LARGE_SET);
  const programs = hubs.map(() => new Helper('idle-threads.ts'));
  await sleep(SETTLE_MS);
  const used = (all: readonly Helper<never>[]) => all.map(({ child }) => cpuMs(child.pid!));
  const both = () => [used(hubs.map(({ process }) => process)), used(programs)] as const;
  const [before, began] = [both(), performance.now()];
  await sleep(IDLE_MS);
  const wallMs = performance.now() - began;
  const [measured, reference] = both().map((cpus, which) =>
    median(cpus.map((cpu, at) => (100 * (cpu - before[which]![at]!)) / wallMs))
  ) as [number, number];
  for (const helper of [...hubs.map(({ process }) => process), ...programs]) helper.end();
  console.log(`a program that only wakes as often: ${reference.toFixed(2)} % of a core`);
  const what = `a hub of ${LARGE_SET} with nothing to do, part of a core`;
  return [{ what, measured, reference: 0, unit: '%', compare: 'above', most: 1, aim: 0.3 }];
}

const PARTS = { writes, leader, joining, idle };

const { json, parts } = readArguments(
  `npm run bench -- federation [--only ${Object.keys(PARTS).join()}] [--json FILE]`,
  { json: { type: 'string' }, only: { type: 'string' } },
  ({ json, only }) => ({ json, parts: chooseParts(only, PARTS) })
);

await runProgram(async () => {
  const figures: Figure[] = [];
  for (const run of parts) figures.push(...(await run()));
  report('federation', figures, json);
});
