import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../src/db/connection.ts';
import { hasCode } from '../../../src/errors.ts';
import { compareDatabases } from '../../../src/verify/compare.ts';
import type { DatabaseCoordinates, DbType } from '../../../src/wire/data/database.ts';
import { atEnd } from '../cleanup.ts';
import { createDatabase, dropAfterwards } from '../mariadb.ts';
import { type StandInOptions, StandInServer } from '../stand-in/server.ts';
import { UNSENT } from '../stand-in/tables.ts';
import { DECODER_LATE_KINDS } from '../tables-in-use/decoder-late-changes.ts';
import { LATE_KINDS } from '../tables-in-use/late-changes.ts';
import { createLedger, openLedger } from '../tables-in-use/ledger.ts';
import { differences, REPLICA_PREFIX, startTestHub } from './sync-pair.ts';
import { eventually, replicasAt, type SyncProcess, startSyncProcess } from './sync-process.ts';

const FIRST_BLOCKS = 40;
/** Comparing takes its time where there are many tables. */
const COMPARE_PAUSE_MS = 1_000;
/** Rows that vanish, and lookup rows that change: servers of other makes have no words for them. */
const UNSPEAKABLE = new Set(['rewardDeleted', 'addressStamped']);
export const LATE = {
  indexer: LATE_KINDS.filter((kind) => !UNSPEAKABLE.has(kind)),
  decoder: DECODER_LATE_KINDS
} as const;

/** A compatible server over a database of the tables in use, and what starts a real client that follows it. */
export async function follow(dbType: DbType, options: StandInOptions) {
  const source = await createDatabase('compatible');
  const connection = await connect(source);
  atEnd(() => connection.end());
  const ledgerOptions = { dbType, seed: 'compatible' } as const;
  const kinds = LATE[dbType];
  const owner = { ledger: await createLedger(connection, ledgerOptions), late: 0 };
  await owner.ledger.writeBlocks(FIRST_BLOCKS, { actions: 12 });
  const hub = await startTestHub([[dbType, source]]);
  const replica: DatabaseCoordinates = { ...source, name: `${REPLICA_PREFIX}${source.name}` };
  dropAfterwards(replica, replica.name);
  const peer = { asked: [] as string[], server: await StandInServer.start(dbType, source, options) };
  atEnd(() => peer.server.end());
  const startClient = (words: readonly string[] = [], env: Readonly<Record<string, string | number>> = {}) =>
    startSyncProcess(
      {
        HUB_API_HOST: '127.0.0.1',
        HUB_PORT: hub,
        SYNC_MODE: 'client',
        SYNC_SOURCES: peer.server.url,
        ...replicasAt(source),
        REPLICA_DB_PREFIX: REPLICA_PREFIX,
        CLIENT_RECONNECT_DELAY: 100,
        LOG_LEVEL: 'debug',
        ...env
      },
      words
    );
  const local = ['sync_meta', 'merkle_epochs', ...UNSENT[dbType]];
  const settle = async (client: SyncProcess) => {
    let reported: unknown;
    let verdict: Awaited<ReturnType<typeof compareDatabases>> | undefined;
    await eventually(`equal at block ${owner.ledger.height}`, async () => {
      const { body } = await client.get(`/status/${dbType}/litecoin/regtest`);
      reported = body;
      if (body['block_height'] !== owner.ledger.height || body['phase'] !== 'live') return false;
      if (verdict) await sleep(COMPARE_PAUSE_MS);
      // A replica that is just being made anew cannot be compared.
      verdict = await compareDatabases(source, replica, { local, order: false }).catch((fault: unknown) => {
        if (hasCode(fault, 'DATABASE_UNAVAILABLE')) return undefined;
        throw fault;
      });
      return verdict?.equal === true;
    }).catch((fault: Error) => {
      const found = verdict && JSON.stringify(differences(verdict), null, 1);
      throw new Error(`${fault.message}; ${JSON.stringify(reported)}\n${client.log().slice(-5000)}\n${found}`);
    });
    assert.ok(verdict!.tables.length >= (dbType === 'decoder' ? 7 : 100), `${verdict!.tables.length} tables`);
  };
  return {
    source,
    replica,
    owner,
    /** Blocks with changes of older rows, of another kind each; none where there is no such row. */
    writeLate: async (count: number) => {
      for (let done = 0; done < count; owner.late++) {
        const late = [{ kind: kinds[owner.late % kinds.length]!, depth: 1 + (owner.late % 20) }];
        try {
          await owner.ledger.writeBlock({ late });
          done++;
        } catch (fault) {
          if (!/no row of/.test((fault as Error).message)) throw fault;
          await connection.query('ROLLBACK');
          owner.ledger = await openLedger(connection, ledgerOptions);
        }
      }
    },
    peer,
    startClient,
    settle,
    /** Full snapshots that were asked for. */
    downloads: () =>
      [...peer.asked, ...peer.server.requests].filter((path) => /^\/snapshot\/\w+\/\w+\/\w+$/.test(path)).length,
    /** After its end. */
    restartServer: async () => {
      const { port, requests } = peer.server;
      peer.asked.push(...requests);
      peer.server = await StandInServer.start(dbType, source, { ...options, port });
    }
  };
}
