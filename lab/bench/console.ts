import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { openBrowser } from '../../test/support/browser.ts';
import { atEnd } from '../../test/support/cleanup.ts';
import { runProgram } from '../../test/support/program.ts';
import { type Figure, report } from './support/figures.ts';
import { type FrameWork, traceFrames } from './support/frame-trace.ts';

const options = readArguments(
  'npm run bench -- console [--seconds 12] [--json FILE]',
  { json: { type: 'string' }, seconds: { type: 'string', default: '12' } },
  ({ json, seconds }) => ({ json, seconds: readNumber('--seconds', seconds, 1, 600) })
);

const ACTOR = 'indexer/bitcoin/mainnet';
const VIEWS = { overview: '#/', actor: `#/actor/${ACTOR}`, timeline: '#/timeline' };
const WATCH_MS = options.seconds * 1_000;
const WARM_UP_MS = 4_000;
/** Until the ring of events is full. */
const FILL_MS = 6_000;

const FRAME = { reference: 0, unit: 'ms', compare: 'above', most: 8, aim: 4 } as const;
const CORE = { unit: '%', compare: 'above', most: 2, aim: 1 } as const;

/** Returns the share of a core that the front door used meanwhile, in percent. */
async function coreShare(frontDoor: ChildProcess, during: () => Promise<unknown>): Promise<number> {
  const ask = async () => {
    const answer = once(frontDoor, 'message') as Promise<[{ cpuMs: number }]>;
    frontDoor.send('cpu');
    return (await answer)[0].cpuMs;
  };
  const [before, began] = [await ask(), performance.now()];
  await during();
  return (100 * ((await ask()) - before)) / (performance.now() - began);
}

await runProgram(async () => {
  const frontDoor = fork(join(import.meta.dirname, '../../test/support/console-front-door.ts'), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc']
  });
  atEnd(async () => void frontDoor.kill('SIGKILL'));
  const [{ port }] = (await once(frontDoor, 'message')) as [{ port: number }];
  const url = `http://127.0.0.1:${port}/`;
  await sleep(FILL_MS);
  const unwatched = await coreShare(frontDoor, () => sleep(WATCH_MS));

  const figures: Figure[] = [];
  const browser = await openBrowser();
  const page = await browser.newPage();
  for (const [name, hash] of Object.entries(VIEWS)) {
    await page.goto(`${url}${hash}`);
    await page.reload();
    await sleep(WARM_UP_MS);
    let frames: FrameWork = { p95: 0, longest: 0, count: 0 };
    const watched = await coreShare(frontDoor, async () => {
      frames = await traceFrames(page, WATCH_MS);
    });
    figures.push(
      { ...FRAME, what: `${name}: main-thread work of a frame, p95 of ${frames.count} frames`, measured: frames.p95 },
      {
        ...CORE,
        what: `${name}: the server's share of a core; while nobody looks`,
        measured: watched,
        reference: unwatched
      }
    );
    console.error(`${name}: longest frame ${frames.longest.toFixed(1)} ms`);
  }
  report('console', figures, options.json);
});
