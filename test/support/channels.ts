import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket, WebSocketServer } from 'ws';
import { chainNetwork } from '../../src/coin/chains.ts';
import type { Coin } from '../../src/explorer/coins.ts';
import { FairReads } from '../../src/explorer/fair-reads.ts';
import { ChannelStream } from '../../src/explorer/live/channel-stream.ts';
import type { Question, Reply } from '../../src/explorer/question.ts';
import type { Logger } from '../../src/log.ts';
import { createAuthenticator } from '../../src/service/callers/auth.ts';
import { WorkBudget } from '../../src/service/ingress/work-budget.ts';

/** A frame as a client gets it. */
export interface Frame {
  readonly type: string;
  readonly id?: unknown;
  readonly catch_up?: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A block of a chain in memory, and its actions. */
interface Block {
  readonly block_index: string;
  readonly block_hash: string;
  readonly timestamp: string;
  readonly actions: object;
}

/** The answers that a stream asks of a network, out of memory. */
export class MemoryChain {
  blocks: readonly Block[] = [];
  /** Newest first. */
  actions: readonly Readonly<Record<string, string>>[] = [];
  balances: readonly object[] = [];

  constructor(height: number) {
    for (let at = 1; at <= height; at++) this.add(`h${at}`);
  }

  get tip(): number {
    return this.blocks.length;
  }

  /** Adds a block, with the actions of these indexes in it. */
  add(hash: string, ...indexes: readonly number[]): void {
    const block_index = String(this.tip + 1);
    this.blocks = [{ block_index, block_hash: hash, timestamp: '1', actions: {} }, ...this.blocks];
    for (const index of indexes)
      this.actions = [{ block_index, action_index: String(index), action: 'SEND', source: hash }, ...this.actions];
  }

  /** Takes blocks away until there are so many. */
  rollBack(height: number): void {
    this.blocks = this.blocks.slice(-height);
    this.actions = this.actions.filter(({ block_index }) => Number(block_index) <= height);
  }

  readonly coin = {
    network: chainNetwork('bitcoin', 'regtest'),
    gone: new AbortController().signal,
    report: () => ({ state: 'available', height: this.tip, mark: this.#mark }),
    read: (question: Question) => this.#read(question)
  } as unknown as Coin;

  get #mark(): string {
    return `${this.blocks[0]?.block_index} ${this.blocks[0]?.block_hash}`;
  }

  async #read({ method, limit, page }: Question): Promise<Reply> {
    const lists = { blocks: this.blocks, actions: this.actions, history: this.actions, balances: this.balances };
    const data = (lists[method as keyof typeof lists] ?? []).slice((page - 1) * limit, page * limit);
    return { body: JSON.stringify({ data }), mark: this.#mark } as Reply;
  }
}

/** Serves the channels of a chain in memory on a port, by real sockets. */
export async function serveChannels(t: TestContext, chain: MemoryChain) {
  const budget = new WorkBudget();
  const authenticator = createAuthenticator({});
  const reads = new FairReads({ addressOf: ({ url }) => url!.slice(1), authenticator, budget });
  const log = { debug: () => undefined } as unknown as Logger;
  const stream = new ChannelStream(chain.coin, log, '1');
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  t.after(() => {
    stream.close();
    for (const each of server.clients) each.terminate();
    server.close();
  });
  server.on('connection', (socket, raw) =>
    stream.take(socket, {
      address: raw.url!.slice(1),
      payer: reads.payerOf({ raw }),
      sendBuffer: () => ({ waitingBytes: 0, takenBytes: 0 }),
      read: (question) => reads.take(chain.coin, { raw } as never, () => chain.coin.read(question))
    })
  );
  const { port } = server.address() as AddressInfo;
  /** Connects from an address, and sends a message where one is given: then it is subscribed when this ends. */
  const follow = async (address: string, message?: object) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/${address}`);
    const frames: Frame[] = [];
    socket.on('message', (data) => frames.push(JSON.parse(String(data)) as Frame));
    await once(socket, 'open');
    const until = async (type: string, isWanted: (frame: Frame) => boolean = () => true, ms = 5_000) => {
      for (const end = Date.now() + ms; ; await sleep(10)) {
        const found = frames.find((frame) => frame.type === type && isWanted(frame));
        if (found) return found;
        assert.ok(Date.now() < end, `no ${type} within ${ms} ms: ${JSON.stringify(frames)}`);
      }
    };
    await until('WELCOME');
    const send = (what: object) => socket.send(JSON.stringify(what));
    if (message) {
      send({ action: 'subscribe', ...message });
      await until('SUBSCRIBED');
    }
    return { socket, frames, until, send };
  };
  return { budget, follow, stop: () => stream.close() };
}
