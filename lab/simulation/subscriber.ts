import { EventEmitter } from 'node:events';
import type { BlockMessage, ServerMessage, StatusMessage } from '../../src/wire/data/messages.ts';
import { at, type Block, type BlockBook, type Hashes, nameOf } from './chain.ts';
import { contentOf, differences } from './content.ts';
import { applied, type Held, heldAt, textsOf } from './held-rows.ts';
import { Violation } from './violation.ts';

/** The server's end of a connection that always drains. */
export class DrainingSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  readonly #hear: (message: ServerMessage) => void;

  constructor(hear: (message: ServerMessage) => void) {
    super();
    this.#hear = hear;
  }

  send(text: string | Buffer): void {
    this.#hear(JSON.parse(String(text)) as ServerMessage);
  }

  ping(): void {
    setTimeout(() => this.emit('pong'), 1);
  }

  close(): void {
    this.terminate();
  }

  terminate(): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.emit('close');
  }
}

const isNamed = (block: Block | null | undefined, as: Block | null): boolean =>
  block && as ? nameOf(block.hashes) === nameOf(as.hashes) : block === as;

interface State {
  /** The one of its name whose rows are held. */
  readonly block: Block;
  readonly held: Held;
  /** Messages that led to it from the state before; empty after a snapshot. */
  readonly messages: readonly BlockMessage[];
}

export interface SubscriberOptions {
  /** The blocks of these hashes. */
  readonly find: BlockBook['find'];
  /** Called with each block that was told, before its rows are. */
  readonly onBlock: (block: Block) => void;
  /** Looks at a message, and accuses of what is thrown. */
  readonly guard: (look: () => void) => void;
}

/**
 * One that takes what it is told at its word: heights in order without gap or repeat, each block after its parent, and with the last
 * block of each group all rows that the source has at it.
 */
export class GoodSubscriber {
  readonly #options: SubscriberOptions;
  /** After each group, as far back as is known; none when the next group's end is to be taken from a snapshot. */
  #states: State[] = [];
  #tip: Block | null = null;
  #group: BlockMessage[] = [];
  blocks = 0;
  reorgs = 0;

  constructor(options: SubscriberOptions) {
    this.#options = options;
  }

  /** The last block that it was told of on this connection. */
  get tip(): Block | null {
    return this.#tip;
  }

  /** Drops its state, which its source does not know: it takes a snapshot. */
  forget(): void {
    this.#states = [];
  }

  /** A new connection; what comes first says where it stands. */
  connect(): DrainingSocket {
    let isFirst = true;
    return new DrainingSocket((message) => {
      const look = isFirst ? () => this.#begin(message as StatusMessage) : () => this.#hear(message);
      isFirst = false;
      this.#options.guard(look);
    });
  }

  /** Begins with a status; if that may be another block than its own, it takes a snapshot, which may be of a later one. */
  #begin(status: StatusMessage): void {
    if (status.type !== 'status') throw new Violation(`the first message of a connection is a ${status.type}`);
    this.#group = [];
    const [block = null, ...others] = this.#find(status);
    if (others.length > 0 || this.#states.at(-1)?.block !== block) this.#states = [];
    this.#tip = block;
  }

  #find({ block_height, ...hashes }: StatusMessage): readonly Block[] {
    if (block_height === null) return [];
    const blocks = this.#options.find(hashes as Hashes);
    if (blocks[0]?.height !== block_height)
      throw new Violation(`a status names block ${block_height} by unknown hashes`);
    return blocks;
  }

  #hear(message: ServerMessage): void {
    if (message.type === 'block') this.#take(message);
    else if (message.type === 'reorg') this.#leave(message.block_index);
    else if (message.type !== 'status') throw new Violation(`${message.type} came unasked`);
    else if (this.#tip === null) this.#begin(message);
    else if (!isNamed(this.#find(message)[0], this.#tip))
      throw new Violation(`a status names block ${message.block_height}, and block ${this.#tip?.height} was told last`);
  }

  #take(message: BlockMessage): void {
    const { block_index: height, previous_hash, group } = message;
    const tip = this.#tip;
    const [block] = this.#options.find(message as unknown as Hashes);
    if (block?.height !== height) throw new Violation(`block ${height} is told with unknown hashes`);
    if (tip !== null && height !== tip.height + 1) throw new Violation(`block ${height} is told after ${tip.height}`);
    if (tip !== null && !isNamed(block.parent, tip))
      throw new Violation(`block ${height} is told after one that is not its parent`);
    if (previous_hash && block.parent && nameOf(previous_hash as Hashes) !== nameOf(block.parent.hashes))
      throw new Violation(`block ${height} names another parent than its own`);
    if (
      !group ||
      height < group.first ||
      height > group.last ||
      (this.#group[0]?.group?.first ?? group.first) !== group.first
    )
      throw new Violation(`block ${height} is told as one of ${group?.first} to ${group?.last}`);
    this.#options.onBlock(block);
    this.#tip = block;
    this.blocks++;
    this.#group.push(message);
    if (height === group.last) this.#apply(block);
  }

  /** The rows must be those of one block of that name; a snapshot is taken where there is but one. */
  #apply({ height, hashes }: Block): void {
    const before = this.#states.at(-1)?.held;
    const blocks = this.#options.find(hashes);
    const messages = before ? this.#group : [];
    this.#group = [];
    if (!before && blocks.length > 1) return;
    const held = before ? messages.reduce(applied, before) : heldAt(blocks[0]!);
    const texts = textsOf(held, height);
    const looks = blocks.map((block) => ({
      block,
      found: differences(texts, contentOf(block, Number.POSITIVE_INFINITY))
    }));
    const { block, found } = looks.reduce((best, look) => (look.found.length < best.found.length ? look : best));
    this.#states.push({ block, held, messages });
    if (found.length > 0)
      throw new Violation(
        `what was told up to block ${height} is not its source's: ${found[0]} and ${found.length - 1} more`
      );
  }

  /**
   * Undoes the orphaned groups. Of one that is left in its middle, the blocks that stand come again; one that was there before
   * leaves a snapshot to be taken.
   */
  #leave(first: number): void {
    const tip = this.#tip;
    if (tip === null) return;
    if (first > tip.height) throw new Violation(`a reorg at block ${first} is told after ${tip.height}`);
    const base = at(tip, first - 1);
    this.reorgs++;
    this.#group = [];
    this.#tip = base;
    const cut = this.#states.find(({ block }) => block.height >= first)?.messages ?? [];
    this.#states = this.#states.filter(({ block }) => block.height < first);
    const [before, stands] = [this.#states.at(-1), cut.filter(({ block_index }) => block_index < first)];
    if (before && base && stands.length > 0) {
      const held = stands.reduce(applied, before.held);
      // Lookup rows come with the first block of a group, whichever block they are of; a replica finds by comparison that they are gone.
      const addresses = [...held.index_addresses].filter(([id]) => Number(id) <= base.addressCount);
      this.#states.push({ block: base, held: { ...held, index_addresses: new Map(addresses) }, messages: stands });
    }
    const state = this.#states.at(-1);
    if (state && !isNamed(state.block, base)) this.#states = [];
  }
}
