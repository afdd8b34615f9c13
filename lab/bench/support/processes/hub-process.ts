import { silentLogger } from '../../../../src/log.ts';
import { boundGarbage } from '../../../../src/process/garbage.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { runHub } from '../../../../test/support/hub/run-hub.ts';

/** The database, made already, and settings as an operator has them. */
export interface HubAsk {
  readonly type: 'start';
  readonly database: DatabaseCoordinates;
  readonly env: Readonly<Record<string, string>>;
}

// A hub in a process of its own, with the memory of one that an operator starts. It answers with its port.
boundGarbage();
process.on('message', async ({ database, env }: HubAsk) => {
  const { port } = await runHub(env, { database, log: silentLogger });
  process.send?.(port);
});
