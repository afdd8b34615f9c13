import { CONFIG_VARIABLE } from '../config/config-file.ts';
import type { Environment } from '../config/variables.ts';
import { PlatformError } from '../errors.ts';

const OPTION = '--config';

/** Arguments without the option, and an environment that names its file. */
interface Taken {
  readonly argv: readonly string[];
  readonly env: Environment;
}

/** Takes `--config <file>` out of the arguments of any command. @throws {PlatformError} COMMAND_INVALID without a file */
export function takeConfigOption(argv: readonly string[], env: Environment): Taken {
  const at = argv.findIndex((argument) => argument === OPTION || argument.startsWith(`${OPTION}=`));
  if (at < 0) return { argv, env };
  const isOne = argv[at] !== OPTION;
  const path = isOne ? argv[at]!.slice(OPTION.length + 1) : argv[at + 1];
  if (!path) throw new PlatformError('COMMAND_INVALID', { reason: `${OPTION} needs the path of a file` });
  return { argv: argv.toSpliced(at, isOne ? 1 : 2), env: { ...env, [CONFIG_VARIABLE]: path } };
}
