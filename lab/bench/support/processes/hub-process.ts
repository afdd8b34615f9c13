import { service } from '../../../../src/hub/service.ts';
import { startHub } from '../../../../src/hub/start.ts';
import { silentLogger } from '../../../../src/log.ts';
import { boundGarbage } from '../../../../src/process/garbage.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { hubConfigOf } from '../../../../test/support/hub-config.ts';

/** The database, made already, and settings as an operator has them. */
export interface HubAsk {
  readonly type: 'start';
  readonly database: DatabaseCoordinates;
  readonly env: Readonly<Record<string, string>>;
}

// A hub in a process of its own, with the memory of one that an operator starts. It answers with its port. Nothing of node:test is
// loaded here: its hooks would be called at each wake-up.
boundGarbage();
process.on('message', async ({ database, env }: HubAsk) => {
  const { port } = await startHub({ service, config: hubConfigOf(database, env), log: silentLogger });
  process.send?.(port);
});
