import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../../errors.ts';
import { commandNamed } from '../../services.ts';
import { ASKED_OPTIONS, askEach, findAsked } from '../asked-services.ts';
import type { Command, Environment, OptionTable } from '../command.ts';
import { findInstallation, type Installation } from '../installation.ts';
import { readNumber, readOptions } from '../options.ts';
import { placeVariables } from '../service-address.ts';
import { FileTail, type LogLine, TimelineTail } from './log-tails.ts';

const LOOK_EVERY_MS = 500;
const MAX_LINES = 100_000;

const OPTIONS = {
  ...ASKED_OPTIONS,
  lines: { type: 'string', value: '<n>', default: '50', help: ['newest lines to begin with; default 50'] },
  follow: { type: 'boolean', default: false, help: ['go on until interrupted'] },
  json: { type: 'boolean', default: false, help: ['print each line as JSON, as it is'] }
} as const satisfies OptionTable;

/**
 * Command `platform-node logs`: prints what services of an installation by `up` logged, by their files; of other services the
 * events of their timeline. Exit codes: 0; 69 when no service answers; 73 without log files; 77 when the key is refused.
 */
export const logsCommand = async (): Promise<Command> => ({
  name: 'logs',
  summary: 'prints the log of an installation by up, or the events of running services',
  variables: await placeVariables(),
  options: OPTIONS,
  notes: [
    'With the variables of an installation by up it reads UP_STATE_DIR/logs. Of other services, and with --url, it',
    'shows the timeline: starts, deaths, transitions, blocks and failed messages. Their log is on standard output,',
    'where journalctl, docker logs or kubectl logs read it.'
  ],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const options = readOptions(argv, OPTIONS);
    const most = readNumber('--lines', options.lines, 1, MAX_LINES);
    const installation = options.url === undefined ? findInstallation(env) : null;
    const tails = installation
      ? openFiles(installation, options.service)
      : (await findAsked(options, env)).map((service) => new TimelineTail(service));
    const print = (line: LogLine) => console.log(options.json ? JSON.stringify(line.raw) : line.text);
    const first = await askEach<FileTail | TimelineTail, readonly LogLine[]>(tails, (tail) => tail.read(), warn);
    for (const line of inOrder(first.map(({ answer }) => answer)).slice(-most)) print(line);
    while (options.follow) {
      await sleep(LOOK_EVERY_MS);
      // A service that does not answer may be back at the next look.
      const lines = await Promise.all(tails.map((tail) => tail.read().catch(() => [])));
      for (const line of inOrder(lines)) print(line);
    }
    return 0;
  }
});

/** @throws {PlatformError} COMMAND_INVALID; STATE_UNUSABLE where there are no log files */
function openFiles({ directory, services }: Installation, word: string | undefined): readonly FileTail[] {
  const service = word && commandNamed(word);
  if (service !== undefined && !services.includes(service))
    throw new PlatformError('COMMAND_INVALID', {
      reason: `--service ${service} must be one of ${services.join(', ')}`
    });
  const tails = (service === undefined ? services : [service]).map((name) => new FileTail(directory, name));
  const there = tails.filter(({ exists }) => exists);
  if (there.length > 0) return there;
  throw new PlatformError('STATE_UNUSABLE', {
    reason: `there are no logs of ${service ?? 'services'} in ${directory}`
  });
}

const warn = (line: string) => console.error(`platform-node logs: ${line}`);

function inOrder(lines: readonly (readonly LogLine[])[]): readonly LogLine[] {
  return lines.flat().sort((a, b) => a.at - b.at);
}
