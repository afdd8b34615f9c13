import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ConfigFile, textIn } from './config-file.ts';
import type { Environment, Variables } from './variables.ts';

/** Variable by which systemd names the directory of a unit's credentials. */
const CREDENTIALS_DIRECTORY = 'CREDENTIALS_DIRECTORY';

/** A secret that stands in a file of its own, or the reason why it cannot be read. */
export type FiledSecret = { readonly text: string } | { readonly fault: string };

/** Returns the name of the variable that names the file of a secret. */
export function fileVariableOf(name: string): string {
  return `${name}_FILE`;
}

/**
 * Reads secrets that stand in files of their own, by their names: the file that `<NAME>_FILE` names, else the systemd
 * credential `<NAME>`. A secret that the environment itself has is not looked for.
 */
export function readSecretFiles(
  variables: Variables,
  env: Environment,
  file: ConfigFile
): Readonly<Record<string, FiledSecret>> {
  const secrets = Object.entries(variables).filter(([, row]) => row.secret && !row.family);
  const found = secrets.flatMap(([name]) => {
    const secret = findFiled(name, env, file);
    return secret === undefined ? [] : [[name, secret] as const];
  });
  return Object.fromEntries(found);
}

function findFiled(name: string, env: Environment, file: ConfigFile): FiledSecret | undefined {
  const variable = fileVariableOf(name);
  const [own, path] = [env[name]?.trim(), env[variable]?.trim()];
  if (own && path) return bothSet(name);
  if (own) return undefined;
  if (path) return readSecret(variable, path);
  return findCredential(name, env[CREDENTIALS_DIRECTORY]) ?? findInConfig(name, file);
}

function findInConfig(name: string, file: ConfigFile): FiledSecret | undefined {
  const variable = fileVariableOf(name);
  const path = textIn(file, variable)?.trim();
  if (!path) return undefined;
  return textIn(file, name)?.trim() ? bothSet(name) : readSecret(variable, path);
}

function findCredential(name: string, directory: string | undefined): FiledSecret | undefined {
  if (!directory) return undefined;
  try {
    return { text: withoutLineEnd(readFileSync(join(directory, name), 'utf8')) };
  } catch (caught) {
    const { code, message } = caught as NodeJS.ErrnoException;
    return code === 'ENOENT' ? undefined : { fault: `${name}: its credential cannot be read: ${message}` };
  }
}

function readSecret(variable: string, path: string): FiledSecret {
  try {
    const text = withoutLineEnd(readFileSync(path, 'utf8'));
    return text === '' ? { fault: `${variable}=${path} must name a file that is not empty` } : { text };
  } catch (caught) {
    return { fault: `${variable}=${path} must name a readable file: ${(caught as Error).message}` };
  }
}

const bothSet = (name: string) => ({ fault: `${name} and ${fileVariableOf(name)} are both set: unset one of them` });

/** Removes the line ends that editors and `echo` add; a password may end in a space. */
const withoutLineEnd = (text: string) => text.replace(/[\r\n]+$/, '');
