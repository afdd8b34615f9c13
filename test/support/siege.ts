import assert from 'node:assert/strict';
import { type Listener, listen, subscribe, until } from './listener.ts';
import { RawClient } from './raw-client.ts';
import { type House, INDEXER, INDEXER_HASHES, openHouse } from './sync/house.ts';

/** The database that is attacked, as routes name it. */
export const AT = 'indexer/bitcoin/regtest';

/** A request's text. @param headers each with its line end */
export const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

/** A house where a good subscriber listens to blocks while the test attacks it. */
export class Siege {
  readonly house: House;
  readonly place: string;
  readonly good: Listener;
  #height = 7;

  static async begin(options: Parameters<typeof openHouse>[0] = {}): Promise<Siege> {
    const house = await openHouse(options);
    Object.assign(house.app.server, { connectionsCheckingInterval: 20 });
    const place = await listen(house);
    return new Siege(house, place, await subscribe(place));
  }

  private constructor(house: House, place: string, good: Listener) {
    this.house = house;
    this.place = place;
    this.good = good;
  }

  open(options?: { readonly deaf?: boolean }): Promise<RawClient> {
    return RawClient.open(this.place, options);
  }

  async openSocket(options?: { readonly deaf?: boolean }): Promise<RawClient> {
    const client = await (await this.open()).upgrade(`/subscribe/${AT}`);
    if (options?.deaf) client.socket.pause();
    return client;
  }

  async block(): Promise<void> {
    const height = ++this.#height;
    const bytes = Buffer.from(JSON.stringify({ type: 'block', block_index: height }));
    const point = { height, blockTime: 1, hashes: INDEXER_HASHES };
    await this.house.fanOut.broadcast(INDEXER, [{ type: 'block', height, bytes, infraBytes: bytes }], point);
  }

  /** The good one has every block in order, and nobody else is connected. */
  async end(): Promise<void> {
    await this.block();
    await until(() => this.good.heard.at(-1)?.block_index === this.#height, 'the good one has the last block');
    assert.deepEqual(
      this.good.heard.slice(1).map(({ block_index }) => block_index),
      Array.from({ length: this.#height - 7 }, (_, index) => 8 + index)
    );
    await until(() => this.house.fanOut.subscribers(INDEXER).length === 1, 'no other subscriber is left');
    await this.connections(1);
  }

  /** Waits until the server has so many, the good one's among them. */
  async connections(count: number): Promise<void> {
    let found = -1;
    await until(() => {
      this.house.app.server.getConnections((_, now) => {
        found = now;
      });
      return found === count;
    }, `${count} connections are left`);
  }
}
