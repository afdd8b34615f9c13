import { fromPromise, type PromiseActorLogic } from 'xstate';

/** An effect that ends with these, one after the other at each call, errors as its failures; then it never ends. */
export const scripted = <Output, Input = void>(outcomes: (Output | Error)[] = []): PromiseActorLogic<Output, Input> =>
  fromPromise<Output, Input>(() => {
    if (outcomes.length === 0) return new Promise(() => undefined);
    const next = outcomes.shift()!;
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  });
