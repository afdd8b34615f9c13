import { createHash } from 'node:crypto';
import type { Random } from '../../../src/devnet/random.ts';
import type { ColumnDefinition, TableDefinition } from '../../../src/indexer/definitions/definition.ts';
import { sqlTypeOf } from '../../../src/indexer/definitions/statement.ts';
import { type Row, sqlTime, type Value } from './rows.ts';

/** Ids that a row may refer to. */
export interface Pools {
  readonly address: () => number;
  readonly tick: () => number;
  readonly pubkey: () => number;
  readonly memo: () => number;
  readonly status: () => number;
  readonly coin: () => number;
  readonly fiat: () => number;
  readonly mimeType: () => number;
  readonly action: () => number;
}

/** Place at which a row is written. */
export interface Place {
  readonly random: Random;
  readonly pools: Pools;
  readonly height: number;
  /** Epoch seconds. */
  readonly time: number;
  /** The action that the row hangs on; of tables without one it is not read. */
  readonly actionIndex: number;
  /** Another number at each call, never one of an earlier block. */
  readonly serial: () => number;
}

const TEXTS = [
  'thanks',
  '',
  'naïve café',
  'it\'s \\ "quoted"',
  'NULL',
  '\t tab',
  'A',
  'a',
  '0',
  '€ 5',
  'ß ss'
] as const;
const WIDE_TEXTS = ['😀 four bytes', '𝔘nicode', '😀😁'] as const;
const CHAINS = ['BTC', 'LTC', 'DOGE'] as const;

/**
 * A row of a table with a value in every column but AUTO_INCREMENT and generated ones, by the names and types of its columns.
 *
 * @param given values that are not left to chance
 */
export function fillRow(table: TableDefinition, place: Place, given: Row = {}): Row {
  const columns = table.columns.filter(({ extra }) => extra !== 'auto' && !extra.startsWith('generated'));
  const row = Object.fromEntries(columns.map((column) => [column.name, given[column.name] ?? null]));
  for (const column of columns)
    if (given[column.name] === undefined) row[column.name] = pickValue(column, table, place);
  return { ...row, ...('id' in given ? { id: given['id']! } : {}) };
}

/** Numbers of a block or an action that are the row's own: never left out. */
const OWN = new Set(['action_index', 'block_index', 'close_block']);

function pickValue(column: ColumnDefinition, table: TableDefinition, place: Place): Value {
  const { random } = place;
  const { name, nullable } = column;
  if (nullable && !OWN.has(name) && random.between(1, 4) === 1) return null;
  const { sqlType } = sqlTypeOf(column.type);
  const isText = /char|text|enum|blob/.test(sqlType);
  return isText ? textOf(name, sqlType, table, place) : numberOf(name, sqlType, place);
}

function numberOf(name: string, sqlType: string, place: Place): Value {
  const { random, pools, height, actionIndex, serial, time } = place;
  if (/^(datetime|timestamp)/.test(sqlType)) return sqlTime(time);
  if (sqlType.startsWith('decimal')) return `0.${random.between(1000, 9999)}`;
  if (name === 'action_index') return actionIndex;
  if (name === 'block_index' || name === 'close_block') return height;
  if (/^tinyint/.test(sqlType)) return random.between(0, 1);
  if (/^smallint/.test(sqlType)) return random.between(0, 9);
  const id = idOf(name, pools);
  if (id !== null) return id;
  if (/^(epoch_height|round_reference|round_number|checkpoint_seq|policy_seq|seq)$/.test(name)) return serial();
  if (name === 'home_list_index') return actionIndex;
  if (/_index$/.test(name)) return pools.action();
  if (/block/.test(name)) return height + random.between(-90, 5_000);
  if (/time|deadline$|expir|expire_at|_at$|window|refund/.test(name)) return time + random.between(1, 10 ** 6);
  return random.between(1, 10 ** 6);
}

function idOf(name: string, pools: Pools): number | null {
  if (/(^|_)tick\d?_id$|^tick\d_id$/.test(name)) return pools.tick();
  if (/status_id$/.test(name)) return pools.status();
  if (/pubkey_id$/.test(name)) return pools.pubkey();
  if (/memo_id$/.test(name)) return pools.memo();
  if (/coin\d?_id$/.test(name)) return pools.coin();
  if (name === 'fiat_id') return pools.fiat();
  if (name === 'type_id') return pools.mimeType();
  if (name === 'id' || /_id$/.test(name)) return pools.address();
  return null;
}

function textOf(name: string, sqlType: string, table: TableDefinition, place: Place): Value {
  const { random, serial } = place;
  const members = /^enum\((.*)\)/.exec(sqlType)?.[1];
  if (members) return random.pick(members.split(',').map((member) => member.slice(1, -1)) as [string, ...string[]]);
  if (sqlType.includes('blob')) return Buffer.from(hex(`${serial()}`, 2 * random.between(0, 60)), 'hex');
  const length = Number(/char\((\d+)\)/.exec(sqlType)?.[1] ?? 60_000);
  if (/(hash|root|txid|pubkey|publisher|equiv_key|^sig|_sig|signer|node)/.test(name) || /^char/.test(sqlType))
    return hex(`${name}${serial()}`, length === 128 ? 128 : Math.min(64, length));
  if (/(request|call|transfer|snapshot|match|challenge)_id$/.test(name)) return hex(`${name}${serial()}`, 64);
  if (/json|gates|legs|pairs|rounds|delivered_to|permissions/.test(name))
    return JSON.stringify({ n: random.between(0, 999), of: random.pick(['x', 'y']) }).slice(0, length);
  if (/chain|^coin$|native_coin/.test(name)) return random.pick(CHAINS).slice(0, length);
  if (/network/.test(name)) return 'mainnet';
  if (length <= 2) return String(random.between(0, 1));
  if (/_block$|min_depth|decimals/.test(name)) return String(random.between(1, 10 ** 6));
  if (
    /amount|price|supply|fee|value|weight|escrow|quorum|floor|threshold|volume|_bid|_ask|high|low|change|max_mint|mint_address_max|share/.test(
      name
    )
  )
    return `${random.between(1, 10 ** 6)}.${random.between(1, 9)}`.slice(0, length);
  const charset = /CHARACTER SET (\w+)/.exec(sqlType)?.[1] ?? table.charset;
  if (charset === 'ascii') return `https://hub.invalid/${serial()}`;
  const text = random.pick(charset === 'utf8mb4' ? [...TEXTS, ...WIDE_TEXTS] : TEXTS);
  const longer = sqlType.includes('medium') && random.between(1, 4) === 1 ? text.repeat(random.between(1, 60)) : text;
  return [...longer].slice(0, Math.floor(length / 2)).join('');
}

/** Returns some hexadecimal digits that follow from a text; at most 128. */
export function hex(text: string, digits = 64): string {
  return createHash('sha512').update(text).digest('hex').slice(0, digits);
}
