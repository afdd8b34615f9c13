import { format } from 'mysql2';
import type { WireRow } from '../../src/wire/data/messages.ts';
import { above, type Block, blockRow, fork, transfersOf } from './chain.ts';
import type { MemoryServer } from './database/memory-server.ts';
import { TABLES } from './database/replica-database.ts';
import type { Scheduler } from './host/scheduler.ts';

/** While the database is away, or another has a transaction open, it tries again. */
const RETRY_MS = { down: 1_000, busy: 1 } as const;

const insert = (table: string, row: WireRow): string =>
  format(`INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (?)`, [Object.values(row) as string[]]);

/** One transaction. */
interface Part {
  /** The block that shows after it. */
  readonly tip: Block;
  readonly statements: readonly string[];
  /** It leaves nothing half done. */
  readonly isWhole: boolean;
}

/** Writer of a source's database: blocks come and are undone, each at once or in two transactions. */
export class Indexer {
  readonly #server: MemoryServer;
  readonly #scheduler: Scheduler;
  readonly #isCalm: () => boolean;
  /** Newest block in the database. */
  tip: Block;
  #target: Block;
  #isBusy = false;

  /** Makes the database, with the branch of a block in it. @param isCalm then nothing is done in parts */
  constructor(server: MemoryServer, scheduler: Scheduler, tip: Block, isCalm: () => boolean) {
    this.#server = server;
    this.#scheduler = scheduler;
    this.#isCalm = isCalm;
    this.tip = tip;
    this.#target = tip;
    server.change([...TABLES, ...added(above(tip, 0), tip), ...exchanged(new Map(), tip.tokens)]);
  }

  /** Moves the database to another block, as soon as it can be. */
  moveTo(target: Block): void {
    this.#target = target;
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#move();
  }

  #move(): void {
    const [from, to] = [this.tip, this.#target];
    if (from === to) {
      this.#isBusy = false;
      return;
    }
    const base = fork(from, to)!;
    const changes = [...amendments(from, to, base), ...exchanged(from.tokens, to.tokens)];
    const whole = [...undone(from, base), ...added(above(to, base.height), to), ...changes];
    const parts = this.#parts(from, base, to) ?? [{ tip: to, statements: whole, isWhole: true }];
    this.#write(parts, to);
  }

  /** One transaction after another, each with the block that shows after it. */
  #parts(from: Block, base: Block, to: Block): readonly Part[] | null {
    if (this.#isCalm() || !this.#scheduler.chance(0.4)) return null;
    const undo = {
      tip: base,
      statements: [...undone(from, base), ...amendments(from, base, base), ...exchanged(from.tokens, base.tokens)],
      isWhole: true
    };
    const blocks = above(to, base.height);
    // A block without hashes is not seen yet.
    const unseen = blocks.map(({ height }) => `UPDATE blocks SET ledger_hash = NULL WHERE block_index = ${height}`);
    const draft = { tip: base, statements: [...filled(blocks, to), ...unseen], isWhole: false };
    const hashes = blocks.map(({ height, hashes: { ledger_hash } }) =>
      format('UPDATE blocks SET ledger_hash = ? WHERE block_index = ?', [ledger_hash, height])
    );
    const reveal = {
      tip: to,
      statements: [...named(blocks), ...hashes, ...amendments(base, to, base), ...exchanged(base.tokens, to.tokens)],
      isWhole: true
    };
    return [...(base === from ? [] : [undo]), draft, reveal];
  }

  #write([part, ...rest]: readonly Part[], to: Block): void {
    if (part === undefined) {
      this.#move();
      return;
    }
    const wait = this.#server.isUp ? this.#server.isInTransaction && RETRY_MS.busy : RETRY_MS.down;
    if (wait) return void this.#scheduler.after(wait, () => this.#write([part, ...rest], to), null);
    this.#server.change(part.statements);
    this.tip = part.tip;
    // What is undone may come back before another branch does.
    const goOn = () => (part.isWhole && this.#target !== to ? this.#move() : this.#write(rest, to));
    this.#scheduler.after(this.#scheduler.delay(1, part.isWhole ? 3_000 : 500), goOn, null);
  }
}

const undone = ({ height }: Block, base: Block): string[] =>
  height === base.height
    ? []
    : [
        `DELETE FROM transfers WHERE block_index > ${base.height}`,
        `DELETE FROM blocks WHERE block_index > ${base.height}`,
        `DELETE FROM index_addresses WHERE id > ${base.addressCount}`
      ];

/** New lookup rows; they are sent with the next group, whatever block they are of. */
const named = (blocks: readonly Block[]): string[] =>
  blocks.flatMap(({ addresses }) => addresses.map((row) => insert('index_addresses', row)));

const filled = (blocks: readonly Block[], tip: Block): string[] =>
  blocks.flatMap((block) => [insert('blocks', blockRow(block)), ...transferred(transfersOf(tip, block))]);

const transferred = (rows: readonly WireRow[]): string[] => rows.map((row) => insert('transfers', row));

const added = (blocks: readonly Block[], tip: Block): string[] => [...named(blocks), ...filled(blocks, tip)];

/** Transfers of blocks that both share, where they are not the same at one as at the other. */
const amendments = (from: Block, to: Block, base: Block): string[] =>
  above(base, 0)
    .filter((block) => transfersOf(from, block) !== transfersOf(to, block))
    .flatMap((block) => [
      `DELETE FROM transfers WHERE block_index = ${block.height}`,
      ...transferred(transfersOf(to, block))
    ]);

function exchanged(before: Block['tokens'], after: Block['tokens']): string[] {
  const statements = [...before.keys()].filter((tick) => !after.has(tick)).map((tick) => removed(tick));
  for (const [tick, row] of after) {
    const old = before.get(tick);
    if (!old) statements.push(insert('tokens', row));
    else if (old !== row)
      statements.push(format('UPDATE tokens SET ? WHERE tick = ?', [{ id: row['id'], supply: row['supply'] }, tick]));
  }
  return statements;
}

const removed = (tick: string): string => format('DELETE FROM tokens WHERE tick = ?', [tick]);
