import Type, { type Static } from 'typebox';
import { OrNull } from '../or-null.ts';

/** The two kinds of replicated databases. */
export const DB_TYPES = ['indexer', 'decoder'] as const;
export type DbType = (typeof DB_TYPES)[number];

/** Chain and network are spelled as the hub's config tree spells coin and network. */
export const NAME_PATTERN = '^[A-Za-z0-9_-]{1,32}$';

export const DbTypeSchema = Type.Union([Type.Literal('indexer'), Type.Literal('decoder')]);
export const DatabaseIdSchema = Type.Object({
  dbType: DbTypeSchema,
  chain: Type.String({ pattern: NAME_PATTERN }),
  network: Type.String({ pattern: NAME_PATTERN })
});

/** The only key of a database in this system; written `indexer/bitcoin/mainnet`. */
export type DatabaseId = Static<typeof DatabaseIdSchema>;

/** Returns `indexer/bitcoin/mainnet`: for maps, logs and paths. */
export function databaseKey({ dbType, chain, network }: DatabaseId): string {
  return `${dbType}/${chain}/${network}`;
}

/** The `schema_version` of each kind's snapshots and messages. */
export const SCHEMA_VERSION: Readonly<Record<DbType, number>> = { indexer: 7, decoder: 3 };

/** Address and account of a MariaDB database. Never logged whole: `pass` is a secret. */
export interface DatabaseCoordinates {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly pass: string;
  readonly name: string;
  /** Unix socket, used instead of host and port when given. */
  readonly socketPath?: string;
  /** PEM of the authorities that sign the server's certificate: the connection is encrypted; absent: it is not. */
  readonly tls?: { readonly ca: string };
}

/** A block's identity: one hash for a decoder, three for an indexer (null where the source has none). */
export type BlockHashes =
  | { readonly block_hash: string | null }
  | {
      readonly ledger_hash: string | null;
      readonly actions_hash: string | null;
      readonly contract_hash: string | null;
    };

const Hash = Type.Optional(OrNull(Type.String({ maxLength: 250 })));

/** Three hashes of an indexer's block or the one of a decoder's, spread into the record that carries them. */
export const HASH_FIELDS = { ledger_hash: Hash, actions_hash: Hash, contract_hash: Hash, block_hash: Hash };

/** Returns the hashes that a database of this kind has, out of an answer. */
export function hashesOf(dbType: DbType, from: Readonly<Record<string, unknown>>): BlockHashes {
  const hash = (name: string) => (typeof from[name] === 'string' ? from[name] : null);
  if (dbType === 'decoder') return { block_hash: hash('block_hash') };
  return { ledger_hash: hash('ledger_hash'), actions_hash: hash('actions_hash'), contract_hash: hash('contract_hash') };
}

/** Returns the hashes of a block that is not known yet. */
export function unknownHashes(dbType: DbType): BlockHashes {
  return hashesOf(dbType, {});
}

/** Message, answer or row that may name a block among its other fields. */
type NamesBlock = { readonly [name in keyof typeof HASH_FIELDS]?: string | null | undefined };

const HASH_NAMES = Object.keys(HASH_FIELDS) as (keyof typeof HASH_FIELDS)[];

/** Returns whether both name the same block: every hash that both sides have is equal, and at least one is. */
export function sameBlock(a: NamesBlock, b: NamesBlock): boolean {
  const shared = HASH_NAMES.filter((name) => a[name] != null && b[name] != null);
  return shared.length > 0 && shared.every((name) => a[name] === b[name]);
}

/** Returns a block's identity as one text, for comparisons of many; null when nothing is known. */
export function blockText(hashes: BlockHashes): string | null {
  const named = Object.entries(hashes).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = named.map(([, hash]) => (hash ?? '').toLowerCase());
  return parts.every((part) => part === '') ? null : parts.join(':');
}
