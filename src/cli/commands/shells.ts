import type { Command, OptionRow } from '../command.ts';
import { optionsOf } from '../common-options.ts';

/** Options that stand in place of a command. */
const OVERALL_OPTIONS: readonly string[] = ['--help', '--version', '--licences'];

/** A shell's completions for all commands. */
type Generator = (commands: readonly Command[]) => string;

/** Generators by the names of the shells. */
export const SHELLS: Readonly<Record<string, Generator>> = { bash: bashText, zsh: zshText, fish: fishText };

const wordsOf = ({ words = [] }: Command) => words.flatMap(({ choices = [] }) => choices);
const isFile = ({ value }: OptionRow) => value === '<file>' || value === '<path>';
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const meaningOf = ({ help }: OptionRow) => help[0] ?? '';

function bashText(commands: readonly Command[]): string {
  const values = commands.flatMap((command) =>
    Object.entries(optionsOf(command)).flatMap(([option, row]) => {
      if (row.type === 'boolean') return [];
      const reply = isFile(row) ? '-f' : `-W ${quote((row.choices ?? []).join(' '))}`;
      return [`    '${command.name} --${option}') COMPREPLY=($(compgen ${reply} -- "$current")); return ;;`];
    })
  );
  const words = commands.map((command) => {
    const all = [...wordsOf(command), ...Object.keys(optionsOf(command)).map((option) => `--${option}`)];
    return `    ${command.name}) COMPREPLY=($(compgen -W ${quote(all.join(' '))} -- "$current")) ;;`;
  });
  const first = [...commands.map(({ name }) => name), ...OVERALL_OPTIONS].join(' ');
  return [
    '# bash completions of platform-node',
    '_platform_node() {',
    `  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}`,
    '  COMPREPLY=()',
    '  if ((COMP_CWORD == 1)); then',
    `    COMPREPLY=($(compgen -W ${quote(first)} -- "$current"))`,
    '    return',
    '  fi',
    '  case "$command $previous" in',
    ...values,
    '  esac',
    '  case $command in',
    ...words,
    '  esac',
    '}',
    'complete -F _platform_node platform-node'
  ].join('\n');
}

function zshText(commands: readonly Command[]): string {
  const plain = (text: string) => text.replace(/[[\]:\\]/g, '\\$&');
  const cases = commands.map((command) => {
    const options = Object.entries(optionsOf(command)).map(([option, row]) => {
      const values = isFile(row) ? '_files' : row.choices ? `(${row.choices.join(' ')})` : '';
      const value = row.type === 'boolean' ? '' : `:${plain((row.value ?? '').replace(/[<>]/g, ''))}:${values}`;
      return quote(`${row.multiple ? '*' : ''}--${option}[${plain(meaningOf(row))}]${value}`);
    });
    const words = wordsOf(command);
    const rest = words.length > 0 ? [quote(`*:word:(${words.join(' ')})`)] : [];
    return `    ${command.name}) _arguments ${[...options, ...rest].join(' \\\n      ')} ;;`;
  });
  return [
    '#compdef platform-node',
    '_platform_node() {',
    '  local -a commands=(',
    ...commands.map(({ name, summary }) => `    ${quote(`${name}:${plain(summary)}`)}`),
    '  )',
    '  if ((CURRENT == 2)); then',
    '    _describe command commands',
    '    return',
    '  fi',
    '  local command=$words[2]',
    '  shift words',
    '  ((CURRENT--))',
    '  case $command in',
    ...cases,
    '  esac',
    '}',
    // As a file of $fpath it is the function itself; sourced it declares one.
    'if [[ $funcstack[1] == _platform-node ]]; then _platform_node "$@"; else compdef _platform_node platform-node; fi'
  ].join('\n');
}

function fishText(commands: readonly Command[]): string {
  const plain = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const lines = commands.flatMap((command) => {
    const when = `complete -c platform-node -n '__platform_node_is ${command.name}'`;
    const words = wordsOf(command);
    const options = Object.entries(optionsOf(command)).map(([option, row]) => {
      const values = isFile(row) ? ' -r -F' : row.choices ? ` -x -a ${plain(row.choices.join(' '))}` : ' -x';
      return `${when} -l ${option}${row.type === 'boolean' ? '' : values} -d ${plain(meaningOf(row))}`;
    });
    return words.length > 0 ? [`${when} -a ${plain(words.join(' '))}`, ...options] : options;
  });
  return [
    '# fish completions of platform-node',
    'function __platform_node_begins; test (count (commandline -opc)) -eq 1; end',
    'function __platform_node_is; set -l words (commandline -opc); test (count $words) -gt 1; and test $words[2] = $argv[1]; end',
    'complete -c platform-node -f',
    ...commands.map(
      ({ name, summary }) => `complete -c platform-node -n __platform_node_begins -a ${name} -d ${plain(summary)}`
    ),
    ...OVERALL_OPTIONS.map((option) => `complete -c platform-node -n __platform_node_begins -l ${option.slice(2)}`),
    ...lines
  ].join('\n');
}
