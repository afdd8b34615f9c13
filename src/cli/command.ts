import type { Checks } from '../config/load.ts';
import type { Environment, Variables } from '../config/variables.ts';

export type { Environment } from '../config/variables.ts';

/** One command of the command line: `src/cli/<name>.ts` exports it as `<name>Command`. */
export interface Command<V extends Variables = Variables> {
  readonly name: string;
  readonly summary: string;
  /** What it reads from the environment and config.json; printed by --help, shown by --check-config. */
  readonly variables?: V;
  readonly checks?: Checks<V>;
  /** Lines of --help about its own options. */
  readonly options?: readonly string[];
  /** @returns the exit code  @throws {PlatformError} what the command line prints, with the exit code of its table */
  run(argv: readonly string[], env: Environment): Promise<number>;
}
