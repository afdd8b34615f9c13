import { memoryVariables } from '../../../../src/process/guardian.ts';
import { makesAnswers } from '../../../../src/services.ts';
import { createDatabase } from '../../../../test/support/mariadb.ts';
import { sql } from '../../../../test/support/sql.ts';
import type { Figure } from '../figures.ts';
import { Helper } from '../processes/helper.ts';
import type { HubAsk } from '../processes/hub-process.ts';
import { measureGreed } from './greed.ts';

const ROWS = 1_500;
const PROOF_BYTES = 20_000;
const CALLS = 40;
const CONNECTIONS = 200;
const ENDLESS = { connections: 285, addresses: 3 } as const;
const BODY_BYTES = 95_000;

const call = (id: number, limit: number) => ({ jsonrpc: '2.0', id, method: 'getpricesnapshots', params: { limit } });

function post(content: unknown): string {
  const body = JSON.stringify(content);
  return `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Measures the cost of one stranger who asks a hub for as much as it gives: for another caller, and for the hub's memory. */
export async function measureAnswers(): Promise<Figure[]> {
  const database = await createDatabase('answers');
  const hub = new Helper<HubAsk>('hub-process.ts', memoryVariables(makesAnswers('hub')));
  const port = await hub.ask<number>({ type: 'start', database, env: { HTTP_MAX_PER_IP: '1000' } });
  await sql(
    database,
    `INSERT INTO price_snapshots (round_number, coin_pair, price, block_timestamp, validator_count, consensus_proof, status)
     SELECT seq, 'BTC/USD', 1, seq, 4, REPEAT('x', ${PROOF_BYTES}), 'finalized' FROM seq_1_to_${ROWS}`
  );
  const ask = () =>
    fetch(`http://127.0.0.1:${port}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(call(1, 5))
    });
  const most = { compare: 'times', most: 2, aim: 1.5 } as const;
  const figures = await measureGreed(
    { name: 'a hub', port, pid: hub.child.pid!, ask, most },
    {
      batches: {
        connections: CONNECTIONS,
        says: [post(Array.from({ length: CALLS }, (_, id) => call(id, ROWS)))],
        taking: 'at once'
      },
      'slow readers': { connections: CONNECTIONS, says: [post(call(1, ROWS))], taking: 'slowly' },
      'bodies without end': { ...ENDLESS, says: [post('x'.repeat(BODY_BYTES)).slice(0, -1)], taking: 'at once' }
    }
  );
  hub.end();
  return figures;
}
