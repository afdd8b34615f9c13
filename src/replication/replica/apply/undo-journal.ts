import { rows, type Statements } from '../../../db/connection.ts';
import { type Kind, quoteText } from '../../../db/sql-literal.ts';
import { write } from '../../../db/statement-batch.ts';
import type { BlockHashes } from '../../../wire/data/database.ts';
import type { Span } from '../database/heights.ts';
import type { CanonicalRow, ReplicaTable } from '../database/schema.ts';

/** Position of the replica before a group. */
export interface GroupBase {
  readonly height: number;
  readonly blockTime: number | null;
  readonly hashes: BlockHashes | null;
}

/** One kept step of a group: rows that it took away, or added where a delete by scope would miss them. */
export interface UndoStep {
  readonly kind: 'removed' | 'added';
  readonly table: string;
  /** Columns of the rows, as they were called then. */
  readonly columns: readonly string[];
  /** Kinds of the columns then; absent in journals of an earlier version, as the shape is. */
  readonly kinds?: readonly Kind[];
  /** Shape of the table then. */
  readonly shape?: string;
  readonly rows: readonly CanonicalRow[];
}

/** One group of the journal. */
export interface JournalGroup {
  readonly first: number;
  readonly last: number;
  readonly base: GroupBase;
}

const BODY_CHARACTERS = 512 * 1024;

/** One row of the journal; `seq` is dealt by the database. */
type Entry = readonly [kind: string, table: string | null, body: string];

const literal = (text: string | null): string => (text === null ? 'NULL' : quoteText(text));

/** Writes the steps of one group, within its transaction, in the order in which they happened: few statements for many small steps. */
export class UndoJournal {
  readonly #connection: Statements;
  readonly #first: number;
  readonly #last: number;
  #waiting: Entry[] = [];
  #waitingCharacters = 0;

  constructor(connection: Statements, first: number, last: number) {
    this.#connection = connection;
    this.#first = first;
    this.#last = last;
  }

  async open(base: GroupBase): Promise<void> {
    await this.#insert('group', null, JSON.stringify(base));
  }

  async keep(kind: UndoStep['kind'], table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    const { shape, codecs } = table;
    const head = JSON.stringify({
      columns: codecs.map(({ name }) => name),
      kinds: codecs.map(({ kind }) => kind),
      shape
    });
    let texts: string[] = [];
    let size = 0;
    const flush = async () => {
      await this.#insert(kind, table.name, `${head.slice(0, -1)},"rows":[${texts.join(',')}]}`);
      texts = [];
      size = 0;
    };
    for (const row of list) {
      const text = JSON.stringify(row);
      texts.push(text);
      size += text.length;
      if (size > BODY_CHARACTERS) await flush();
    }
    if (texts.length > 0) await flush();
  }

  /** Writes the steps that wait. Call it before the group is committed, or they are lost. */
  async flush(): Promise<void> {
    if (this.#waiting.length === 0) return;
    // The driver would escape each quotation mark of a text that is full of them.
    const entries = this.#waiting.map((entry) => `(${[this.#first, this.#last, ...entry.map(literal)].join(', ')})`);
    this.#waiting = [];
    this.#waitingCharacters = 0;
    const columns = '(group_first, group_last, kind, table_name, body)';
    await write(this.#connection, `INSERT INTO sync_undo ${columns} VALUES ${entries.join(', ')}`);
  }

  async #insert(...entry: Entry): Promise<void> {
    this.#waiting.push(entry);
    this.#waitingCharacters += entry[2].length;
    if (this.#waitingCharacters > BODY_CHARACTERS) await this.flush();
  }
}

/** Reads the groups that end above a height, newest first. */
export async function readGroupsAbove(connection: Statements, height: number): Promise<JournalGroup[]> {
  const found = await rows<{ group_first: number; group_last: number; body: string }>(
    connection,
    "SELECT group_first, group_last, body FROM sync_undo WHERE group_last > ? AND kind = 'group' ORDER BY group_last DESC",
    [height]
  );
  return found.map((row) => ({
    first: Number(row.group_first),
    last: Number(row.group_last),
    base: JSON.parse(row.body) as GroupBase
  }));
}

/** Reads the blocks of the group that ends at a height; null when the journal has none. */
export async function readGroupAt(connection: Statements, height: number): Promise<Span | null> {
  const [row] = await rows<{ group_first: number }>(
    connection,
    "SELECT group_first FROM sync_undo WHERE group_last = ? AND kind = 'group'",
    [height]
  );
  return row ? { first: Number(row.group_first), last: height } : null;
}

/** Yields a group's steps, the last one first, a few at a time. */
export async function* readSteps(connection: Statements, { last }: JournalGroup): AsyncGenerator<UndoStep> {
  const found = await rows<{ seq: number }>(
    connection,
    "SELECT seq FROM sync_undo WHERE group_last = ? AND kind <> 'group' ORDER BY seq DESC",
    [last]
  );
  for (const { seq } of found) {
    const [row] = await rows(connection, 'SELECT kind, table_name, body FROM sync_undo WHERE seq = ?', [seq]);
    const kept = JSON.parse(String(row!['body'])) as Pick<UndoStep, 'columns' | 'kinds' | 'shape' | 'rows'>;
    yield { kind: row!['kind'] as UndoStep['kind'], table: String(row!['table_name']), ...kept };
  }
}

/** Forgets the groups that end at or below a height. */
export async function pruneJournal(connection: Statements, height: number): Promise<void> {
  await write(connection, 'DELETE FROM sync_undo WHERE group_last <= ?', [height]);
}

/** Forgets the groups that end above a height: they were undone. */
export async function cutJournal(connection: Statements, height: number): Promise<void> {
  await write(connection, 'DELETE FROM sync_undo WHERE group_last > ?', [height]);
}
