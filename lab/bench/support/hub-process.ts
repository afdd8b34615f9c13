import { silentLogger } from '../../../src/log.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { runHub } from '../../../test/support/hub/run-hub.ts';

/** The database, made already, and settings as an operator has them. */
export interface HubAsk {
  readonly type: 'start';
  readonly database: DatabaseCoordinates;
  readonly env: Readonly<Record<string, string>>;
}

// A hub in a process of its own. It answers with its port.
process.on('message', async ({ database, env }: HubAsk) => {
  const { port } = await runHub(env, { database, log: silentLogger });
  process.send?.(port);
});
