import type { Transferred } from './channel.ts';

/**
 * The tasks of a pool: each name, which is the path of a module below `workers/`, with the function that the module exports.
 * The function is the declaration: caller and task are checked against it.
 */
export type Tasks = Record<string, (input: never) => unknown>;

/** Input that a task's caller passes. */
export type TaskInput<T extends Tasks[string]> = Parameters<T>[0];

type Untransferred<T> = T extends Transferred<infer Moved> ? Moved : T;

/** Output that a task's caller receives. */
export type TaskOutput<T extends Tasks[string]> = Untransferred<Awaited<ReturnType<T>>>;

/** The tasks as what a thread may ask the owner of the pool. */
export type TaskAsks<T extends Tasks> = {
  [Name in keyof T]: { request: TaskInput<T[Name]>; reply: TaskOutput<T[Name]> };
};
