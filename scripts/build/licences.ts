import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../root.ts';

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

const TEXT = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;
const RULE = `\n${'-'.repeat(80)}\n`;

/**
 * Returns the licences of all parts of the one file: the packages of the lockfile that are not for development only,
 * including Node and its parts.
 *
 * @param libraries copyright files of system libraries in it, by name
 * @throws {Error} for a package with neither text nor name of a licence
 */
export function collectLicences(libraries: Readonly<Record<string, string>>): string {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  const packages = Object.entries(lock.packages).filter(
    ([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional && existsSync(join(ROOT, path))
  );
  const parts = packages.map(([path, { version, license }]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const texts = readdirSync(join(ROOT, path), { withFileTypes: true })
      .filter((entry) => entry.isFile() && TEXT.test(entry.name))
      .map((entry) => readFileSync(join(ROOT, path, entry.name), 'utf8').trim());
    if (texts.length === 0 && !license) throw new Error(`${path} has no licence`);
    return [`${name} ${version ?? ''}: ${license ?? 'as below'}`, ...texts].join('\n\n');
  });
  const system = Object.entries(libraries).map(([name, text]) => `${name}\n\n${text.trim()}`);
  return `${[...parts, ...system].join(`\n${RULE}\n`)}\n`;
}
