/** A call with the values of a list as its arguments, such as `list.push(...rows)`. */
interface SpreadCall {
  readonly line: number;
  /** Text from the name of what is called to the end of its line. */
  readonly text: string;
}

/** Calls that take any number of values, which lists of any length are given to. */
const TAKES_ALL = /(?<![\w$])(?:push|unshift|splice|concat|append|max|min|of|fromCharCode|fromCodePoint)(?:<[^(]*>)?$/;
/** Text that may hold brackets and dots without being code; a template may hold code, and stays. */
const NO_CODE = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;

/**
 * Finds the calls into which a list is spread. Each value becomes an argument on the stack: some 100,000 of them end the call with a
 * RangeError, whatever memory there is. Lists within `[...]` and properties within `{...}` are built without the stack.
 */
export function spreadCallsOf(source: string): SpreadCall[] {
  const code = source.replace(NO_CODE, (text) => text.replace(/[^\n]/g, ' '));
  const found: SpreadCall[] = [];
  const open: { readonly bracket: string; readonly at: number }[] = [];
  for (let at = 0; at < code.length; at++) {
    const sign = code[at]!;
    if ('([{'.includes(sign)) open.push({ bracket: sign, at });
    else if (')]}'.includes(sign)) open.pop();
    else if (code.startsWith('...', at)) {
      const inner = open.at(-1);
      const before = code.slice(0, inner?.at ?? 0);
      if (inner?.bracket === '(' && TAKES_ALL.test(before))
        found.push({
          line: before.split('\n').length,
          text: source
            .slice(before.lastIndexOf('\n') + 1)
            .split('\n', 1)[0]!
            .trim()
        });
      at += 2;
    }
  }
  return found;
}
