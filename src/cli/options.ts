import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { PlatformError } from '../errors.ts';

type Parsed<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; options: O; strict: true; allowPositionals: false }>
>['values'];

/** Parses a command's options and refuses unknown ones. @throws {PlatformError} COMMAND_INVALID */
export function readOptions<const O extends ParseArgsOptionsConfig>(argv: readonly string[], options: O): Parsed<O> {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values;
  } catch (caught) {
    throw PlatformError.from(caught, 'COMMAND_INVALID');
  }
}

/** Parses a command's options and the words between them. @throws {PlatformError} COMMAND_INVALID for unknown options */
export function readArguments<const O extends ParseArgsOptionsConfig>(
  argv: readonly string[],
  options: O
): { readonly values: Parsed<O>; readonly words: readonly string[] } {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, strict: true, allowPositionals: true });
    return { values: values as Parsed<O>, words: positionals };
  } catch (caught) {
    throw PlatformError.from(caught, 'COMMAND_INVALID');
  }
}

/** Parses a whole number of an option. @throws {PlatformError} COMMAND_INVALID */
export function readNumber(option: string, text: string, min: number, max: number): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new PlatformError('COMMAND_INVALID', {
    reason: `${option} ${text} must be a whole number from ${min} to ${max}`
  });
}
