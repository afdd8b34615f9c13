import { readOptions } from '../../src/cli/options.ts';
import { PlatformError } from '../../src/errors.ts';

type Options = Parameters<typeof readOptions>[1];

/** A program's arguments. A wrong one ends the process with 64 and says why; `--help` ends it with 0; both print the usage. */
export function readArguments<const O extends Options, A>(
  usage: string,
  options: O,
  read: (given: ReturnType<typeof readOptions<O>>) => A
): A {
  const argv = process.argv.slice(2);
  if (argv.includes('--help')) {
    console.log(`usage: ${usage}`);
    process.exit(0);
  }
  try {
    return read(readOptions(argv, options));
  } catch (caught) {
    if (!(caught instanceof PlatformError)) throw caught;
    console.error(`${caught.message}\nusage: ${usage}`);
    process.exit(64);
  }
}
