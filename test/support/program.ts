import { endAll } from './cleanup.ts';

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs a program that starts others, and exits: with 1 when it failed, or as the signal says that ended it.
 *
 * Whatever was started ends with this process, also when the signal comes twice: npm passes on what the terminal sent already.
 */
export async function runProgram(main: () => Promise<void>): Promise<never> {
  const interrupted = Promise.withResolvers<void>();
  for (const [signal, code] of Object.entries(SIGNALS))
    process.on(signal, () => {
      process.exitCode = code;
      interrupted.resolve();
    });
  try {
    await Promise.race([main(), interrupted.promise]);
  } catch (caught) {
    console.error(caught);
    process.exitCode = 1;
  } finally {
    await endAll();
  }
  // What a pipe has not taken yet would be lost.
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.exit();
}
