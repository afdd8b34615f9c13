import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { before, test } from 'node:test';
import { COMMAND_NAMES, loadCommands } from '../../../src/cli/commands.ts';
import { optionsOf } from '../../../src/cli/common-options.ts';
import { runCommandLine } from '../../support/command-line.ts';

let texts: Record<'bash' | 'zsh' | 'fish' | 'man', string>;
let named: { readonly command: string; readonly option: string }[];

before(async () => {
  const print = async (...words: string[]) => (await runCommandLine(words)).stdout;
  const [bash, zsh, fish, man] = await Promise.all([
    print('completions', 'bash'),
    print('completions', 'zsh'),
    print('completions', 'fish'),
    print('man')
  ]);
  texts = { bash, zsh, fish, man };
  named = (await loadCommands()).flatMap((command) =>
    Object.keys(optionsOf(command)).map((option) => ({ command: command.name, option }))
  );
});

/** Returns what bash offers for the last word of each line of words. */
function complete(lines: readonly (readonly string[])[]): string[][] {
  const asks = lines.map(
    (words) =>
      `COMP_WORDS=(platform-node ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _platform_node; echo "\${COMPREPLY[*]}"`
  );
  const { stdout, stderr, status } = spawnSync('bash', ['-c', [texts.bash, ...asks].join('\n')], { encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').filter(Boolean));
}

test('bash offers every command, its words and options, and the values of an option', () => {
  const [all, begun, words, values, free, file, ...options] = complete([
    [''],
    ['ha'],
    ['halt', ''],
    ['status', '--service', 'h'],
    ['verify', '--source', ''],
    ['config', '--out', '/et'],
    ...named.map(({ command, option }) => [command, `--${option}`])
  ]);
  assert.deepEqual(all?.slice(0, COMMAND_NAMES.length), COMMAND_NAMES);
  assert.deepEqual(begun, ['halt']);
  assert.deepEqual(words?.slice(0, 2), ['list', 'clear']);
  assert.deepEqual(values, ['hub']);
  assert.deepEqual(free, []);
  assert.ok(file?.includes('/etc'));
  for (const [at, { option }] of named.entries()) assert.ok(options[at]?.includes(`--${option}`), option);
});

test('zsh, fish and the man page have every command and option, and no quote that stays open', () => {
  assert.ok(named.length > 100, `${named.length} options`);
  const sections = new Map(texts.man.split(/^\.SS /m).map((text) => [text.split('\n', 1)[0], text]));
  for (const { command, option } of named) {
    const zsh = texts.zsh.split(`\n    ${command}) _arguments `)[1]?.split(' ;;')[0];
    assert.ok(zsh?.includes(`'--${option}[`) || zsh?.includes(`'*--${option}[`), `zsh: ${command} --${option}`);
    assert.ok(texts.fish.includes(`'__platform_node_is ${command}' -l ${option} `), `fish: ${command} --${option}`);
    const term = new RegExp(`^\\.B \\\\-\\\\-${option.replaceAll('-', '\\\\-')}(?: |$)`, 'm');
    assert.match(sections.get(command) ?? '', term, `man: ${command}`);
  }
  // Sourced or not, bash reads the quotes of zsh as zsh does.
  for (const line of texts.zsh.split(/(?<!\\)\n/).filter((each) => each.includes("'")))
    assert.equal(line.replaceAll("'\\''", '').split("'").length % 2, 1, line);
  for (const line of texts.fish.split('\n'))
    assert.equal(line.replaceAll(/\\['\\]/g, '').split("'").length % 2, 1, line);
});

test('every line of the man page is a macro of man(7) or text', () => {
  for (const line of texts.man.trimEnd().split('\n')) {
    assert.match(line, /^(?:\.(?:TH|SH|SS|TP|PP|B|I)\b.*|[^.'].*)$/);
    assert.doesNotMatch(line.replaceAll(/\\[-&e]/g, ''), /\\/, line);
  }
});

test('COMMAND_INVALID: completions of a shell that is not known', async () => {
  const { code, stderr } = await runCommandLine(['completions', 'tcsh']);
  assert.equal(code, 64);
  assert.match(stderr, /completions: name bash, zsh, fish/);
});
