import { stage } from '../stage.ts';

/** `node:fs/promises` as far as a replica's state directory goes. */
export const readFile = (path: string) => stage.files.readFile(path);
export const writeFile = (path: string, text: string) => stage.files.writeFile(path, text);
export const rm = (path: string) => stage.files.rm(path);
export const mkdir = (path: string) => stage.files.mkdir(path);
