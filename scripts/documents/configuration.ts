import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMAND_NAMES, loadCommand } from '../../src/cli/commands.ts';
import { variableRows } from '../../src/config/describe.ts';
import { ROOT } from '../root.ts';

/** Path of the document. */
export const CONFIGURATION_FILE = join(ROOT, 'docs', 'operating', 'configuration.md');

/** Defaults that depend on the user who starts the service. */
const STATE_DIRECTORY = '`/var/lib/platform-node` for root, else `platform-node` below `$XDG_STATE_HOME`';
const BY_USER: Readonly<Record<string, string>> = {
  STATE_DIR: STATE_DIRECTORY,
  SYNC_STATE_DIR: STATE_DIRECTORY,
  UP_STATE_DIR: STATE_DIRECTORY
};

const PLACES = `Values come from the environment, else from the configuration file, else from the hub
(\`HUB_API_HOST\` or \`HUB_VALIDATORS\`) for rows marked \`(hub: ...)\`: from the module
\`<prefix>-<service>\` of the service's network, with any prefix. A service of several networks takes
its port from a module of any network, if they agree. \`platform-node <command> --check-config\`
prints each effective value and its origin. The configuration file is \`config.json\` in the working
directory, or the one that \`--config\` or \`PLATFORM_NODE_CONFIG\` names: one JSON object, or, if its
name does not end in \`.json\`, lines of \`NAME=value\` as systemd and Docker read them. One file may
serve several services. A name in it that no command knows is told, and one that is nearly a known
name prevents the start.`;
const SECRETS = `Each secret may stand in a file of its own: \`NAME_FILE\`, such as \`DECODER_DB_PASS_FILE\`, names it.
Without it, the systemd credential \`NAME\` is read (\`LoadCredential=DECODER_DB_PASS:/etc/...\`). Line
ends at the end of such a file are not part of the secret. It is read at the start.`;

/** Returns docs/operating/configuration.md: every variable of every command. */
export async function renderConfiguration(): Promise<string> {
  const sections: string[] = [
    '# Configuration',
    'Generated from the schemas by `npm run configuration`. Do not edit.',
    PLACES,
    SECRETS
  ];
  const printed = new Map<string, string>();
  for (const name of COMMAND_NAMES) {
    const { variables, summary } = await loadCommand(name);
    if (!variables) continue;
    const rows = variableRows(variables).map(([variable, state, doc]) => {
      const { required, essential } = variables[variable]!;
      const mark = required || essential ? '**' : '';
      return `| ${mark}\`${variable}\`${mark} | ${(state !== 'unset' && BY_USER[variable]) || escapeCell(state)} | ${escapeCell(doc)} |`;
    });
    const table = ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
    const former = printed.get(table);
    printed.set(table, former ?? name);
    const text = former === undefined ? table : `Its variables are those of \`platform-node ${former}\`.`;
    sections.push(`## platform-node ${name}`, `${summary}.`, text);
  }
  return `${sections.join('\n\n')}\n`;
}

const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

if (import.meta.main) writeFileSync(CONFIGURATION_FILE, await renderConfiguration());
