import { createRequire } from 'node:module';
import { getAsset, getRawAsset } from 'node:sea';
import { Script } from 'node:vm';

/**
 * Main of the one file: runs the program, `main.ts` bundled as CommonJS, with the bytecode that V8 made of it at build
 * time. As an ES module it would be compiled at each start, which takes three times as long.
 */
const script = new Script(getAsset('program.cjs', 'utf8'), {
  filename: process.execPath,
  cachedData: new Uint8Array(getRawAsset('program.bytecode'))
});
const program = script.runInThisContext() as (require: NodeJS.Require, module: { exports: object }) => void;
program(createRequire(import.meta.url), { exports: {} });
