import { setTimeout as sleep } from 'node:timers/promises';
import { syncVariables } from '../config/sync.ts';
import { readBaseUrl } from '../config/variables.ts';
import { PlatformError } from '../errors.ts';
import { checkAlive, type ProbedDatabase, probeSync } from '../sync/probe.ts';
import type { Command, Environment } from './command.ts';
import { readOptions } from './options.ts';
import { loadSettings } from './settings.ts';

const variables = { SYNC_API_KEY: syncVariables.SYNC_API_KEY, SYNC_API_PORT: syncVariables.SYNC_API_PORT };
const WATCH_EVERY_MS = 1_000;
/** Puts the cursor at the top of an empty terminal. */
const CLEAR = '\u001b[2J\u001b[H';

/** `platform-node status`: how a running sync service is. Exit code 0 healthy, 1 degraded, down or halted, 69 unreachable. */
export const statusCommand: Command = {
  name: 'status',
  summary: 'asks a running sync service how its databases are',
  variables,
  options: [
    '--url <url>     base URL of the service; default http://127.0.0.1:<SYNC_API_PORT>',
    '--key <key>     its SYNC_API_KEY; default: the variable SYNC_API_KEY, which no process list shows',
    '--live          only whether GET /livez is answered: 0 or 69, for the health checks of containers',
    '--json          the answer as JSON',
    '--watch         again every second, until it is interrupted'
  ],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const options = readOptions(argv, {
      url: { type: 'string' },
      key: { type: 'string' },
      live: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      watch: { type: 'boolean', default: false }
    });
    const { SYNC_API_KEY, SYNC_API_PORT } = (await loadSettings({ name: 'status', variables }, env)).values;
    const url = readUrl(options.url ?? `http://127.0.0.1:${SYNC_API_PORT}`);
    const address = { url, apiKey: options.key ?? SYNC_API_KEY?.[0] };
    if (options.live) {
      await checkAlive(address);
      return 0;
    }
    while (options.watch) {
      const shown = await probeSync(address).then(
        ({ mode, databases }) => statusTable(mode, databases),
        (fault: Error) => fault.message
      );
      console.log(`${CLEAR}${address.url}, ${new Date().toLocaleTimeString()}\n\n${shown}`);
      await sleep(WATCH_EVERY_MS);
    }
    const probe = await probeSync(address);
    console.log(
      options.json
        ? JSON.stringify(probe)
        : [statusTable(probe.mode, probe.databases), ...remedies(probe.databases)].join('\n')
    );
    const isUp = probe.databases.every(({ circuit, halt }) => circuit !== null && halt === null);
    return probe.status === 'healthy' && isUp ? 0 : 1;
  }
};

function readUrl(url: string): string {
  try {
    return readBaseUrl(url);
  } catch (caught) {
    throw PlatformError.from(caught, 'COMMAND_INVALID', { option: '--url' });
  }
}

/** What ends each halt. */
function remedies(databases: readonly ProbedDatabase[]): string[] {
  return databases.flatMap(({ name, remedy }) => (remedy === null ? [] : [`${name}: ${remedy}`]));
}

/** One line a database. */
function statusTable(mode: string, databases: readonly ProbedDatabase[]): string {
  const lines = [
    ['database', 'mode', 'state', 'height', 'lag', 'circuit', 'halted'],
    ...databases.map(({ name, state, height, lagBlocks, circuit, halt }) => [
      name,
      mode,
      state || '-',
      String(height ?? '-'),
      String(lagBlocks ?? '-'),
      circuit ?? 'down',
      halt ?? 'no'
    ])
  ];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd()
    )
    .join('\n');
}
