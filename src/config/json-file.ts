import { readFileSync } from 'node:fs';

/** Reads a JSON file. @throws {Error} whose message is the reason, as "must be ..." */
export function readJsonFile(path: string): unknown {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (caught) {
    throw new Error(`must be a readable file: ${(caught as Error).message}`);
  }
  try {
    return JSON.parse(content);
  } catch (caught) {
    throw new Error(`must be a JSON file: ${(caught as Error).message}`);
  }
}
