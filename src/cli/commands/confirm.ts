import { createInterface } from 'node:readline/promises';
import { PlatformError } from '../../errors.ts';
import type { OptionTable } from '../command.ts';

/** Most letters of a reason that a service keeps. */
const MOST_LETTERS = 200;

/** Options of operations that need a confirmation. */
export const CONFIRM_OPTIONS = {
  confirm: {
    type: 'string',
    value: '<name>',
    help: ['the name of the object again, for what stops or changes something; asked for on a terminal']
  },
  reason: { type: 'string', value: '<text>', help: ['why, for the audit log; asked for on a terminal'] }
} as const satisfies OptionTable;

/** Asks one question and returns the answer. */
type Question = (text: string) => Promise<string>;

/**
 * Has an operator confirm an operation by the name of its object, and give a reason.
 *
 * @param question null where nobody can be asked
 * @returns the reason
 * @throws {PlatformError} COMMAND_INVALID unless the name is repeated and a reason is given
 */
export async function confirmByName(
  operation: string,
  name: string,
  given: { readonly confirm?: string | undefined; readonly reason?: string | undefined },
  question: Question | null = terminalQuestion()
): Promise<string> {
  const confirmed = given.confirm ?? (await question?.(`Type ${name} to confirm: ${operation} `));
  if (confirmed?.trim() !== name) throw refusal(`${operation} needs --confirm ${name}`);
  const reason = (given.reason ?? (await question?.('Reason, for the audit log: ')))?.trim();
  if (!reason) throw refusal(`${operation} needs --reason <text>, for the audit log`);
  if (reason.length > MOST_LETTERS) throw refusal(`--reason has more than ${MOST_LETTERS} letters`);
  return reason;
}

const refusal = (reason: string) => new PlatformError('COMMAND_INVALID', { reason });

/** Returns the way to ask on this terminal; null without one. Standard output stays free for the result. */
function terminalQuestion(): Question | null {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return null;
  return async (text) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return await lines.question(text);
    } finally {
      lines.close();
    }
  };
}
