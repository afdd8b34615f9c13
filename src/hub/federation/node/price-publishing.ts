import type { PriceRound } from '../../../consensus/price-round.ts';
import type { Envelope } from '../gossip/envelope.ts';
import type { RoundJournal } from '../journal/round-journal.ts';
import { publishableAction } from '../rounds/price-action.ts';
import { type AnnouncedTransaction, begunBy, type LoggedRound, partOf } from '../rounds/publishing.ts';
import { priceRoundOf } from '../rounds/statement-text.ts';
import type { RoundRules } from '../rounds/statements.ts';

/** Transactions of this hub that publish a round. */
export interface Publication {
  /** Signed, as hex, in the order in which they are sent. */
  readonly transactions: readonly string[];
  /** Id of the last one, which carries the action. */
  readonly txid: string;
}

/** A round whose turns are not over. */
export interface PublishingDuty {
  readonly priced: PriceRound;
  /** Hubs that qualified for prices. */
  readonly qualified: readonly string[];
  /** Text of the action; null: it is not this hub's turn to begin, or too few hubs have signed. */
  readonly action: string | null;
  /** Publication that it made for the round before; it makes no other one. */
  readonly made: Publication | null;
  /** Transactions that hubs whose turns have begun say they have sent. Nothing about them is checked yet. */
  readonly announced: readonly AnnouncedTransaction[];
}

interface PublishingOptions {
  /** Key of this hub. */
  readonly self: string;
  /** Id of the set, 64 hex digits. */
  readonly set: string;
  readonly rules: RoundRules;
  readonly journal: RoundJournal;
  readonly publish: (type: string, data: Readonly<Record<string, unknown>>) => void;
  /** Adds to what is written to the database, one after the other. */
  readonly write: (work: () => Promise<void>) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The same with all that is known of it. */
interface OpenRound {
  readonly logged: LoggedRound;
  readonly priced: PriceRound;
  readonly signatures: ReadonlyMap<string, string>;
  readonly made: Publication | null;
}

/** Rounds whose turns may not be over: those of a set take less than three intervals. */
const NEWEST = 4;
/** Time after which a hub announces again what it has sent. */
const TELL_MS = 15_000;
const TXID = /^[0-9a-f]{64}$/;

/**
 * A hub's part in the publishing of rounds: whose turn it is, and what it has made. Transactions are kept before they are sent, one
 * publication for each round, so a hub that was killed sends the same ones.
 */
export class PricePublishing {
  readonly #options: PublishingOptions;
  #open: readonly OpenRound[] = [];
  /** By round, the transaction that each hub announced first. */
  readonly #announced = new Map<number, Map<string, string>>();
  /** Rounds whose transactions a node has taken since this start. */
  readonly #sent = new Set<number>();
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(options: PublishingOptions) {
    this.#options = options;
  }

  /** Reads the rounds whose turns are not over: at the start, after each round, and when others have signed. */
  async load(): Promise<void> {
    const { journal } = this.#options;
    const open: OpenRound[] = [];
    for (const logged of await journal.newest(NEWEST)) {
      const priced = priceRoundOf(logged);
      if (!priced || logged.height === 0 || !this.#partOf(logged).isOpen) continue;
      const signatures = await journal.signatures(logged.round);
      open.push({ logged, priced, signatures, made: await journal.own<Publication>(logged.round, 'publication') });
    }
    this.#open = open;
    const isOpen = (round: number) => open.some(({ logged }) => logged.round === round);
    for (const round of this.#announced.keys()) if (!isOpen(round)) this.#announced.delete(round);
    for (const round of this.#sent) if (!isOpen(round)) this.#sent.delete(round);
  }

  /** Rounds that this hub has to look at now, the oldest first: its own ones, and those that others say they have published. */
  get duties(): readonly PublishingDuty[] {
    return this.#open
      .map(({ logged, priced, signatures, made }) => {
        const { mayBegin, isOpen } = this.#partOf(logged);
        const begun = begunBy(this.#options.rules, logged, this.#options.now());
        const announced = [...(this.#announced.get(logged.round) ?? [])]
          .map(([hub, txid]) => ({ hub, txid }))
          .filter(({ hub }) => begun.includes(hub));
        const action = mayBegin ? this.#actionOf(logged, signatures) : null;
        return { priced, qualified: logged.qualified, action, made, announced, isOpen };
      })
      .filter(
        ({ action, made, announced, isOpen }) => isOpen && (action !== null || made !== null || announced.length > 0)
      )
      .map(({ isOpen: _, ...duty }) => duty)
      .toReversed();
  }

  /**
   * Keeps what was made for a round, while it is still this hub's turn.
   *
   * @returns what is to be sent: that, or what it had made before; null: its turn is over, and nothing may be sent
   */
  keep(round: number, made: Publication): Promise<Publication | null> {
    const { journal, write } = this.#options;
    return new Promise((resolve) =>
      write(async () => {
        const open = this.#open.find(({ logged }) => logged.round === round);
        if (!open || !this.#partOf(open.logged).maySend) {
          resolve(null);
          return;
        }
        const kept = await journal.keepOwn(round, 'publication', made);
        await this.load();
        resolve(kept);
      })
    );
  }

  /** Tells the others what this hub has sent for a round. */
  announce(round: number): void {
    if (this.#sent.has(round)) return;
    this.#sent.add(round);
    this.#tell(round);
  }

  /** Announces again what was sent: others may have been away. @param now  epoch milliseconds */
  tick(now: number): void {
    if (now < this.#toldAt + TELL_MS) return;
    this.#toldAt = now;
    for (const round of this.#sent) this.#tell(round);
  }

  /** Takes a genuine message of another hub of the set. @returns whether it is about what was published */
  receive({ type, sender, data }: Envelope): boolean {
    if (type !== 'ORACLE_PUBLISHED' || data['set'] !== this.#options.set) return false;
    const { round, txid } = data;
    const open = this.#open.find(({ logged }) => logged.round === round);
    // One of each hub that has a turn: a liar makes no hub look at more.
    if (!open?.logged.publishers.includes(sender) || typeof txid !== 'string' || !TXID.test(txid)) return true;
    const ofRound = this.#announced.get(open.logged.round) ?? new Map<string, string>();
    if (!ofRound.has(sender)) ofRound.set(sender, txid);
    this.#announced.set(open.logged.round, ofRound);
    return true;
  }

  #tell(round: number): void {
    const { set, publish } = this.#options;
    const open = this.#open.find(({ logged }) => logged.round === round);
    if (open?.made && this.#partOf(open.logged).isOpen)
      publish('ORACLE_PUBLISHED', { set, round, txid: open.made.txid });
  }

  #actionOf(logged: LoggedRound, signatures: ReadonlyMap<string, string>): string | null {
    const signed = [...signatures].map(([pubkey, sig]) => ({ pubkey, sig }));
    return publishableAction(logged, signed, this.#options.rules.keys.length);
  }

  #partOf(logged: LoggedRound) {
    const { rules, self, now } = this.#options;
    return partOf(rules, logged, self, now());
  }
}
