import { VERSION } from '../../process/program.ts';
import type { Command, Environment } from '../command.ts';
import { optionsOf, spell } from '../common-options.ts';
import { EXIT_LINES } from '../exit-codes.ts';
import { readOptions } from '../options.ts';

/** Command `platform-node man`: prints the man page. */
export const manCommand: Command = {
  name: 'man',
  summary: 'prints the man page',
  notes: [
    'platform-node man > /usr/local/share/man/man1/platform-node.1; or read it at once: platform-node man | man -l -'
  ],

  async run(argv: readonly string[], _: Environment, loadAll: () => Promise<readonly Command[]>): Promise<number> {
    readOptions(argv, {});
    const text = `${manText(await loadAll())}\n`;
    await new Promise((resolve) => process.stdout.write(text, resolve));
    return 0;
  }
};

function manText(commands: readonly Command[]): string {
  return [
    `.TH PLATFORM-NODE 1 "" ${quoted(`platform-node ${VERSION}`)} "platform-node"`,
    '.SH NAME',
    'platform-node \\- exact, provable replicas of per-chain MariaDB databases',
    '.SH SYNOPSIS',
    '.B platform-node',
    '.I command',
    '[options]',
    '.SH COMMANDS',
    ...commands.flatMap(sectionOf),
    '.SH VARIABLES',
    'Services take their settings from the environment, else from config.json in the working directory or the file of',
    '\\-\\-config, else from the hub. A secret may stand in a file: NAME_FILE names it; without it the systemd credential',
    `NAME is read. ${plain('platform-node <command> --help')} lists the variables of a command with their defaults.`,
    '.SH EXIT STATUS',
    ...EXIT_LINES.map(plain),
    '.SH SEE ALSO',
    plain('docs/operating/ of the distribution: first-hour.md, configuration.md, runbook.md')
  ].join('\n');
}

/** Returns the section of one command. */
function sectionOf(command: Command): readonly string[] {
  const { name, summary, words = [], notes = [] } = command;
  const options = Object.entries(optionsOf(command)).map(([option, row]) => [spell(option, row), row.help] as const);
  const rows = [...words.map(({ word, help }) => [word, help] as const), ...options];
  return [
    `.SS ${plain(name)}`,
    plain(summary),
    ...rows.flatMap(([term, help]) => ['.TP', `.B ${plain(term)}`, ...help.map(plain)]),
    ...(notes.length > 0 ? ['.PP', ...notes.map(plain)] : [])
  ];
}

/** Returns a line that roff prints as it is: no escape, no macro, no hyphen for a minus. */
function plain(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

const quoted = (text: string) => `"${plain(text).replaceAll('"', '""')}"`;
