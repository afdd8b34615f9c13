import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, median, p99 } from '../figures.ts';
import type { AnswerCrowdAsk, Crowd } from '../processes/answer-crowd.ts';
import { Helper, memoryMb } from '../processes/helper.ts';

const LOOK_MS = 20_000;
const PAUSE_MS = 20;
const SETTLE_MS = 2_000;
/** Connections that ask, before anything is measured, what a crowd will ask. */
const ACQUAINTED = 10;

interface Look {
  readonly delays: readonly number[];
  /** Statuses that were none of success. */
  readonly refused: readonly number[];
  readonly rssMb: number;
}

/** A service, and how another caller of it asks. */
export interface Asked {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  readonly ask: () => Promise<Response>;
  /** p99 of that caller: times that without crowds, or milliseconds where those are so few that they compare nothing. */
  readonly most: Pick<Figure, 'compare' | 'most' | 'aim'>;
}

/**
 * Returns what one stranger's crowds, by their names, cost another caller of a service, and its memory. The service has answered each
 * of the questions to ten connections before: what it grows by once, such as compiled code, is not the crowd's.
 */
export async function measureGreed(asked: Asked, crowds: Readonly<Record<string, Crowd>>): Promise<Figure[]> {
  console.log(`| answers of ${asked.name} | honest p50 ms | p99 | refused | RSS MB |\n|---|---|---|---|---|`);
  for (const crowd of Object.values(crowds))
    await beside({ ...crowd, connections: ACQUAINTED, taking: 'at once' }, asked);
  const calm = await look(asked);
  print('nobody else', calm);
  const figures: Figure[] = [];
  for (const [what, crowd] of Object.entries(crowds)) {
    const seen = await beside(crowd, asked);
    print(what, seen);
    figures.push(...figuresOf(what, { calm, seen, connections: crowd.connections, most: asked.most }));
  }
  return figures;
}

/** Looks while a crowd asks. */
async function beside(crowd: Crowd, asked: Asked): Promise<Look> {
  const helper = new Helper<AnswerCrowdAsk>('answer-crowd.ts').giveWay();
  await helper.ask({ type: 'begin', port: asked.port, crowd });
  await sleep(SETTLE_MS);
  const seen = await look(asked);
  await helper.ask({ type: 'end' });
  helper.end();
  return seen;
}

async function look({ pid, ask }: Asked): Promise<Look> {
  const [delays, refused]: [number[], number[]] = [[], []];
  let rssMb = 0;
  for (const until = performance.now() + LOOK_MS; performance.now() < until; await sleep(PAUSE_MS)) {
    const began = performance.now();
    const response = await ask();
    await response.text();
    if (response.status === 200) delays.push(performance.now() - began);
    else refused.push(response.status);
    rssMb = Math.max(rssMb, memoryMb(pid, 'VmRSS'));
  }
  return { delays, refused, rssMb };
}

function print(what: string, { delays, refused, rssMb }: Look): void {
  console.log(
    `| ${[what, median(delays).toFixed(1), p99(delays).toFixed(1), refused.length, Math.round(rssMb)].join(' | ')} |`
  );
}

function figuresOf(
  what: string,
  {
    calm,
    seen,
    connections,
    most
  }: { readonly calm: Look; readonly seen: Look; readonly connections: number; readonly most: Asked['most'] }
): Figure[] {
  const grown = Math.max(0, seen.rssMb - calm.rssMb);
  return [
    {
      what: `${what}: p99 of another caller`,
      measured: p99(seen.delays),
      reference: p99(calm.delays),
      unit: 'ms',
      ...most
    },
    {
      what: `${what}: RSS of the service, against before`,
      measured: seen.rssMb,
      reference: calm.rssMb,
      unit: 'MB',
      compare: 'above',
      most: 64,
      aim: 32
    },
    {
      what: `${what}: memory of one connection`,
      measured: (grown * 1_024) / connections,
      reference: 256,
      unit: 'KiB',
      compare: 'times',
      most: 1,
      aim: 0.5
    },
    {
      what: `${what}: another caller is refused`,
      measured: seen.refused.length,
      reference: 0,
      unit: '',
      compare: 'above',
      most: 0,
      aim: 0
    }
  ];
}
