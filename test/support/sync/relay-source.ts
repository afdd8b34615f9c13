import { type Logger, silentLogger } from '../../../src/log.ts';
import type { ResumePoint } from '../../../src/replication/source/reading/resume-point.ts';
import { Relay } from '../../../src/sync/relay/relay.ts';
import type { Broadcast } from '../../../src/wire/data/broadcast.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';
import { atEnd } from '../cleanup.ts';
import type { TestNats } from './nats.ts';
import { eventually, temporaryDirectory } from './sync-process.ts';

/** A database of a chain of its own, and a source that broadcasts blocks of it. */
export class RelaySource {
  readonly id: DatabaseId;
  readonly stream: string;
  readonly sent: string[] = [];
  readonly #nats: Pick<TestNats, 'read'>;
  #point: ResumePoint | null = null;

  /** @param nats where its stream is read */
  constructor(nats: Pick<TestNats, 'read'>, chain: string) {
    this.#nats = nats;
    this.id = { dbType: 'decoder', chain, network: 'regtest' };
    this.stream = `PLATFORM_DECODER_${chain.toUpperCase()}_REGTEST`;
  }

  /** Keeps its point, as an actor does when it starts. */
  async keep(relay: Relay, point: ResumePoint | null = this.#point): Promise<void> {
    const kept = point ?? pointAt(0, 'a', 0);
    const before = this.#point;
    this.#point = kept;
    await relay.accept(this.id, [], before, kept);
  }

  /** Broadcasts the block after the last one. @param fill bytes of its rows @param more members of its message */
  async block(relay: Relay, branch = 'a', fill = 10, more: object = {}): Promise<void> {
    const { height, hashes, reorgs = 0 } = this.#point!;
    const next = pointAt(height + 1, branch, reorgs);
    const facts = {
      block_index: height + 1,
      block_time: height + 1,
      ...next.hashes,
      branch,
      ...more,
      fill: 'x'.repeat(fill)
    };
    const text = JSON.stringify({ type: 'block', ...this.id, ...facts });
    const names = { hashes: next.hashes, previous: hashes, schema: 'f1' };
    await this.#broadcast(
      relay,
      { type: 'block', height: height + 1, bytes: Buffer.from(text), infraBytes: null, names },
      next
    );
  }

  /** Orphans the blocks from this height on. */
  async reorg(relay: Relay, fork: number): Promise<void> {
    const next = pointAt(fork - 1, 'a', (this.#point?.reorgs ?? 0) + 1);
    const text = JSON.stringify({ type: 'reorg', ...this.id, block_index: fork });
    await this.#broadcast(relay, { type: 'reorg', height: fork, bytes: Buffer.from(text), infraBytes: null }, next);
  }

  async #broadcast(relay: Relay, message: Broadcast, next: ResumePoint): Promise<void> {
    const before = this.#point;
    this.#point = next;
    this.sent.push(Buffer.from(message.bytes).toString());
    await relay.accept(this.id, [message], before, next);
  }

  /** The bytes of subscribers in the stream, in order. */
  async published(): Promise<string[]> {
    const messages = await this.#nats.read(this.stream);
    return messages.filter(({ head }) => !['break', 'point'].includes(head['Type']!)).map(({ text }) => text);
  }

  async types(): Promise<string[]> {
    return (await this.#nats.read(this.stream)).map(({ head: { Type, Height } }) => `${Type} ${Height}`);
  }

  async isPublished(relay: Relay): Promise<void> {
    await eventually('the stream has everything', async () => {
      const { state, waiting } = relay.view(this.id)!;
      return state === 'publishing' && waiting === 0;
    });
  }
}

export function pointAt(height: number, branch: string, reorgs: number): ResumePoint {
  const hashes = { block_hash: `${branch}${height}` };
  return {
    height,
    blockTime: height,
    hashes,
    reorgs,
    recent: [{ height, hashes }],
    openGroup: null,
    lookupIds: {},
    watches: {}
  };
}

interface OpenOptions {
  readonly directory?: string;
  readonly maxBacklogBytes?: number;
  /** Gets what the relay warns of. */
  readonly warnings?: unknown[];
  /** Whether sources run, which the relay is to notice after 300 ms. */
  readonly isFed?: () => boolean;
}

/** Opens a relay; it is closed when the test file ends. */
export function openRelay(
  { url, creds }: { readonly url: string; readonly creds?: string },
  {
    directory = temporaryDirectory('relay'),
    maxBacklogBytes = 2 ** 30,
    warnings = [],
    isFed = () => true
  }: OpenOptions = {}
): Relay {
  const warn = (...line: unknown[]) => warnings.push(line);
  const log: Logger = Object.assign(Object.create(silentLogger), { warn, child: () => log });
  const relay = new Relay({
    nats: { urls: [url], creds, token: undefined },
    limits: { replicas: 1, keepMs: 3_600_000, maxBytes: 64 * 2 ** 20 },
    directory,
    maxBacklogBytes,
    isFed,
    unfedMs: 300,
    log
  });
  atEnd(() => relay.close());
  return relay;
}
