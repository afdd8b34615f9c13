import type { Message, Signed } from '../consensus/messages.ts';

/** Places of one hub that are remembered: as many as are kept as evidence. */
const MOST_PLACES = 100;

/** Places for which hubs have signed two messages: each is written down once, however many more a hub signs for it. */
export class Accused {
  readonly #places = new Map<string, Set<string>>();

  /** Returns whether a hub was not accused for the place of a message before, nor for as many as are kept. */
  isNew({ sender, message }: Signed<Message>): boolean {
    const places = this.#places.get(sender) ?? new Set();
    this.#places.set(sender, places);
    const view = 'view' in message ? message.view : 0;
    const place = [message.kind, view, 'seq' in message ? message.seq : 0].join('/');
    if (places.size >= MOST_PLACES || places.has(place)) return false;
    places.add(place);
    return true;
  }
}
