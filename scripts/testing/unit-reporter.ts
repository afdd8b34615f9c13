import { dot, type TestEvent } from 'node:test/reporters';

const percent = (value: number): string => `${value.toFixed(1)} %`;

/** Reports a dot per test, failures in full, the number of tests, and the totals of coverage in one line. */
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  let [passed, failed, totals] = [0, 0, ''];
  async function* events(): AsyncGenerator<TestEvent, void> {
    for await (const event of source) {
      if (event.type === 'test:pass') passed += 1;
      if (event.type === 'test:fail') failed += 1;
      if (event.type === 'test:coverage') {
        const { coveredLinePercent, coveredBranchPercent, coveredFunctionPercent } = event.data.summary.totals;
        totals = `coverage by unit tests: lines ${percent(coveredLinePercent)}, branches ${percent(coveredBranchPercent)}, functions ${percent(coveredFunctionPercent)}\n`;
      } else yield event;
    }
  }
  yield* dot(events());
  yield `\nunit tests: ${passed} passed, ${failed} failed\n${totals}`;
}
