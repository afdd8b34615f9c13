import { service } from '../../../src/hub/service.ts';
import { startHub } from '../../../src/hub/start.ts';
import { type Logger, silentLogger } from '../../../src/log.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { hubConfigOf } from '../hub-config.ts';
import { createDatabase } from '../mariadb.ts';

/** A hub's answer to one HTTP request. */
interface HubAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each test says what it expects
  readonly json: any;
}

/** A hub in this process, on a free port of the loopback. */
export interface RunningHub {
  readonly port: number;
  readonly url: string;
  readonly database: DatabaseCoordinates;
  post(body: unknown, headers?: Readonly<Record<string, string>>): Promise<HubAnswer>;
  call(method: string, params?: unknown, headers?: Readonly<Record<string, string>>): Promise<HubAnswer>;
  stop(): Promise<void>;
}

/** Starts a hub. @param env as an operator sets it @param database default: a new one */
export async function runHub(
  env: Readonly<Record<string, string>> = {},
  { database, log = silentLogger }: { readonly database?: DatabaseCoordinates; readonly log?: Logger } = {}
): Promise<RunningHub> {
  const own = database ?? (await createDatabase('hub'));
  const hub = await startHub({ service, config: hubConfigOf(own, env), log });
  const url = `http://127.0.0.1:${hub.port}`;
  const post: RunningHub['post'] = async (body, headers = {}) => {
    const init = {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers }
    };
    const response = await fetch(`${url}/`, init);
    return { status: response.status, json: JSON.parse(await response.text()) };
  };
  let stopped: Promise<void> | undefined;
  return {
    port: hub.port,
    url,
    database: own,
    post,
    call: (method, params = {}, headers = {}) => post({ jsonrpc: '2.0', id: 1, method, params }, headers),
    stop: () => (stopped ??= hub.stop())
  };
}
