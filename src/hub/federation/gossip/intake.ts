import { isSignedMessage } from '../consensus/reading.ts';
import { lengthOf } from '../consensus/rules.ts';
import { type Envelope, type EnvelopeFault, readEnvelope } from './envelope.ts';

/** Reason why a message goes no further. */
export type GossipFault =
  | EnvelopeFault
  | 'another time'
  | 'own message'
  | 'seen before'
  | 'too many'
  | 'wrong signature'
  | 'no member'
  | 'denied';

/** A connection, as its messages are counted. */
export interface Link {
  /** Key that the other side has proved; null before. */
  readonly peer: string | null;
}

export interface GossipLimits {
  /** Largest difference between a message's clock and this one, in milliseconds. */
  readonly skewMs: number;
  /** Time for which a message is remembered, in milliseconds; at least the skew. */
  readonly rememberMs: number;
  readonly mostRemembered: number;
  /** Messages a minute over a connection without a proved key. */
  readonly perStranger: number;
  /**
   * Messages a minute that one member signs for all, as many for this hub alone and for other ones alone, and, for each of the members,
   * those over a member's connection. An honest hub keeps below that, however fast its leader is. @see PacedGossip
   */
  readonly perMember: number;
  /**
   * Characters a minute of one member over a connection: what is in an envelope may cost a signature check for each few hundred. Those of
   * others that a member hands on count for these, so who is flooded is heard itself. What the leader proposes is what the others submit:
   * for the bodies of these operations it has as many for each member.
   */
  readonly perLink: number;
  /** Wrong signatures a minute by which a member's connection is denied. */
  readonly mostForged: number;
  readonly denyMs: number;
}

export const GOSSIP_LIMITS: GossipLimits = {
  skewMs: 30_000,
  rememberMs: 60_000,
  mostRemembered: 300_000,
  perStranger: 100,
  perMember: 18_000,
  perLink: 64 * 1_048_576,
  mostForged: 100,
  denyMs: 600_000
};

const MINUTE_MS = 60_000;
/** Shares of a member: of what is for all, for this hub alone, and for another one alone. */
const SHARES = 3;
/** Type of the messages that the leader proposes by. */
const PROPOSALS = 'CONSENSUS_MESSAGES';
/** Returns the name under which a message is remembered. */
function nameOf({ id, sig }: Envelope): string {
  return `${id} ${sig}`;
}

/** Returns the name of the share of its sender that a message counts for. */
function shareOf({ sender, data: { to } }: Envelope, own: string): string {
  return to === undefined ? sender : `${sender} for ${to === own ? 'this one' : 'another'}`;
}

/** Returns the characters that others have submitted, of a message by which a leader proposes: no signature is checked for these. */
function proposedIn({ type, data: { to, messages } }: Envelope): number {
  if (type !== PROPOSALS || to !== undefined || !Array.isArray(messages)) return 0;
  const lengths = messages
    .filter(isSignedMessage)
    .map(({ message }) => (message.kind === 'prePrepare' ? lengthOf(message.batch.operations) : 0));
  return lengths.reduce((sum, each) => sum + each, 0);
}

/** Messages of a running minute. */
interface Minute {
  since: number;
  count: number;
  length: number;
}

/**
 * Decides which messages of other hubs are handed on, in an order in which each check costs no more than what was sent for it.
 *
 * `admit` takes what arrives; `judge` takes the outcome of the signature check, which is the dear one and may run elsewhere. A message is
 * remembered when it is genuine, by its id and its signature together: who sends another's id keeps the genuine message from nobody, and
 * strangers fill no memory. Only genuine messages count for their sender, so nobody spends the share of another. What a member signs for
 * another hub alone has a share of its own: that hub may ask for answers all the time, over this one, to have their author refused here. So
 * has what it signs for this hub alone, which hears the votes of a hub that it has the log or the state from.
 */
export class GossipIntake {
  readonly #own: string;
  readonly #members: () => ReadonlySet<string>;
  readonly #limits: GossipLimits;
  readonly #leader: () => string | null;
  /** By id and signature, when it came; the oldest first. */
  readonly #seen = new Map<string, number>();
  /** By member whose connection it is, messages under no name, and characters under that of a member: one that dials again has no more. */
  readonly #byPeer = new Map<string, Map<string, Minute>>();
  /** The same of connections without a proved key. */
  readonly #byStranger = new WeakMap<Link, Map<string, Minute>>();
  readonly #bySender = new Map<string, Minute>();
  readonly #forged = new Map<string, Minute>();
  readonly #deniedUntil = new Map<string, number>();
  #forgotten = 0;

  /** @param own  this hub's key  @param members  keys of the set  @param leader  key of the hub that leads; null: none is known */
  constructor(
    own: string,
    members: () => ReadonlySet<string>,
    limits = GOSSIP_LIMITS,
    leader: () => string | null = () => null
  ) {
    this.#leader = leader;
    this.#own = own;
    this.#members = members;
    this.#limits = limits;
  }

  get limits(): GossipLimits {
    return this.#limits;
  }

  /** Messages that were forgotten before their time, because too many came. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Returns a message whose signature is to be checked, or why it goes no further. @param now  epoch milliseconds */
  admit(text: string, link: Link, now: number): Envelope | GossipFault {
    if (link.peer !== null && this.isDenied(link.peer, now)) return 'denied';
    if (!this.#mayBring(link, text, now)) return 'too many';
    const envelope = readEnvelope(text);
    if (typeof envelope === 'string') return this.#charge(link, link.peer, text, now) ? envelope : 'too many';
    if (Math.abs(now - envelope.timestamp) > this.#limits.skewMs)
      return this.#charge(link, link.peer, text, now) ? 'another time' : 'too many';
    if (envelope.sender === this.#own) return 'own message';
    if (this.#seen.has(nameOf(envelope))) return 'seen before';
    return this.#charge(link, envelope.sender, text, now, envelope) ? envelope : 'too many';
  }

  /** Returns null for a message that is to be carried out and relayed, else why not. @param isGenuine  what the signature check found */
  judge(envelope: Envelope, link: Link, isGenuine: boolean, now: number): GossipFault | null {
    if (!isGenuine) {
      if (link.peer !== null) this.#noteForged(link.peer, now);
      return 'wrong signature';
    }
    if (!this.#members().has(envelope.sender)) return 'no member';
    if (this.#seen.has(nameOf(envelope))) return 'seen before'; // it came twice while the first was checked
    if (this.#count(this.#bySender, shareOf(envelope, this.#own), now).count > this.#limits.perMember)
      return 'too many';
    this.#forget(now);
    this.#seen.set(nameOf(envelope), now);
    return null;
  }

  /** Returns whether messages of a member's connection are refused for now. */
  isDenied(peer: string, now: number): boolean {
    const until = this.#deniedUntil.get(peer);
    if (until === undefined) return false;
    if (now < until) return true;
    this.#deniedUntil.delete(peer);
    return false;
  }

  /** Counts all that a connection brings, before it is read: it hands on all shares of the others at most, and what their leader proposes. */
  #mayBring(link: Link, { length }: string, now: number): boolean {
    if (link.peer === null) return true;
    const most = (SHARES + 1) * this.#limits.perLink * this.#members().size;
    return this.#count(this.#minutesOf(link), 'all', now, length).length <= most;
  }

  #minutesOf(link: Link): Map<string, Minute> {
    const { peer } = link;
    const minutes = (peer === null ? this.#byStranger.get(link) : this.#byPeer.get(peer)) ?? new Map<string, Minute>();
    if (peer === null) this.#byStranger.set(link, minutes);
    else this.#byPeer.set(peer, minutes);
    return minutes;
  }

  /** Counts a message of a connection. @param sender  who says to have signed it  @returns whether it may have one more */
  #charge(link: Link, sender: string | null, { length }: string, now: number, envelope?: Envelope): boolean {
    const most = link.peer === null ? this.#limits.perStranger : SHARES * this.#limits.perMember * this.#members().size;
    const minutes = this.#minutesOf(link);
    const isMember = link.peer !== null && sender !== null && this.#members().has(sender);
    const { count } = this.#count(minutes, '', now);
    const proposed = envelope && isMember && sender === this.#leader() ? proposedIn(envelope) : 0;
    const ofProposals = proposed > 0 ? this.#count(minutes, `${sender} proposes`, now, proposed).length : 0;
    const share = isMember ? (envelope ? shareOf(envelope, this.#own) : sender) : 'others';
    const ofShare = this.#count(minutes, share, now, length - proposed);
    const { perLink, perMember } = this.#limits;
    if (ofProposals > perLink * this.#members().size || ofShare.length > perLink) return false;
    return ofShare.count <= perMember && count <= most; // what `judge` would refuse is worth no signature check either
  }

  #noteForged(peer: string, now: number): void {
    if (this.#count(this.#forged, peer, now).count >= this.#limits.mostForged)
      this.#deniedUntil.set(peer, now + this.#limits.denyMs);
  }

  /** Counts a message under a name. @returns the running minute */
  #count(of: Map<string, Minute>, key: string, now: number, length = 0): Minute {
    const minute = of.get(key);
    if (!minute || now >= minute.since + MINUTE_MS) {
      const begun = { since: now, count: 1, length };
      of.set(key, begun);
      return begun;
    }
    minute.count += 1;
    minute.length += length;
    return minute;
  }

  #forget(now: number): void {
    for (const [key, at] of this.#seen) {
      const isFull = this.#seen.size >= this.#limits.mostRemembered;
      const isOld = at <= now - this.#limits.rememberMs;
      if (!isFull && !isOld) return;
      if (!isOld) this.#forgotten += 1;
      this.#seen.delete(key);
    }
  }
}
