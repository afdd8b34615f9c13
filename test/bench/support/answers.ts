import { setTimeout as sleep } from 'node:timers/promises';
import { ALLOCATOR } from '../../../src/process/guardian.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';
import type { AnswerCrowdAsk, Greed } from './answer-crowd.ts';
import { type Figure, median, p99 } from './figures.ts';
import { Helper, memoryMb } from './helper.ts';
import type { HubAsk } from './hub-process.ts';

const ROWS = 1_500;
const PROOF_BYTES = 20_000;
const CONNECTIONS: Readonly<Record<Greed, number>> = { batches: 200, 'slow readers': 200 };
const LOOK_MS = 20_000;
const PAUSE_MS = 20;

interface Look {
  readonly delays: readonly number[];
  /** Statuses that were none of success. */
  readonly refused: readonly number[];
  readonly rssMb: number;
}

/** What one stranger who asks a hub for as much as it gives costs another caller, and the hub's memory. */
export async function measureAnswers(): Promise<Figure[]> {
  const database = await createDatabase('answers');
  const hub = new Helper<HubAsk>('hub-process.ts', ALLOCATOR);
  const port = await hub.ask<number>({ type: 'start', database, env: { HTTP_MAX_PER_IP: '1000' } });
  await sql(
    database,
    `INSERT INTO price_snapshots (round_number, coin_pair, price, block_timestamp, validator_count, consensus_proof, status)
     SELECT seq, 'BTC/USD', 1, seq, 4, REPEAT('x', ${PROOF_BYTES}), 'finalized' FROM seq_1_to_${ROWS}`
  );
  const look = async (): Promise<Look> => {
    const [delays, refused]: [number[], number[]] = [[], []];
    let rssMb = 0;
    for (const until = performance.now() + LOOK_MS; performance.now() < until; await sleep(PAUSE_MS)) {
      const began = performance.now();
      const response = await fetch(`http://127.0.0.1:${port}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"getpricesnapshots","params":{"limit":5}}'
      });
      await response.text();
      if (response.status === 200) delays.push(performance.now() - began);
      else refused.push(response.status);
      rssMb = Math.max(rssMb, memoryMb(hub.child.pid!, 'VmRSS'));
    }
    return { delays, refused, rssMb };
  };
  const print = (what: string, { delays, refused, rssMb }: Look) =>
    console.log(
      `| ${[what, median(delays).toFixed(1), p99(delays).toFixed(1), refused.length, Math.round(rssMb)].join(' | ')} |`
    );
  console.log('| answers of a hub | honest p50 ms | p99 | refused | RSS MB |\n|---|---|---|---|---|');
  await look(); // warm-up
  const calm = await look();
  print('nobody else', calm);
  const figures: Figure[] = [];
  for (const what of ['batches', 'slow readers'] as const) {
    const crowd = new Helper<AnswerCrowdAsk>('answer-crowd.ts').giveWay();
    await crowd.ask({ type: 'begin', what, port, connections: CONNECTIONS[what] });
    await sleep(2_000);
    const seen = await look();
    print(what, seen);
    await crowd.ask({ type: 'end' });
    crowd.end();
    figures.push(...figuresOf(what, calm, seen));
  }
  hub.end();
  return figures;
}

function figuresOf(what: Greed, calm: Look, seen: Look): Figure[] {
  const grown = Math.max(0, seen.rssMb - calm.rssMb);
  return [
    {
      what: `${what}: p99 of another caller`,
      measured: p99(seen.delays),
      reference: p99(calm.delays),
      unit: 'ms',
      compare: 'times',
      most: 2,
      aim: 1.5
    },
    {
      what: `${what}: RSS of the hub, against before`,
      measured: seen.rssMb,
      reference: calm.rssMb,
      unit: 'MB',
      compare: 'above',
      most: 64,
      aim: 32
    },
    {
      what: `${what}: memory of one connection`,
      measured: (grown * 1_024) / CONNECTIONS[what],
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
