import { helpTable } from '../config/describe.ts';
import type { Command } from './command.ts';
import { listCommands } from './commands.ts';
import { optionsOf, spell } from './common-options.ts';
import { EXIT_LINES } from './exit-codes.ts';

/** Returns the text of `platform-node --help`. */
export async function overallHelp(): Promise<string> {
  const commands = await listCommands();
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    'platform-node: exact, provable replicas of per-chain MariaDB databases',
    '',
    'Usage: platform-node <command> [options]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'platform-node <command> --help lists its variables with their defaults.',
    'platform-node <command> --check-config prints each effective value and its origin.',
    'platform-node --version prints the version, --licences the licences of all its parts.',
    '',
    ...EXIT_LINES
  ].join('\n');
}

/** Returns the text of `platform-node <command> --help`. */
export function commandHelp(command: Command): string {
  const { name, summary, variables, words = [], notes = [] } = command;
  const rows = Object.entries(optionsOf(command)).map(([option, row]) => ({
    name: spell(option, row),
    help: row.help
  }));
  const lines = [...helpLines([...words.map(({ word, help }) => ({ name: word, help })), ...rows]), ...notes];
  return [
    `platform-node ${name}: ${summary}`,
    '',
    `Usage: platform-node ${[name, words.map(({ word }) => word).join(' | ')].filter(Boolean).join(' ')} [options]`,
    '',
    ...lines.map((line) => `  ${line}`),
    ...(variables
      ? [
          '',
          'Variables, from the environment, else from config.json in the working directory, else from the hub for those marked (hub: ...).',
          'A secret may stand in a file: NAME_FILE names it; without it the systemd credential NAME is read.',
          helpTable(variables)
        ]
      : [])
  ].join('\n');
}

/** Returns name and meaning of each row, the meanings below each other. */
function helpLines(rows: readonly { readonly name: string; readonly help: readonly string[] }[]): readonly string[] {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows.flatMap(({ name, help: [first = '', ...more] }) => [
    `${name.padEnd(width)}  ${first}`,
    ...more.map((line) => `${' '.repeat(width)}  ${line}`)
  ]);
}
