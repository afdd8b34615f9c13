import { stage } from '../host/stage.ts';

/** `node:fs/promises` as far as a state directory goes. */
export const readFile = (path: string) => stage.files.readFile(path);
export const writeFile = (path: string, text: string) => stage.files.writeFile(path, text);
export const rm = (path: string) => stage.files.rm(path);
export const mkdir = (path: string) => stage.files.mkdir(path);
export const appendFile = (path: string, text: string) => stage.files.appendFile(path, text);
export const readdir = (path: string) => stage.files.readdir(path);
export const rename = (from: string, to: string) => stage.files.rename(from, to);
export const open = (path: string) => stage.files.open(path);
