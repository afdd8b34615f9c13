import { PlatformError } from '../../errors.ts';
import type { Command, Environment } from '../command.ts';
import { readArguments } from '../options.ts';
import { SHELLS } from './shells.ts';

/** Command `platform-node completions bash`: prints the completions of a shell. */
export const completionsCommand: Command = {
  name: 'completions',
  summary: 'prints completions for bash, zsh or fish',
  words: [
    {
      word: '<shell>',
      choices: Object.keys(SHELLS),
      help: [
        'bash: platform-node completions bash > /etc/bash_completion.d/platform-node',
        'zsh:  platform-node completions zsh > a directory of $fpath, as _platform-node',
        'fish: platform-node completions fish > ~/.config/fish/completions/platform-node.fish'
      ]
    }
  ],

  async run(argv: readonly string[], _: Environment, loadAll: () => Promise<readonly Command[]>): Promise<number> {
    const [shell = '', ...more] = readArguments(argv, {}).words;
    const generate = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (!generate || more.length > 0)
      throw new PlatformError('COMMAND_INVALID', { reason: `completions: name ${Object.keys(SHELLS).join(', ')}` });
    const text = `${generate(await loadAll())}\n`;
    await new Promise((resolve) => process.stdout.write(text, resolve));
    return 0;
  }
};
