import { writeFileSync } from 'node:fs';
import { variableRows } from '../../config/describe.ts';
import { upVariables } from '../../config/up.ts';
import type { Variables } from '../../config/variables.ts';
import { PlatformError } from '../../errors.ts';
import { loadService, SERVICE_COMMANDS } from '../../services.ts';
import type { Command, OptionTable } from '../command.ts';
import { readArguments } from '../options.ts';

const NAMES = `up, or services of ${SERVICE_COMMANDS.join(', ')}`;

const OPTIONS = {
  out: {
    type: 'string',
    value: '<file>',
    help: ['write it there, readable by this user alone; a file that is there is left as it is']
  },
  json: {
    type: 'boolean',
    default: false,
    help: ['print the variables as JSON instead: name, default, whether it is required or secret, meaning']
  }
} as const satisfies OptionTable;

/** Command `platform-node config init`: writes a configuration file with a comment for each variable. Asks nothing. */
export const configCommand: Command = {
  name: 'config',
  summary: 'config init <command>... writes a configuration file for --config, systemd or Docker, with comments',
  words: [
    {
      word: 'init <command>...',
      choices: ['init', 'up', ...SERVICE_COMMANDS],
      help: ['up, or the services whose variables are written; of several, each variable once']
    }
  ],
  options: OPTIONS,

  async run(argv: readonly string[]): Promise<number> {
    const { values, words } = readArguments(argv, OPTIONS);
    const [word, ...names] = words;
    const { out, json } = values;
    if (json && out !== undefined)
      throw new PlatformError('COMMAND_INVALID', { reason: '--json prints no file for --out: name one of them' });
    if (word !== 'init' || names.length === 0)
      throw new PlatformError('COMMAND_INVALID', { reason: `config init needs ${NAMES}` });
    const variables: Variables = Object.assign({}, ...(await Promise.all(names.map(variablesOf))));
    const text = json ? JSON.stringify(rowsOf(variables)) : fileText(names, variables);
    if (out === undefined) console.log(text);
    else write(out, text);
    return 0;
  }
};

async function variablesOf(name: string): Promise<Variables> {
  const variables = name === 'up' ? upVariables : (await loadService(name))?.variables;
  if (variables) return variables;
  throw new PlatformError('COMMAND_INVALID', { reason: `config init ${name}: name ${NAMES}` });
}

/** Returns each variable for programs; the default is null where there is none. */
function rowsOf(variables: Variables) {
  return variableRows(variables).map(([name, state, doc]) => ({
    name,
    default: state === 'required' || state === 'unset' ? null : state,
    required: variables[name]!.required === true,
    secret: variables[name]!.secret === true,
    doc
  }));
}

/** Returns the text of a file: variables that must be set, those that an installation usually sets, all others. */
function fileText(names: readonly string[], variables: Variables): string {
  const rankOf = (name: string) => (variables[name]!.required ? 0 : variables[name]!.essential ? 1 : 2);
  const rows = variableRows(variables).toSorted(([a], [b]) => rankOf(a) - rankOf(b));
  const entries = rows.map(([name, state, doc]) => {
    const { required, secret, example } = variables[name]!;
    const comment = `# ${doc}${secret ? `; or ${name}_FILE=<path of a file that holds it>` : ''}`;
    if (required) return `${comment}; example: ${example}\n${name}=`;
    const value = state === 'unset' ? example : state === '(none)' ? '' : state;
    return `${comment}\n#${name}=${value}`;
  });
  const head = [
    `# Variables of platform-node ${names.join(', ')}. Set those without a # in front; the others show their default or an example.`,
    `# Check them with: platform-node doctor ${names.join(' ')} --config <this file>`
  ];
  return [head.join('\n'), ...entries].join('\n\n');
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, `${text}\n`, { flag: 'wx', mode: 0o600 });
  } catch (cause) {
    const reason = `${path} cannot be written: ${(cause as NodeJS.ErrnoException).code ?? 'error'}`;
    throw new PlatformError('STATE_UNUSABLE', { reason }, { cause });
  }
}
