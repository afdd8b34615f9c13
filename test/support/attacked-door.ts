import assert from 'node:assert/strict';
import { type Listener, listen, subscribe, until } from './listener.ts';
import { RawClient } from './raw-client.ts';
import { type FrontDoor, INDEXER, INDEXER_HASHES, openFrontDoor } from './sync/front-door.ts';

/** The database that is attacked, as routes name it. */
export const AT = 'indexer/bitcoin/regtest';

/** A request's text. @param headers each with its line end */
export const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

/** A front door where a good subscriber listens to blocks while the test attacks it. */
export class AttackedDoor {
  readonly frontDoor: FrontDoor;
  readonly place: string;
  readonly good: Listener;
  #height = 7;

  static async begin(options: Parameters<typeof openFrontDoor>[0] = {}): Promise<AttackedDoor> {
    const frontDoor = await openFrontDoor(options);
    Object.assign(frontDoor.app.server, { connectionsCheckingInterval: 20 });
    const place = await listen(frontDoor);
    return new AttackedDoor(frontDoor, place, await subscribe(place));
  }

  private constructor(frontDoor: FrontDoor, place: string, good: Listener) {
    this.frontDoor = frontDoor;
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
    await this.frontDoor.fanOut.broadcast(INDEXER, [{ type: 'block', height, bytes, infraBytes: bytes }], point);
  }

  /** The good one has every block in order, and nobody else is connected. */
  async end(): Promise<void> {
    await this.block();
    await until(() => this.good.heard.at(-1)?.block_index === this.#height, 'the good one has the last block');
    assert.deepEqual(
      this.good.heard.slice(1).map(({ block_index }) => block_index),
      Array.from({ length: this.#height - 7 }, (_, index) => 8 + index)
    );
    await until(() => this.frontDoor.fanOut.subscribers(INDEXER).length === 1, 'no other subscriber is left');
    await this.connections(1);
  }

  /** Waits until the server has so many, the good one's among them. */
  async connections(count: number): Promise<void> {
    let found = -1;
    await until(() => {
      this.frontDoor.app.server.getConnections((_, now) => {
        found = now;
      });
      return found === count;
    }, `${count} connections are left`);
  }
}
