import type { ChainNetwork } from '../coin/chains.ts';
import type { NodeNeeds } from '../coin/node/node-chain.ts';
import type { NodeRpcOptions } from '../coin/node/node-rpc.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';

/** A database that a service uses. */
export interface DatabaseNeed {
  readonly coordinates: DatabaseCoordinates;
  /** Rights of its account on the database, such as SELECT. */
  readonly rights: readonly string[];
  /** Rights on single tables, by their names. */
  readonly tableRights?: Readonly<Record<string, readonly string[]>>;
  /** Service that makes the database; null where this one does. */
  readonly madeBy: string | null;
  /** Whether rows are loaded in bulk. */
  readonly loadsInBulk?: boolean;
  /** Whether changes are read from the binary log: where that is possible, or always. */
  readonly binlog?: 'auto' | 'required';
}

/** A coin node that a service uses. */
export interface NodeNeed {
  readonly network: ChainNetwork;
  readonly rpc: NodeRpcOptions;
  readonly needs: NodeNeeds;
}

/** A directory, or another service, with the variable that names it. */
interface Named {
  readonly variable: string;
  readonly place: string;
}

/** Needs of a service by its settings. `platform-node doctor` checks them. */
export interface Needs {
  readonly databases?: readonly DatabaseNeed[];
  readonly node?: NodeNeed;
  /** Private directories. */
  readonly directories?: readonly Named[];
  /** Base URLs of services of the platform. */
  readonly services?: readonly Named[];
  /** Sentences about what the hub says and cannot be used. */
  readonly problems?: readonly string[];
}
