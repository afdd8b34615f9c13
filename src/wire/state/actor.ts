import { type DatabaseId, DB_TYPES } from '../data/database.ts';

/**
 * Task of an actor, in one word, such as `source` or `tracker`: the folder of `actors/` that its thread starts from. Sources and
 * replicas are of one database each, the others of a network.
 */
export type ActorKind = string;

/** The actor of a service that works for one network. */
export interface ActorId {
  readonly kind: ActorKind;
  readonly chain: string;
  readonly network: string;
}

/** The name of an actor in its process: its database, or else its work and its network. */
export type ActorName = DatabaseId | ActorId;

/** Returns `indexer/bitcoin/mainnet` or `tracker/bitcoin/mainnet`: for maps, logs and paths. That of a database is its `databaseKey`. */
export function actorKey(name: ActorName): string {
  return `${subjectOf(name)}/${name.chain}/${name.network}`;
}

/** Returns the first word of the key. */
export function subjectOf(name: ActorName): string {
  return 'dbType' in name ? name.dbType : name.kind;
}

/** Returns the name whose key has these words. */
export function actorNamed(subject: string, chain: string, network: string): ActorName {
  const dbType = DB_TYPES.find((type) => type === subject);
  return dbType ? { dbType, chain, network } : { kind: subject, chain, network };
}
