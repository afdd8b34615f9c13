import { randomBytes } from 'node:crypto';
import type { Connection } from '../../src/db/core/connection.ts';
import { inSnapshot } from '../../src/db/core/in-snapshot.ts';
import { SerialConnection } from '../../src/db/core/serial-connection.ts';
import { readTip } from '../../src/db/tables/block-hashes.ts';
import { readDigests, type TableDigests } from '../../src/db/tables/digest.ts';
import { readLayout, type SourceLayout } from '../../src/db/tables/source-layout.ts';
import { PlatformError } from '../../src/errors.ts';
import type { BlockHashes } from '../../src/wire/data/database.ts';
import { DIGEST_ALGORITHM, type DigestKey } from '../../src/wire/data/digest.ts';
import type { SourceActorData } from '../protocol.ts';

/** Passes whose keys are good: of the tip, and of the one before it or of the same tip before something changed in place. */
const KEPT = 2;
const KEY_BYTES = 16;
const CHALLENGES_PER_HOUR = 4;
const HOUR_MS = 3_600_000;

/** The snapshot that digests are read in. */
export interface DigestTip {
  readonly height: number;
  readonly hashes: BlockHashes;
  readonly fingerprint: string;
  /** Those that were broadcast before it. */
  readonly reorgs: number;
}

/** Digests of all tables under one key, made or being made. */
export interface DigestPass {
  readonly head: DigestKey;
  readonly tip: DigestTip;
  readonly tables: Promise<readonly TableDigests[]>;
  /** Null until they are made. */
  made: readonly TableDigests[] | null;
  /** A table has changed in place since: the next request for a key gets another one. */
  isStale: boolean;
}

/** Whether both saw the same branch of the chain and the same schema. */
export function isSameTip(a: DigestTip, b: DigestTip): boolean {
  const text = ({ height, hashes, fingerprint, reorgs }: DigestTip) =>
    JSON.stringify([height, hashes, fingerprint, reorgs]);
  return text(a) === text(b);
}

/** Reads schema and tip inside a snapshot. @throws {PlatformError} BLOCKS_EMPTY */
export async function readDigestTip(
  connection: Connection,
  { id, localTables }: Pick<SourceActorData, 'id' | 'localTables'>,
  reorgs: number
): Promise<{ readonly layout: SourceLayout; readonly tip: DigestTip }> {
  const layout = await readLayout(connection, id.dbType, localTables);
  const tip = layout.heads && (await readTip(connection, layout.heads));
  if (!tip) throw new PlatformError('BLOCKS_EMPTY', { reason: 'No blocks in database' });
  return { layout, tip: { height: tip.height, hashes: tip.hashes, fingerprint: layout.fingerprint, reorgs } };
}

/**
 * Makes the digests of all tables, one pass at a time on a connection of its own, one pass for each tip, shared by all callers.
 *
 * A key is drawn once its snapshot is open: no writer of the rows could know it. It is public at once.
 */
export class DigestPasses {
  readonly #data: Pick<SourceActorData, 'id' | 'localTables'>;
  readonly #serial: SerialConnection;
  readonly #reorgs: () => number;
  #running = 0;
  #kept: DigestPass[] = [];
  #starting: Promise<DigestPass> | undefined;
  #isChallenged = false;
  #challengedAt: number[] = [];

  constructor(
    data: Pick<SourceActorData, 'id' | 'localTables'>,
    open: () => Promise<Connection>,
    reorgs: () => number
  ) {
    this.#data = data;
    this.#serial = new SerialConnection(open);
    this.#reorgs = reorgs;
  }

  /** The pass of a tip, or of a later one; returns when it has begun. */
  async at(tip: DigestTip): Promise<DigestPass> {
    const known = this.#kept.find((pass) => !pass.isStale && isSameTip(pass.tip, tip));
    if (known) return known;
    this.#starting ??= this.#start(randomKey)
      .then((pass) => {
        this.#keep(pass);
        return pass;
      })
      .finally(() => {
        this.#starting = undefined;
      });
    return this.#starting;
  }

  /** @throws {PlatformError} DIGEST_KEY_UNKNOWN when the key is not kept any more */
  under(key: string): DigestPass {
    const pass = this.#kept.find(({ head }) => head.key === key);
    if (!pass) throw unknownKey();
    return pass;
  }

  /** A pass under a key that the asker chose, for nobody else. @throws {PlatformError} RATE_LIMITED */
  async challenge(key: string): Promise<DigestPass> {
    const now = performance.now();
    this.#challengedAt = this.#challengedAt.filter((at) => now - at < HOUR_MS);
    if (this.#isChallenged || this.#challengedAt.length >= CHALLENGES_PER_HOUR) {
      const reason = `a challenge reads all tables: one at a time and ${CHALLENGES_PER_HOUR} an hour are allowed`;
      throw new PlatformError('RATE_LIMITED', { reason });
    }
    this.#isChallenged = true;
    this.#challengedAt.push(now);
    try {
      const pass = await this.#start(() => key);
      await pass.tables;
      return pass;
    } finally {
      this.#isChallenged = false;
    }
  }

  /** Ends what is under way. */
  destroy(): void {
    this.#serial.destroy();
  }

  #keep(pass: DigestPass): void {
    this.#kept = [pass, ...this.#kept].slice(0, KEPT);
    pass.tables.catch(() => {
      this.#kept = this.#kept.filter((each) => each !== pass);
    });
  }

  #start(drawKey: () => string): Promise<DigestPass> {
    const begun = Promise.withResolvers<DigestPass>();
    let pass: DigestPass | undefined;
    this.#running++;
    const tables: Promise<readonly TableDigests[]> = this.#serial
      .use((connection) => {
        const reorgs = this.#reorgs();
        return inSnapshot(connection, async () => {
          const { layout, tip } = await readDigestTip(connection, this.#data, reorgs);
          const { height, hashes, fingerprint } = tip;
          const key = drawKey();
          const head = { block_height: height, ...hashes, fingerprint, algorithm: DIGEST_ALGORITHM, key } as const;
          pass = { head, tip, tables, made: null, isStale: false };
          begun.resolve(pass);
          pass.made = await readDigests(connection, layout, height, key);
          return pass.made;
        });
      })
      .finally(() => {
        if (--this.#running === 0) this.#serial.destroy();
      });
    tables.catch((caught: unknown) => begun.reject(caught));
    return begun.promise;
  }
}

/** Also thrown when the tip has moved: a read now is of another snapshot than the key's digests. */
export function unknownKey(): PlatformError {
  return new PlatformError('DIGEST_KEY_UNKNOWN', { reason: 'the key of these digests has expired' });
}

const randomKey = (): string => randomBytes(KEY_BYTES).toString('hex');
