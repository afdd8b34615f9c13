import assert from 'node:assert/strict';
import type { SigningKey } from '../../../src/consensus/auth-signature.ts';
import type { Envelope } from '../../../src/hub/federation/gossip/envelope.ts';
import type { Gossip } from '../../../src/hub/federation/gossip/long-messages.ts';
import type { Mesh } from '../../../src/hub/federation/gossip/mesh.ts';
import { type HubSet, roundRulesOf, rulesOf, setIdOf } from '../../../src/hub/federation/gossip/signatures.ts';
import { readOpenMatters, readSwapsOf } from '../../../src/hub/federation/journal/matter-state.ts';
import { RoundJournal } from '../../../src/hub/federation/journal/round-journal.ts';
import { isWellFormed } from '../../../src/hub/federation/journal/set-state.ts';
import { ValidatorHub } from '../../../src/hub/federation/node/validator-hub.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { PATIENCE_MS } from '../patience.ts';
import { type JournalDatabase, openJournal } from './database.ts';
import { KEYS, startHub } from './mesh-hub.ts';

/** Keys of a set of four, in ascending order: the first one leads view 0. */
export const MEMBERS = KEYS.slice(0, 4);
export const SET: HubSet = { keys: MEMBERS.map(({ pubkey }) => pubkey), quorum: 'byzantine' };

/** A hub in validator mode with a database of its own. */
export interface Node {
  readonly key: SigningKey;
  readonly mesh: Mesh;
  readonly hub: ValidatorHub;
  readonly store: JournalDatabase;
  readonly halts: unknown[];
  stop(): Promise<void>;
}

interface NodeOptions {
  /** Default: the test fails. */
  readonly onEvidence?: () => void;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Default: one without rounds of prices. */
  readonly set?: HubSet;
  /** Called with each message that it takes. */
  readonly watch?: (envelope: Envelope) => void;
  /** Port of its mesh; default: a free one. */
  readonly port?: number;
  /** Returns what speaks to the other hubs; default: the mesh itself. */
  readonly speak?: (mesh: Mesh) => Gossip;
  /** Default: the log is kept whole. */
  readonly logKeep?: number;
  readonly writeTimeoutMs?: number;
  readonly longestWriteMs?: number;
}

/** Starts a hub of the set. @param database  default: a new one */
export async function startNode(
  key: SigningKey,
  seeds: readonly string[],
  database?: DatabaseCoordinates,
  {
    onEvidence = () => assert.fail('no hub here signs two things'),
    now = Date.now,
    set = SET,
    watch,
    port = 0,
    speak = (mesh) => mesh,
    logKeep = Number.MAX_SAFE_INTEGER,
    writeTimeoutMs = PATIENCE_MS,
    longestWriteMs = PATIENCE_MS
  }: NodeOptions = {}
): Promise<Node> {
  const roundRules = roundRulesOf(set);
  const store = await openJournal(database, set);
  const halts: unknown[] = [];
  let hub: ValidatorHub | null = null;
  const { mesh } = await startHub(key, {
    seeds,
    port,
    set: setIdOf(set),
    members: () => new Set(set.keys),
    limits: { heartbeatMs: 2_000 },
    standing: () => hub?.standing ?? { view: 0, seq: 0 },
    onMessage: (envelope) => {
      watch?.(envelope);
      hub?.receive(envelope);
    }
  });
  hub = new ValidatorHub({
    key,
    set: setIdOf(set),
    journal: store.journal,
    roundJournal: new RoundJournal(store.connection),
    roundRules,
    readOpenMatters: () => readOpenMatters(store.connection),
    readOwnSwaps: () => readSwapsOf(store.connection, key.pubkey),
    onRound: () => undefined,
    disabled: [],
    gossip: speak(mesh),
    now,
    writeTimeoutMs,
    longestWriteMs,
    logKeep,
    rules: rulesOf(set, key.pubkey, isWellFormed),
    onEvidence,
    onFalse: () => undefined,
    onForgotten: () => undefined,
    onTooLong: (type, bytes) => assert.fail(`${type} of ${bytes} bytes`),
    onTick: () => undefined,
    onHalt: (reason) => halts.push(reason)
  });
  const own = hub;
  const stop = async () => {
    await own.stop();
    await mesh.stop();
    store.connection.destroy();
  };
  await hub.start().catch(async (caught: unknown) => {
    await stop();
    throw caught;
  });
  return { key, mesh, hub, store, halts, stop };
}
