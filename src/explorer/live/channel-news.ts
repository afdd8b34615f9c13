import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Coin } from '../coins.ts';
import { type Advance, Advances, nameOf, type Row, type Subject, type SubjectActions } from './advance.ts';
import { type ChannelClient, project, UPDATES } from './channel-client.ts';
import { newestOf } from './channel-states.ts';
import { EVERYTHING, isWanted, OF_ACTIONS, subjectOf } from './channel-subjects.ts';
import type { Subscription } from './channels.ts';
import type { Followed } from './followed.ts';
import { MempoolWatch } from './mempool-watch.ts';
import { framesOf, REQUIRED, readRequired } from './outcomes.ts';

const KEPT_BLOCKS = 100;
const KEPT_REORGS = 100;
const NO_ACTIONS: SubjectActions = { rows: [], isCut: false };

type Frames = ReturnType<typeof framesOf>;

/** Clients that get the news. */
interface Listeners {
  /** Returns those that listen now. */
  readonly clients: () => Iterable<ChannelClient>;
  /** Subjects that they follow. */
  readonly followed: Followed;
}

/** A reorg that was told. */
interface Reorg {
  /** The newest block that stood. */
  readonly fork: number;
  /** The newest action before it: those of the blocks above the fork are gone, and their indexes are given anew. */
  readonly last: number;
}

/** Tells the clients of one network what is new in it, each what it follows. */
export class ChannelNews {
  readonly #coin: Coin;
  readonly #advances: Advances;
  readonly #log: Logger;
  readonly #clients: () => Iterable<ChannelClient>;
  readonly #followed: Followed;
  /** Newest first; empty until the first look. */
  #known: readonly Row[] = [];
  #mark: string | null = null;
  /** Index of the newest action. */
  #newest = 0;
  /** Newest first. */
  #reorgs: readonly Reorg[] = [];
  #looking: Promise<void> | null = null;
  readonly #mempool = new MempoolWatch();
  #isWatching = false;

  constructor(coin: Coin, log: Logger, { clients, followed }: Listeners) {
    this.#coin = coin;
    this.#advances = new Advances(coin);
    this.#log = log;
    this.#clients = clients;
    this.#followed = followed;
  }

  /** Settles once the blocks that stand are known: changes of them are sent from now on. Never rejects. */
  async begin(): Promise<void> {
    if (this.#known.length === 0) await this.look();
  }

  /** Looks for new blocks, and tells them. Ends when they are read: it waits for no client. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /**
   * Finds the block from which on a client must be told anew what it knows: an index of an action may have been given to
   * another one since.
   *
   * @param since index of the newest action that the client knows
   * @returns the newest block that has stood all the time; null where the index cannot be of a block that is gone
   */
  forkSince(since: number): number | null {
    const forks = this.#reorgs.filter(({ last }) => since <= last).map(({ fork }) => fork);
    return forks.length === 0 ? null : Math.min(...forks);
  }

  async #look(): Promise<void> {
    const mark = this.#coin.report()?.mark ?? null;
    if (mark === null || (mark === this.#mark && this.#known.length > 0)) return;
    try {
      const isFirst = this.#known.length === 0;
      const advance = await this.#advances.read(this.#known, isFirst ? [] : this.#followed.subjects);
      if (advance) {
        const required = isFirst ? [] : await this.#readRequired(advance);
        const newest = Number((await newestOf(this.#coin.read))?.['action_index'] ?? 0);
        const { fork } = advance;
        if (fork !== null) this.#reorgs = [{ fork, last: this.#newest }, ...this.#reorgs].slice(0, KEPT_REORGS);
        this.#newest = newest;
        const standing = this.#known.filter(({ block_index }) => block_index <= (fork ?? block_index));
        this.#known = [...advance.blocks].reverse().concat(standing).slice(0, KEPT_BLOCKS);
        if (!isFirst) for (const client of this.#clients()) tell(client, advance, required);
      }
      this.#mark = mark;
    } catch (caught) {
      // It looks again; whether the database answers is in the report.
      this.#log.debug({ err: PlatformError.from(caught) }, 'new blocks cannot be read');
    }
  }

  /** Reads what is to be paid since this advance, where a client follows that. */
  async #readRequired({ actions, blocks }: Advance): Promise<Frames> {
    const isFollowed = this.#followers('actions').some(([, { filters }]) => isWanted(filters, REQUIRED));
    if (!isFollowed) return [];
    const all = [...actions].find(([subject]) => nameOf(subject) === nameOf(EVERYTHING))?.[1] ?? NO_ACTIONS;
    return await readRequired(this.#coin, all, blocks).catch((caught: unknown) => {
      this.#log.debug({ err: PlatformError.from(caught) }, 'what is to be paid cannot be read');
      return [];
    });
  }

  #followers(channel: string): [ChannelClient, Subscription][] {
    return [...this.#clients()].flatMap((client) =>
      [...client.subscriptions.values()]
        .filter((subscription) => subscription.channel === channel)
        .map((subscription): [ChannelClient, Subscription] => [client, subscription])
    );
  }

  /** Tells what came into the mempool and what left it. */
  async watch(): Promise<void> {
    if (this.#followers('mempool').length === 0) return this.#mempool.forget();
    if (this.#isWatching) return;
    this.#isWatching = true;
    try {
      const changes = await this.#mempool.look(this.#coin);
      for (const [client, subscription] of this.#followers('mempool')) {
        const wanted = changes.filter(({ waiting }) => isWanted(subscription.filters, waiting.action));
        for (const { type, waiting } of wanted) {
          const { tx_hash, source, action, data } = waiting;
          const facts = type === 'MEMPOOL_REMOVED' ? { tx_hash } : { tx_hash, source, action, data };
          client.send(type, project(facts, subscription.filters.fields));
        }
        if (wanted.length > 0) client.endOnce(subscription);
      }
    } catch (caught) {
      this.#log.debug({ err: PlatformError.from(caught) }, 'the mempool cannot be read');
    } finally {
      this.#isWatching = false;
    }
  }
}

/** Sends a client what needs no reading, a reorg and blocks first; states follow when its reads have their turn. */
function tell(client: ChannelClient, advance: Advance, required: Frames): void {
  const { fork, skippedTo, blocks, actions } = advance;
  const found = new Map([...actions].map(([subject, each]) => [nameOf(subject), each]));
  const actionsOf = (subject: Subject | null) => (subject && found.get(nameOf(subject))) ?? NO_ACTIONS;
  const followed = [...client.subscriptions.values()];
  if (followed.some(({ channel }) => channel === 'blocks' || channel === 'actions')) {
    if (fork !== null) client.send('REORG', { block_index: String(fork) });
    if (skippedTo !== null) client.send('GAP', { block_index: String(skippedTo) });
  }
  for (const subscription of followed.filter(({ channel }) => channel === 'blocks')) {
    const { filters } = subscription;
    for (const block of blocks) client.send('NEW_BLOCK', project(blockOf(block), filters.fields));
    if (blocks.length > 0) client.endOnce(subscription);
  }
  for (const subscription of followed.filter(({ channel }) => channel === 'actions')) {
    const { filters } = subscription;
    const frames = [...actionsOf(EVERYTHING).rows.flatMap(framesOf), ...required];
    const wanted = frames.filter(({ name }) => isWanted(filters, name));
    for (const { type, data } of wanted) client.send(type, project(data, filters.fields));
    if (wanted.length > 0) client.endOnce(subscription);
  }
  const isDue = ({ channel, about, filters }: Subscription): boolean => {
    if (!(channel in UPDATES)) return false;
    // Actions that are gone, or were not read, are in no list.
    if (fork !== null || skippedTo !== null) return true;
    if (blocks.length === 0) return false;
    if (!(channel in OF_ACTIONS)) return true;
    const { rows, isCut } = actionsOf(subjectOf({ channel, about }));
    return isCut || rows.some((row) => isWanted(filters, row['action']));
  };
  client.sendUpdates(followed.filter(isDue).map(({ key }) => key));
}

function blockOf({ block_index, block_hash, timestamp, actions, transactions }: Row) {
  const counts = Object.values((actions ?? {}) as Readonly<Record<string, string>>).map(Number);
  const count = counts.reduce((sum, each) => sum + each, 0);
  return {
    block_index: String(block_index),
    block_hash: block_hash ?? null,
    block_time: Number(timestamp),
    tx_count: Number(transactions ?? 0),
    action_count: count
  };
}
