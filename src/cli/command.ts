import type { Checks } from '../config/load.ts';
import type { Environment, Variables } from '../config/variables.ts';

export type { Environment } from '../config/variables.ts';

/** One command of the command line. `src/cli/<name>.ts` exports it as `<name>Command`. */
export interface Command<V extends Variables = Variables> {
  readonly name: string;
  readonly summary: string;
  /** Variables that it reads from the environment and config.json. --help and --check-config print them. */
  readonly variables?: V;
  readonly checks?: Checks<V>;
  /** Lines of --help about its options. */
  readonly options?: readonly string[];
  /**
   * Runs the command. @returns the exit code @throws {PlatformError} printed by the command line, which ends with its
   * exit code
   */
  run(argv: readonly string[], env: Environment): Promise<number>;
}
