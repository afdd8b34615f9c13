import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMAND_NAMES, loadCommand } from '../../src/cli/commands.ts';
import { variableRows } from '../../src/config/describe.ts';
import { ROOT } from '../root.ts';

/** Path of the document. */
export const CONFIGURATION_FILE = join(ROOT, 'docs', 'operating', 'configuration.md');

/** Defaults that depend on the user who starts the service. */
const BY_USER: Readonly<Record<string, string>> = {
  SYNC_STATE_DIR: '`/var/lib/platform-node` for root, else `platform-node` below `$XDG_STATE_HOME`'
};

/** Returns docs/operating/configuration.md: every variable of every command. */
export async function renderConfiguration(): Promise<string> {
  const sections: string[] = [
    '# Configuration',
    "Generated from the schemas by `npm run configuration`. Do not edit.\n\nValues come from the environment, else from `config.json` in the working directory, else from the\nhub (`HUB_API_HOST` or `HUB_VALIDATORS`) for rows marked `(hub: ...)`: from the module\n`<prefix>-<service>` of the service's network, with any prefix. A service of several networks takes\nits port from a module of any network, if they agree. `platform-node <command> --check-config`\nprints each effective value and its origin."
  ];
  for (const name of COMMAND_NAMES) {
    const { variables, summary } = await loadCommand(name);
    if (!variables) continue;
    const rows = variableRows(variables).map(([variable, state, doc]) => {
      const { required, essential } = variables[variable]!;
      const mark = required || essential ? '**' : '';
      return `| ${mark}\`${variable}\`${mark} | ${BY_USER[variable] ?? escapeCell(state)} | ${escapeCell(doc)} |`;
    });
    sections.push(
      `## platform-node ${name}`,
      `${summary}.`,
      ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n')
    );
  }
  return `${sections.join('\n\n')}\n`;
}

const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

if (import.meta.main) writeFileSync(CONFIGURATION_FILE, await renderConfiguration());
