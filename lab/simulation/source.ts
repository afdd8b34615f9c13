import { gzipSync } from 'node:zlib';
import { DIGEST_ALGORITHM, type DigestQuery } from '../../src/wire/data/digest.ts';
import type { WireRow, WireRows } from '../../src/wire/data/messages.ts';
import { above, at, type Block, blockRow, fork, sharedByName, transfersOf } from './chain.ts';
import { sha256 } from './database/checksums.ts';
import { answerDigest, type DigestLie } from './digests.ts';
import type { Peer, Reply, ServerSocket } from './host/network.ts';
import type { Scheduler } from './host/scheduler.ts';
import { ID } from './world.ts';

/** Fingerprint of the one schema that all sources have. */
const FINGERPRINT = 'f'.repeat(64);
const STATUS_MS = 60_000;

/** Takes note of what sources say, when whoever listens has heard it. */
export interface Listener {
  onBlock(url: string, block: Block): void;
  /** A digest of a block was told. */
  compared(url: string, tip: Block): void;
  /** A digest was told that is a lie. */
  deceived(): void;
}

/** Probability that a reorg is over before the source looks: then it sees the part that hashes show. */
const LATE = 0.5;
/** Probability that it is asked for digests while a table is not as broadcast, or a server that is a block behind answers. */
const RESTLESS = { unsettled: 0.05, behind: 0.1 };

/** Probability that it does not know what a client has missed. */
const UNKNOWN = 0.3;

const json = (status: number, value: unknown, arrived?: () => void): Reply => ({
  status,
  headers: {},
  body: Buffer.from(JSON.stringify(value)),
  ...(arrived ? { arrived } : {})
});

/** A sync server as its clients see it: a view of the tree of blocks, told by stream and by request. */
export class SimulatedSource implements Peer {
  readonly url: string;
  isUp = true;
  tip: Block;
  /** Tip of its answers to some requests, while its stream has another; null: the same everywhere. */
  otherTip: Block | null = null;
  /** Messages of its stream are left out or come twice, or none comes at all. */
  stutters: 'no' | 'some' | 'all' = 'no';
  digestLie: DigestLie | null = null;
  /** It tells by its stream alone. */
  isMute = false;
  restless = RESTLESS;
  readonly #offersDigests: boolean;
  readonly #scheduler: Scheduler;
  readonly #listener: Listener;
  readonly #sockets = new Set<ServerSocket>();
  readonly #keys = new WeakMap<Block, string>();
  #keysDrawn = 0;
  /** Reorgs that it told: of blocks with the same hashes, a client cannot tell by itself that they are others. */
  #forks: { readonly fork: number; readonly height: number }[] = [];
  /** The blocks from whose rows clients go on with the next group: the last one that was told, and others of its name. */
  #bases: readonly Block[];

  constructor(url: string, tip: Block, offersDigests: boolean, scheduler: Scheduler, listener: Listener) {
    this.url = url;
    this.tip = tip;
    this.#bases = [tip];
    this.#offersDigests = offersDigests;
    this.#scheduler = scheduler;
    this.#listener = listener;
    this.#tellStatus();
  }

  /** Moves on to another tip, and tells its subscribers how; where only rows changed, with the next block. */
  adopt(tip: Block, looksLate = this.#scheduler.chance(LATE)): void {
    const last = this.#bases[0]!;
    if (tip === this.tip) return;
    this.tip = tip;
    const { height } = (looksLate ? sharedByName(last, tip) : fork(last, tip))!;
    const announced = above(tip, height);
    if (announced.length === 0 && height === last.height) return;
    const bases = this.#bases.map((base) => at(base, height)!);
    this.#bases = announced.length === 0 ? bases : [tip];
    if (height < last.height) this.#forks.push({ fork: height + 1, height: last.height });
    for (const socket of this.#sockets) {
      if (height < last.height) this.#tell(socket, message('reorg', { block_index: height + 1 }));
      for (const block of announced)
        this.#tell(socket, blockMessage(block, announced, bases), () => this.#listener.onBlock(this.url, block));
    }
  }

  #tell(socket: ServerSocket, text: string, arrived?: () => void): void {
    const times = { no: 1, some: this.#scheduler.random.between(0, 2), all: 0 }[this.stutters];
    for (let time = 0; time < times; time++) socket.send(text, arrived);
  }

  goDown(): void {
    this.isUp = false;
    for (const socket of this.#sockets) socket.cut();
  }

  subscribed(socket: ServerSocket): void {
    this.#sockets.add(socket);
    this.#sendStatus(socket);
  }

  left(socket: ServerSocket): void {
    this.#sockets.delete(socket);
  }

  answer(path: string): Reply {
    if (this.isMute) return json(503, { error: 'nothing is told' });
    const tip = this.otherTip !== null && this.#scheduler.chance(0.5) ? this.otherTip : this.tip;
    const { pathname, searchParams } = new URL(path, 'http://source');
    const [, route] = pathname.split('/');
    const tell = () => this.#listener.onBlock(this.url, tip);
    const since = /\/since\/(\d+)$/.exec(pathname)?.[1];
    switch (route) {
      case 'status':
        return json(200, { block_height: tip.height, ...tip.hashes }, tell);
      case 'transparency': {
        const [page, limit] = [Number(searchParams.get('page')), Number(searchParams.get('limit'))];
        const blocks = above(tip, 0)
          .reverse()
          .slice(page * limit, (page + 1) * limit);
        const results = blocks.map(({ height, hashes }) => ({ block_index: height, ...hashes }));
        return json(200, { results }, () => {
          for (const block of blocks) this.#listener.onBlock(this.url, block);
        });
      }
      case 'snapshot':
        return this.#snapshot(tip, since === undefined ? null : Number(since), searchParams);
      case 'digest': {
        if (!this.#offersDigests) return json(404, { error: 'no such route: digest' });
        const seen = this.#scheduler.chance(this.restless.behind) ? (tip.parent ?? tip) : tip;
        return pathname.endsWith('/key') ? json(200, this.#digestHead(seen)) : this.#digest(seen, searchParams);
      }
      default:
        return json(404, { error: `no such route: ${route}` });
    }
  }

  /** A tip's digests have a key of their own, also where its hashes are those of another one. */
  #digestHead(tip: Block) {
    const key = this.#keys.get(tip) ?? sha256(`${this.url} ${this.#keysDrawn++}`).slice(0, 32);
    this.#keys.set(tip, key);
    const { height, hashes } = tip;
    return { block_height: height, ...hashes, fingerprint: FINGERPRINT, algorithm: DIGEST_ALGORITHM, key };
  }

  #digest(tip: Block, query: URLSearchParams): Reply {
    const number = (name: string) => Number(query.get(name));
    const block = query.has('block') ? number('block') : null;
    const range = query.has('from') ? { from: number('from'), to: number('to'), block } : null;
    const asked: DigestQuery = { table: query.get('table'), range, rows: query.has('rows'), ids: !query.has('ids') };
    const lie = this.digestLie;
    const head = this.#digestHead(tip);
    if (query.get('key') !== head.key) return json(409, { error: 'the key of these digests has expired' });
    const found = answerDigest(tip, asked, head.key, lie);
    if (found === null) return json(400, { error: `table ${asked.table} is not part of the comparison` });
    const isSettled = this.#bases[0] === this.tip && !this.#scheduler.chance(this.restless.unsettled);
    const settled = query.has('settled') ? { settled: isSettled } : {};
    return json(200, { ...head, ...settled, ...found }, () => {
      this.#listener.compared(this.url, tip);
      if (lie) this.#listener.deceived();
    });
  }

  #snapshot(tip: Block, since: number | null, query: URLSearchParams): Reply {
    const until = Number(query.get('until') ?? tip.height);
    if (since !== null && since >= tip.height) return json(404, { error: `No data available after block ${since}` });
    const end = at(tip, until)!;
    const isWhole = !query.has('until');
    const skips = query.has('skip_lookups');
    const { first, parts } = since === null ? { first: 1, parts: null } : this.#olderThan(end, since, query);
    const blocks = above(end, first - 1);
    const tables = {
      ...(skips ? {} : { index_addresses: above(end, 0).flatMap(({ addresses }) => addresses) }),
      blocks: blocks.map(blockRow),
      transfers: blocks.flatMap((block) => transfersOf(end, block))
    };
    if (end === this.tip && !this.#bases.includes(end)) this.#bases = [...this.#bases, end];
    const tokens = isWhole ? [...end.tokens.values()] : [];
    const whole = [...(skips ? [] : ['index_addresses']), ...(isWhole ? ['tokens'] : [])];
    const facts = { schema_version: 7, block_height: end.height, ...(since === null ? {} : { since_block: since }) };
    const rest =
      since === null
        ? { tables: filled({ ...tables, tokens }) }
        : { ...parts, tables: filled(tables), updated_rows: filled({ tokens }) };
    const { ledger_hash, actions_hash, contract_hash } = end.hashes;
    // Headers are there before the body, and they name the block.
    this.#scheduler.after(0, () => this.#listener.onBlock(this.url, end));
    return {
      status: 200,
      headers: {
        'content-encoding': 'gzip',
        'x-block-height': String(end.height),
        'x-ledger-hash': ledger_hash,
        'x-actions-hash': actions_hash,
        'x-contract-hash': contract_hash,
        'x-snapshot-schema-version': '7',
        'x-schema-fingerprint': FINGERPRINT,
        ...(since === null ? {} : { 'x-whole-tables': whole.join(','), 'x-first-block': String(first) })
      },
      body: gzipSync(JSON.stringify({ ...facts, ...rest }), { level: 1 }),
      arrived: () => {
        for (const block of blocks) this.#listener.onBlock(this.url, block);
      }
    };
  }

  /** The lowest block that comes whole, and what changed below it where that is known. */
  #olderThan(end: Block, since: number, query: URLSearchParams) {
    const older = query.get('older');
    if (older === null) return { first: since + 1, parts: null };
    if (end !== this.#bases[0] || this.#scheduler.chance(UNKNOWN)) return { first: Number(older), parts: null };
    const hidden = this.#forks.filter(({ fork, height }) => fork <= since && since <= height);
    const first = Math.min(since + 1, ...hidden.map(({ fork }) => fork));
    const base = at(end, first - 1)!;
    const heights = [...end.amended.keys()].filter(
      (height) => height < first && end.amended.get(height) !== base.amended.get(height)
    );
    const rows = heights.flatMap((height) => transfersOf(end, at(end, height)!));
    const spans = heights.map((height) => [height, height]);
    const parts = { older_spans: { transfers: [{ column: 'block_index', spans }] }, older_rows: { transfers: rows } };
    return { first, parts: heights.length === 0 ? { older_spans: {}, older_rows: {} } : parts };
  }

  #tellStatus(): void {
    this.#scheduler.after(STATUS_MS, () => {
      for (const socket of this.#sockets) this.#sendStatus(socket);
      this.#tellStatus();
    });
  }

  #sendStatus(socket: ServerSocket): void {
    const { tip } = this;
    const body = { block_height: tip.height, block_time: tip.time, ...tip.hashes };
    socket.send(message('status', body), () => this.#listener.onBlock(this.url, tip));
  }
}

const filled = (tables: WireRows | Record<string, readonly unknown[]>) =>
  Object.fromEntries(Object.entries(tables).filter(([, rows]) => rows.length > 0));

const message = (type: string, body: object): string => JSON.stringify({ type, ...ID, ...body });

/**
 * One block of a group that was read in one snapshot: what is mutable, and rows of older blocks, come with the last.
 *
 * @param bases the blocks, all of one name, of which clients may have the rows; of the first block there is none
 */
export function blockMessage(block: Block, group: readonly Block[], bases: readonly Block[]): string {
  const { height, parent, time, hashes, addresses } = block;
  const last = group.at(-1)!;
  const changes = block === last ? changesBetween(bases, last) : {};
  return message('block', {
    schema_version: 7,
    block_index: height,
    block_time: time,
    ...hashes,
    group: { first: group[0]!.height, last: last.height },
    previous_hash: parent?.hashes ?? null,
    schema_fingerprint: FINGERPRINT,
    data: filled({
      index_addresses: addresses,
      blocks: [blockRow(block)],
      transfers: transfersOf(last, block)
    }),
    ...changes
  });
}

/** All rows of some blocks. */
const ofBlocks = (blocks: readonly Block[], rows: readonly WireRow[]) => ({
  column: 'block_index',
  spans: blocks.map(({ height }) => [height, height]),
  rows
});

/** Returns the changes of tokens and of older blocks that the last block of a group reports. */
function changesBetween(bases: readonly Block[], tip: Block) {
  const { tokens } = tip;
  const isElsewhere = (row: WireRow) =>
    bases.some((base) => base.tokens.get(String(row['tick']))?.['supply'] !== row['supply']);
  const gone = new Set(bases.flatMap((base) => [...base.tokens.keys()]).filter((tick) => !tokens.has(tick)));
  const older = bases.length === 0 ? [] : above(at(tip, bases[0]!.height)!, 0);
  const blocks = older.filter((block) => bases.some((base) => at(base, block.height)!.time !== block.time));
  const amended = older.filter((block) =>
    bases.some((base) => transfersOf(base, at(base, block.height)!) !== transfersOf(tip, block))
  );
  return {
    updated_rows: filled({ tokens: [...tokens.values()].filter(isElsewhere) }),
    deleted_rows: filled({ tokens: [...gone].map((tick) => ({ tick })) }),
    ranges: {
      blocks: ofBlocks(blocks, blocks.map(blockRow)),
      transfers: ofBlocks(
        amended,
        amended.flatMap((block) => transfersOf(tip, block))
      )
    }
  };
}
