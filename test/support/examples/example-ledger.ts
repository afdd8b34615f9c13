import type { ChainNetwork } from '../../../src/coin/chains.ts';
import type { Profile } from '../../../src/coin/profile.ts';
import { BlockFeed, type WatchedRange } from '../../../src/decoder/block-feed.ts';
import { scanBlock } from '../../../src/decoder/block-scan.ts';
import { resolveSources } from '../../../src/decoder/sources.ts';
import { type DecoderStore, openDecoderStore } from '../../../src/decoder/store.ts';
import { DecoderSource } from '../../../src/indexer/loop/decoder-source.ts';
import { rulesOf } from '../../../src/indexer/profile/rules.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { atEnd } from '../cleanup.ts';
import { scanRules } from '../decoder/loop.ts';
import { addAllBlocks } from '../indexer-database.ts';
import { createDatabase } from '../mariadb.ts';
import { type RawBlock, RawChain, type RawStep } from './raw-chain.ts';

const STATEMENT_LIMIT_S = 60;
const GROUP = 100;

/** A decoder and an indexer, each with a database, behind a chain of raw blocks. */
export class ExampleLedger {
  readonly network: ChainNetwork;
  readonly database: DatabaseCoordinates;
  readonly chain: RawChain;
  readonly #decoder: DecoderStore;
  readonly #feed: BlockFeed;
  readonly #source: DecoderSource;
  readonly #store: IndexerStore;

  private constructor(
    database: DatabaseCoordinates,
    network: ChainNetwork,
    parts: { chain: RawChain; decoder: DecoderStore; feed: BlockFeed; source: DecoderSource; store: IndexerStore }
  ) {
    this.database = database;
    this.network = network;
    this.chain = parts.chain;
    this.#decoder = parts.decoder;
    this.#feed = parts.feed;
    this.#source = parts.source;
    this.#store = parts.store;
  }

  /** @param times  of the first blocks, which are empty, in epoch seconds */
  static async open(network: ChainNetwork, profile: Profile, times: readonly number[]): Promise<ExampleLedger> {
    const chain = new RawChain(profile.payloadMagic);
    for (const time of times) chain.add(time, []);
    const databases = [await createDatabase('decoder'), await createDatabase('indexer')] as const;
    const rules = scanRules(network, profile.payloadMagic);
    const read = async (txids: readonly string[]) => txids.map((id) => chain.transaction(id)!);
    const scan = async ({ from, count, wanted }: WatchedRange) => {
      const blocks = chain.blocks
        .slice(from, from + count)
        .map((block) => scanBlock(block.bytes, block, rules, new Set(wanted)));
      return { blocks: await resolveSources(blocks, read, new Map(), rules), sizeBytes: 1_000 };
    };
    const feed = new BlockFeed({ versions: network.addresses, parallelism: 1, scan });
    const decoder = await openDecoderStore(databases[0], { dispenserLimitHeight: 0 });
    atEnd(() => decoder.database.close());
    const first = { ...network, genesisHash: chain.blocks[0]!.hash };
    const source = await DecoderSource.open(databases[0], first, STATEMENT_LIMIT_S);
    atEnd(async () => source.close());
    const store = await IndexerStore.open(databases[1], rulesOf(profile, network, 'EXAMPLES'), STATEMENT_LIMIT_S);
    atEnd(async () => store.close());
    const ledger = new ExampleLedger(databases[1], network, { chain, decoder, feed, source, store });
    await ledger.#follow(0);
    return ledger;
  }

  /** Adds a block with these transactions, decodes it and carries it out. */
  async add(time: number, steps: readonly RawStep[]): Promise<RawBlock> {
    const block = this.chain.add(time, steps);
    await this.#follow(block.height);
    return block;
  }

  /** Adds blocks without transactions. */
  async addEmpty(times: readonly number[]): Promise<void> {
    const from = this.chain.blocks.length;
    for (const time of times) this.chain.add(time, []);
    await this.#follow(from);
  }

  /** Takes every block above a height back, and carries them out again after `meanwhile`. */
  async rewind(height: number, meanwhile: () => Promise<void>): Promise<void> {
    await this.#store.rollBack(height + 1);
    await meanwhile();
    await this.#index(height + 1);
  }

  async #follow(from: number): Promise<void> {
    const tip = this.chain.blocks.length - 1;
    const { signal } = new AbortController();
    for (let next = from; next <= tip; ) {
      const blocks = await this.#feed.take(next, tip, await this.#decoder.paymentMarks(this.network.addresses), signal);
      await this.#decoder.writeBlocks(blocks);
      next += blocks.length;
    }
    await this.#index(from);
  }

  async #index(from: number): Promise<void> {
    for (let next = from; next < this.chain.blocks.length; ) {
      const group = await this.#source.readBlocks(next, GROUP);
      await addAllBlocks(this.#store, group!.blocks);
      next += group!.blocks.length;
    }
  }
}
