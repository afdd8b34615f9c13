import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../attack.ts';
import type { Person } from '../person.ts';

const ASK_MS = 5;
const SENT = 40_000_000n;
const ROUNDS = 6;
/** Coins of both together. */
const ALL = 1;
const POLL_MS = 500;
/** Several polls of a hub. */
const EMPTY_MS = 8 * POLL_MS;

/** Passes what it is asked on to a hub, but for a while tells of a hub without a configuration. */
async function startFaultyHub(hub: string) {
  let isEmpty = false;
  let emptied = 0;
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const { id, method } = JSON.parse(body.toString()) as { id: unknown; method: string };
    response.setHeader('content-type', 'application/json');
    if (isEmpty && method === 'getallconfigs') {
      emptied += 1;
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
      return;
    }
    const headers = { 'content-type': 'application/json', 'x-api-key': String(request.headers['x-api-key'] ?? '') };
    const answer = await fetch(hub, { method: 'POST', headers, body });
    response.writeHead(answer.status).end(await answer.text());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: String((server.address() as AddressInfo).port),
    empty: (is: boolean) => {
      isEmpty = is;
    },
    emptied: () => emptied,
    close: () => {
      server.close();
      server.closeAllConnections();
    }
  };
}

interface Info {
  readonly result?: {
    readonly mempool_ready: boolean;
    readonly balances: { readonly confirmed: string; readonly pending: string };
  };
}

/** Answers that are wrong for a while. */
export const ANSWER_ATTACKS: readonly Attack[] = [
  {
    name: 'a balance that is asked while its block comes in is below nothing, or counts a payment twice',
    async *play(arena) {
      const [first, second] = [await arena.person('balanced', 1), await arena.person('balancing', 1)];
      yield;
      yield;
      const wrong: string[] = [];
      let asked = 0;
      let isOver = false;
      const watch = async ({ name, address }: Person) => {
        while (!isOver) {
          const { body } = await arena.call(arena.doors.tracker, 'get_info', { address });
          const { result } = JSON.parse(body) as Info;
          if (result) {
            asked += 1;
            const { confirmed, pending } = result.balances;
            const net = Number(confirmed) + Number(pending);
            // Until the mempool is read again, what it spends may be counted still.
            const isMore = net > ALL && result.mempool_ready;
            if (net < 0 || isMore) wrong.push(`${name} has ${confirmed} and ${pending} pending`);
          }
          await sleep(ASK_MS);
        }
      };
      const watched = [first, second].map(watch);
      const listed: string[] = [];
      try {
        // Back and forth: what is left after each payment is less than what it moves.
        for (let round = 0; round < ROUNDS; round++) {
          const [from, to] = round % 2 === 0 ? [first, second] : [second, first];
          const txid = await from.pay([{ amount: SENT - 1_000_000n * BigInt(round), script: to.script }]);
          to.own({ txid, vout: 0, amount: SENT - 1_000_000n * BigInt(round) });
          const sent = await second.act(`BROADCAST|0|round ${round}`);
          yield;
          const { body } = await arena.get('mempool');
          if (body.includes(sent)) listed.push(sent);
        }
      } finally {
        isOver = true;
        await Promise.all(watched);
      }
      return () => {
        assert.ok(asked > 20 * ROUNDS, `it is asked ${asked} times`);
        assert.deepEqual(wrong.slice(0, 3), []);
        assert.deepEqual(listed, [], 'actions of a block are no longer in the mempool');
        return Promise.resolve();
      };
    }
  },
  {
    name: 'one empty answer of the hub stops an explorer and a sync server',
    async *play(arena) {
      const hub = await startFaultyHub(arena.doors.hub);
      try {
        const through = { HUB_PORT: hub.port, HUB_REPOLL_INTERVAL: String(POLL_MS) };
        const explorer = await arena.beside.start('explorer', {
          name: 'faulty-hub',
          variables: {
            ...through,
            HUB_API_HOST: '127.0.0.1',
            HUB_API_KEY: arena.beside.apiKey,
            NETWORK: undefined,
            ...Object.fromEntries(
              ['DECODER', 'INDEXER'].flatMap((each) =>
                ['HOST', 'PORT', 'NAME', 'USER', 'PASS'].map((of) => [`${each}_DB_${of}`, undefined])
              )
            )
          }
        });
        const server = await arena.beside.start('server', {
          name: 'faulty-hub',
          variables: { ...through, SYNC_STATE_DIR: undefined }
        });
        const headers = { authorization: `Bearer ${arena.beside.apiKey}` };
        const status = async (url: string) =>
          (await fetch(url, { headers, signal: AbortSignal.timeout(10_000) })).status;
        const questions = [
          `${explorer.url}/api/blocks`,
          `${server.url}/status/indexer/litecoin/regtest`,
          `${server.url}/status/decoder/litecoin/regtest`
        ];
        yield;
        const statuses: number[] = [];
        for (const url of questions) statuses.push(await status(url));
        hub.empty(true);
        for (const until = Date.now() + EMPTY_MS; Date.now() < until; await sleep(POLL_MS))
          for (const url of questions) statuses.push(await status(url));
        const emptied = hub.emptied();
        hub.empty(false);
        yield;
        for (const url of questions) statuses.push(await status(url));
        await server.stop();
        await explorer.stop();
        return () => {
          assert.ok(emptied >= 2, `both are told ${emptied} times that there is nothing`);
          assert.deepEqual([...new Set(statuses)], [200]);
          return Promise.resolve();
        };
      } finally {
        hub.close();
      }
    }
  }
];
