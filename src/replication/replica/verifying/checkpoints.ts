import type { Outcome } from '../../../../machines/sync/replica.ts';
import { isQuorum, signedWeight } from '../../../consensus/quorum.ts';
import type { Checkpoint } from '../../../wire/log/checkpoint.ts';
import type { SourceClient } from '../../client/source-client.ts';
import { type BlockHead, headLayout, readBlockHeads } from '../../tables/block-hashes.ts';
import { markMissing } from '../parts/doubt.ts';
import type { Replica } from '../parts/replica.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources' | 'halt'>;

const ASK_LIMIT_MS = 10_000;
/** Signed checkpoints above the replica that are kept until it is there. */
const MAX_AHEAD = 16;
const COMPARED = [
  'ledger_hash',
  'actions_hash',
  'contract_hash',
  'block_hash',
  'block_merkle_root',
  'state_root'
] as const;
/** The reason of a halt by a signed checkpoint that names other hashes than the replica has. */

interface Anchor {
  readonly checkpoint: Checkpoint;
  readonly source: string;
  /** Time since which the replica is known to differ from it. */
  contradictedAt: number | null;
}

/**
 * Compares an indexer replica with checkpoints that the pinned validators signed. Sources are asked in the background, beside
 * the blocks; what they sign is compared by the writer between two groups.
 *
 * @see the specification, "Configuration variables": VERIFY_CHECKPOINT_QUORUM
 */
export class ReplicaCheckpoints {
  readonly #replica: Parts;
  readonly #stopping = new AbortController();
  #anchors: readonly Anchor[] = [];
  #asking = false;
  #dueAt = 0;
  /** The highest checkpoint that the replica was found to be equal to. */
  anchoredHeight: number | null = null;

  constructor(replica: Parts) {
    this.#replica = replica;
  }

  close(): void {
    this.#stopping.abort();
  }

  /** Halts when a signed checkpoint at or below the replica's height contradicts it for longer than a reorg takes to come. */
  async check(): Promise<Outcome | null> {
    const { data } = this.#replica;
    const { state } = this.#replica.store;
    const { checkpoints } = data;
    if (!checkpoints || data.id.dbType !== 'indexer') return null;
    const height = state.height!;
    if (height >= this.#dueAt && !this.#asking) {
      this.#dueAt = height + checkpoints.interval;
      void this.#askAll();
    }
    for (const anchor of this.#anchors.filter(({ checkpoint }) => checkpoint.block_index <= height)) {
      const mismatches = await this.#compare(anchor);
      if (mismatches !== null) {
        anchor.contradictedAt ??= performance.now();
        if (performance.now() - anchor.contradictedAt < data.hashConfirmTimeoutMs) continue;
        await this.#halt(anchor, mismatches);
        return { kind: 'halted' };
      }
      this.#anchors = this.#anchors.filter((each) => each !== anchor);
    }
    return null;
  }

  async #askAll(): Promise<void> {
    this.#asking = true;
    await Promise.all(this.#replica.sources.clients.map((client) => this.#ask(client)));
    this.#asking = false;
  }

  async #ask(client: SourceClient): Promise<void> {
    const { log } = this.#replica;
    const { url } = client;
    try {
      const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(ASK_LIMIT_MS)]);
      const checkpoint = await client.latestCheckpoint(signal);
      if (checkpoint === null || checkpoint.block_index <= (this.anchoredHeight ?? -1)) return;
      const { validator_signatures: signatures, ...record } = checkpoint;
      const weight = signedWeight(record, signatures, this.#replica.data.checkpoints!.validators);
      const facts = { source: url, block: checkpoint.block_index, ...weight };
      if (!isQuorum(weight))
        return log.warn(facts, `the checkpoint of ${url} is not signed by a quorum and is not used`);
      this.#anchors = [...this.#anchors, { checkpoint, source: url, contradictedAt: null }].slice(-MAX_AHEAD);
    } catch (caught) {
      if (!this.#stopping.signal.aborted)
        log.warn({ err: caught, source: url }, "fetching a source's checkpoint failed");
    }
  }

  /** @returns what differs; null when nothing does, or the replica does not hold that block */
  async #compare({ checkpoint, source }: Anchor): Promise<Readonly<Record<string, unknown>> | null> {
    const { block_index: height } = checkpoint;
    const own = await this.#readOwn(height);
    if (own === null) return null;
    const differing = COMPARED.filter((name) => {
      const [ownValue, signedValue] = [own[name], checkpoint[name]];
      return ownValue && signedValue && ownValue.toLowerCase() !== signedValue.toLowerCase();
    });
    if (differing.length > 0)
      return Object.fromEntries(differing.map((name) => [name, { checkpoint: checkpoint[name], replica: own[name] }]));
    this.anchoredHeight = Math.max(height, this.anchoredHeight ?? -1);
    this.#replica.log.info({ block: height, source }, 'the replica agrees with a checkpoint that a quorum signed');
    this.#replica.progress.changed();
    return null;
  }

  async #halt({ checkpoint, source }: Anchor, mismatches: Readonly<Record<string, unknown>>): Promise<void> {
    await markMissing(this.#replica);
    await this.#replica.halt.raise('checkpoint-mismatch', checkpoint.block_index, mismatches, [source]);
  }

  /** Reads the replica's own hashes of a block; null for a block that it does not hold, such as one below its floor. */
  async #readOwn(height: number): Promise<Readonly<Record<string, string | null>> | null> {
    const { writer, context } = this.#replica.store;
    const { heads, typed } = context.schema;
    const blocks = typed.get('blocks');
    if (!heads || !blocks) return null;
    const [head] = await readBlockHeads(writer, heads, height, height);
    if (!head) return null;
    const hasBlockHash = blocks.columns.some(({ name }) => name === 'block_hash' || name === 'block_hash_id');
    const coin = hasBlockHash ? headLayout([blocks], 'decoder') : null;
    const [block] = coin ? await readBlockHeads(writer, coin, height, height) : [];
    return { ...hashesOf(head), ...(block ? hashesOf(block) : {}), ...head.commitments };
  }
}

const hashesOf = ({ hashes }: BlockHead) => hashes as Readonly<Record<string, string | null>>;
