import type { Gossip } from '../gossip/long-messages.ts';
import { AnswerShares } from './answer-share.ts';

/**
 * Messages for all that a hub sends at once, and a second from then on. Others take 18,000 a minute of one member: so many do not come
 * together even where a connection stood still for half a minute, which is the longest time that a message is worth reading.
 */
export const [SENT_AT_ONCE, SENT_PER_SECOND] = [1_500, 180];

/**
 * Connections to the other hubs, as a hub speaks there that spends no more than its share. A leader that lies chooses how many batches there
 * are to vote on, and would have the votes of all others refused.
 */
export class PacedGossip implements Gossip {
  readonly #gossip: Gossip;
  readonly #sent = new AnswerShares(SENT_AT_ONCE, SENT_PER_SECOND);

  constructor(gossip: Gossip) {
    this.#gossip = gossip;
  }

  get peers(): readonly string[] {
    return this.#gossip.peers;
  }

  publish(...message: Parameters<Gossip['publish']>): void {
    this.#sent.spend('', 1, performance.now());
    this.#gossip.publish(...message);
  }

  sendTo(...message: Parameters<Gossip['sendTo']>): void {
    this.#gossip.sendTo(...message);
  }

  /** Does at once what publishes something, a little later where a lot was sent: what is to be said until then goes into the same message. */
  inTurn(work: () => void): void {
    const waitMs = this.#sent.waitMs('', performance.now());
    if (waitMs === 0) work();
    else setTimeout(work, waitMs).unref();
  }
}
