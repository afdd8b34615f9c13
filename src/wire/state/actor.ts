import { type DatabaseId, DB_TYPES, type DbType } from '../data/database.ts';

const NETWORK_ACTORS = ['decoder', 'indexer', 'tracker', 'encoder', 'explorer', 'hub', 'prices', 'miner'] as const;
type NetworkActorKind = (typeof NETWORK_ACTORS)[number];

/** What an actor does. Sources and replicas are of one database each, the others of a network. */
export type ActorKind = 'source' | 'replica' | NetworkActorKind;

/** The actor of a service that works for one network. */
export interface ActorId {
  readonly kind: NetworkActorKind;
  readonly chain: string;
  readonly network: string;
}

/** The name of an actor in its process: its database, or else its work and its network. */
export type ActorName = DatabaseId | ActorId;

/** `indexer/bitcoin/mainnet`, `tracker/bitcoin/mainnet`: for maps, logs and paths. That of a database is its `databaseKey`. */
export function actorKey(name: ActorName): string {
  return `${subjectOf(name)}/${name.chain}/${name.network}`;
}

/** The first word of a key: a kind of database, or what the actor does. */
export type ActorSubject = DbType | NetworkActorKind;
export const ACTOR_SUBJECTS: readonly ActorSubject[] = [...new Set([...DB_TYPES, ...NETWORK_ACTORS])];

/** The first word of the key. */
export function subjectOf(name: ActorName): ActorSubject {
  return 'dbType' in name ? name.dbType : name.kind;
}

/** The name whose key has these words. */
export function actorNamed(subject: ActorSubject, chain: string, network: string): ActorName {
  const dbType = DB_TYPES.find((type) => type === subject);
  return dbType ? { dbType, chain, network } : { kind: subject as NetworkActorKind, chain, network };
}
