import type { OpenApi } from '../../src/service/schema/openapi.ts';
import { readFacts } from './shape.ts';

interface PathFacts {
  readonly types?: string;
  readonly whole?: true;
  readonly method?: 'POST';
  readonly status?: number;
}

const { paths: PATHS } = readFacts<{ readonly paths: Readonly<Record<string, PathFacts>> }>('explorer');

/** Paths of explorers that clients in use ask for with GET, behind `/{COIN}/api`, as templates with each word of `{TYPE}`. */
const TEMPLATES: readonly string[] = Object.entries(PATHS).flatMap(([path, { types, whole, method, status }]) => {
  if (method !== undefined || status !== undefined) return [];
  const typed = types === undefined ? [path] : types.split(' ').map((type) => path.replace('{TYPE}', type));
  return whole ? [...typed, path.replace('/{QUERY}/{TYPE}', '')] : typed;
});

/** Returns each published path, with what `wordOf` says in place of `{QUERY}` and other names. @param wordOf by the name, and by the type of the path */
export function publishedPaths(wordOf: (name: string, type: string) => string): string[] {
  return TEMPLATES.map((path) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(wordOf(name, path.split('/').at(-1)!)))
  );
}

const shapeOf = (path: string) => path.replaceAll(/\{\w+\}/g, '{}');

/** Returns the published paths that a description has no operation for: whatever asks by it leaves them out. */
export function undescribed({ paths }: Pick<OpenApi, 'paths'>): string[] {
  const described = new Set(Object.entries(paths).flatMap(([path, { get }]) => (get ? [shapeOf(path)] : [])));
  return Object.entries(PATHS).flatMap(([path, { whole, method, status }]) => {
    if (method !== undefined || status !== undefined) return [];
    const wanted = whole ? [path, path.replace('/{QUERY}/{TYPE}', '')] : [path];
    return wanted.filter((each) => !described.has(shapeOf(`/{coin}/api${each}`)));
  });
}
