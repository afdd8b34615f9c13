import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMAND_NAMES, loadCommand } from '../../src/cli/commands.ts';
import { variableRows } from '../../src/config/describe.ts';
import { ROOT } from '../root.ts';

export const CONFIGURATION_FILE = join(ROOT, 'docs', 'configuration.md');

/** Defaults that depend on who starts the service. */
const BY_USER: Readonly<Record<string, string>> = {
  SYNC_STATE_DIR: '`/var/lib/platform-node` for root, else `platform-node` below `$XDG_STATE_HOME`'
};

/** Every variable of every command, as the schemas have them. */
export async function renderConfiguration(): Promise<string> {
  const sections: string[] = [
    '# Configuration',
    "Generated from the schemas by `npm run configuration`. Do not edit.\n\nValues come from the environment, else from `config.json` in the working directory, else, where a\nrow says so, from the hub (`HUB_API_HOST` or `HUB_VALIDATORS`): from the module `<prefix>-<service>`\nof the service's network, whatever the prefix; of a service that serves several networks its port\nfrom a module of any network, where they do not differ. `platform-node <command> --check-config`\nprints those in force and where each came from."
  ];
  for (const name of COMMAND_NAMES) {
    const { variables, summary } = await loadCommand(name);
    if (!variables) continue;
    const rows = variableRows(variables).map(
      ([variable, state, doc]) => `| \`${variable}\` | ${BY_USER[variable] ?? escapeCell(state)} | ${escapeCell(doc)} |`
    );
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
