import type { ActorHost } from '../../../../actors/runtime/thread/actor-host.ts';
import type { ActorNotices, MainAsks } from '../../protocol.ts';
import type { FeedOptions } from './feed.ts';

/** The front door takes messages within seconds; a silence this long means that nobody is there. */
const BROADCAST_DEADLINE_MS = 120_000;

/**
 * Returns how a feed hands messages and resume points to the main thread. The thread ends on a failure: whether it was
 * accepted, only the successor's resume point can tell.
 *
 * @param handedOver called after each
 */
export function handOverTo(
  host: Pick<ActorHost<MainAsks, ActorNotices>, 'ask' | 'fail'>,
  handedOver: () => void
): Pick<FeedOptions, 'keep' | 'broadcast'> {
  const handOver = async (send: () => Promise<unknown>) => {
    try {
      await send();
    } catch (caught) {
      host.fail(caught);
    }
    handedOver();
  };
  return {
    keep: (resume) => handOver(() => host.ask('resume.keep', { resume }, { deadlineMs: BROADCAST_DEADLINE_MS })),
    broadcast: async (messages, resume, readSince) => {
      const transfer = messages.flatMap(({ bytes, infraBytes }) => [bytes, ...(infraBytes ? [infraBytes] : [])]);
      const options = {
        deadlineMs: BROADCAST_DEADLINE_MS,
        transfer: transfer.map(({ buffer }) => buffer as ArrayBuffer)
      };
      let plain = false;
      await handOver(async () => {
        plain = (await host.ask('broadcast', { messages, resume, readSince }, options)).plain === true;
      });
      return plain;
    }
  };
}
