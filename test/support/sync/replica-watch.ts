import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { connect } from '../../../src/db/connection.ts';
import { inSnapshot } from '../../../src/db/in-snapshot.ts';
import type { SourceActorData } from '../../../src/replication/protocol.ts';
import { readSnapshotChecksums } from '../../../src/replication/source/reading/snapshot-checksums.ts';
import { readTip } from '../../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates, DbType } from '../../../src/wire/data/database.ts';
import { MemoryReplica } from './memory-replica.ts';
import { SourceThread, TEST_KEY } from './source-thread.ts';

/** A source actor and a replica in memory that follows it; after each settling both must hold the same. */
export class ReplicaWatch {
  replica: MemoryReplica;
  source: SourceThread;
  readonly #test: TestContext;
  readonly #database: DatabaseCoordinates;
  readonly #dbType: DbType;
  #taken = 0;

  private constructor(test: TestContext, database: DatabaseCoordinates, dbType: DbType, replica: MemoryReplica) {
    this.#test = test;
    this.#database = database;
    this.#dbType = dbType;
    this.replica = replica;
    this.source = this.#open({});
  }

  static async start(test: TestContext, database: DatabaseCoordinates, dbType: DbType): Promise<ReplicaWatch> {
    return new ReplicaWatch(test, database, dbType, await MemoryReplica.bootstrap(database, dbType));
  }

  #open(options: Partial<SourceActorData>): SourceThread {
    const source = SourceThread.start(this.#test, this.#database, this.#dbType, options);
    source.isPlain = true; // a replica in memory takes whole groups alone
    return source;
  }

  /** Waits until this height is broadcast, applies what came, and compares every table. */
  readonly settle = async (height: number): Promise<void> => {
    await this.source.reaches(height);
    for (const message of this.source.messages.slice(this.#taken)) this.replica.apply(message);
    this.#taken = this.source.messages.length;
    assert.equal(this.replica.height, height);
    assert.deepEqual(await this.replica.differences(this.#database), []);
  };

  /** Loads the replica anew from a snapshot of the source as it is now, of which the source takes note. */
  async reload(): Promise<void> {
    const connection = await connect(this.#database, { finderKey: TEST_KEY });
    const checksums = await inSnapshot(connection, async () => {
      const layout = await readLayout(connection, this.#dbType, []);
      return readSnapshotChecksums(connection, layout, (await readTip(connection, layout.heads!))!);
    });
    await connection.end();
    this.replica = await MemoryReplica.bootstrap(this.#database, this.#dbType);
    await this.source.handle.ask('snapshot.reconcile', { buildId: 'reload', checksums });
    this.#taken = this.source.messages.length;
  }

  /** Ends the thread as a crash would. */
  async kill(): Promise<void> {
    await this.source.kill();
  }

  /** Starts a successor where the last broadcast ended. */
  resume(): void {
    this.source = this.#open({ resume: this.source.resume, generation: 2 });
    this.#taken = 0;
  }
}
