import type { Checks } from '../config/load.ts';
import type { Environment, Variables } from '../config/variables.ts';
import type { OptionRow } from '../service/define.ts';

export type { Environment } from '../config/variables.ts';
export type { OptionRow } from '../service/define.ts';

/** Options of a command by their names without dashes. Parser, --help, completions and man page read the same rows. */
export type OptionTable = Readonly<Record<string, OptionRow>>;

/** Words of a command that are no options: `list`, `<file>`. */
interface WordRow {
  readonly word: string;
  /** Words that may stand there, where they are few; shells complete them. */
  readonly choices?: readonly string[];
  readonly help: readonly string[];
}

/** One command of the command line. `src/cli/commands/<name>.ts` exports it as `<name>Command`. */
export interface Command<V extends Variables = Variables> {
  readonly name: string;
  readonly summary: string;
  /** Variables that it reads from the environment and config.json. --help and --check-config print them. */
  readonly variables?: V;
  readonly checks?: Checks<V>;
  readonly words?: readonly WordRow[];
  readonly options?: OptionTable;
  /** Lines of --help below the options. */
  readonly notes?: readonly string[];
  /**
   * Runs the command. @param loadAll loads every command @returns the exit code
   * @throws {PlatformError} the command line prints it, and ends with its exit code
   */
  run(argv: readonly string[], env: Environment, loadAll: () => Promise<readonly Command[]>): Promise<number>;
}
