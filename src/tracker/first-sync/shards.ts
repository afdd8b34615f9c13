import { MADE, type RecordKind, SCRIPT, SPENT } from '../coins/records.ts';
import type { ReducedChanges } from '../coins/reduce.ts';

const LEAST_SHARDS = 16;
const MOST_SHARDS = 4_096;
/** Blocks per shard: their records fit memory many times. */
const BLOCKS_PER_SHARD = 256;
/** Most bytes of one kind in one row. As hex they stay far below the server's packet limit. */
const PART_BYTES = 512 * 1024;

/** Records of one shard in one row. */
export interface SpoolPart extends ReducedChanges {
  readonly shard: number;
  readonly part: number;
}

/** Returns the number of shards for so many blocks, a power of two. */
export function shardsFor(blocks: number): number {
  const wanted = 2 ** Math.ceil(Math.log2(Math.max(1, blocks / BLOCKS_PER_SHARD)));
  return Math.min(MOST_SHARDS, Math.max(LEAST_SHARDS, wanted));
}

/** Splits records by the first bits of their keys. @param changes sorted by key */
export function* partByShards({ made, spent, scripts }: ReducedChanges, shards: number): Generator<SpoolPart> {
  const cuts = {
    made: cutsOf(MADE, made, shards),
    spent: cutsOf(SPENT, spent, shards),
    scripts: cutsOf(SCRIPT, scripts, shards)
  };
  for (let shard = 0; shard < shards; shard++) {
    const of = {
      made: piecesOf(MADE, made.subarray(cuts.made[shard], cuts.made[shard + 1])),
      spent: piecesOf(SPENT, spent.subarray(cuts.spent[shard], cuts.spent[shard + 1])),
      scripts: piecesOf(SCRIPT, scripts.subarray(cuts.scripts[shard], cuts.scripts[shard + 1]))
    };
    const parts = Math.max(of.made.length, of.spent.length, of.scripts.length);
    for (let part = 0; part < parts; part++)
      yield {
        shard,
        part,
        made: of.made[part] ?? NONE,
        spent: of.spent[part] ?? NONE,
        scripts: of.scripts[part] ?? NONE
      };
  }
}

const NONE = Buffer.alloc(0);

/** Returns the offset at which the records of each shard begin, then the end of all. */
function cutsOf({ sizeBytes }: RecordKind, records: Buffer, shards: number): Uint32Array {
  const shift = 16 - Math.log2(shards);
  const cuts = new Uint32Array(shards + 1).fill(records.length);
  let shard = 0;
  for (let at = 0; at < records.length; at += sizeBytes) {
    const found = records.readUInt16BE(at) >>> shift;
    while (shard <= found) cuts[shard++] = at;
  }
  return cuts;
}

function piecesOf({ sizeBytes }: RecordKind, records: Buffer): Buffer[] {
  const stepBytes = Math.floor(PART_BYTES / sizeBytes) * sizeBytes;
  return Array.from({ length: Math.ceil(records.length / stepBytes) }, (_, piece) =>
    records.subarray(piece * stepBytes, (piece + 1) * stepBytes)
  );
}
