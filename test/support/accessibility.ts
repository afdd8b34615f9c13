import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

/** Widths of a desk and of a phone, and the colours of both. */
const WIDTHS = [1440, 390] as const;
const SCHEMES = ['light', 'dark'] as const;
const SETTLE_MS = 100;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/**
 * Shows what no screen has shown yet, for what a browser does not draw has no contrast, and changes colours at once: in a page
 * behind another one they would never come to the end of their transition.
 */
const DRAW_ALL = `{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { transition: none !important; content-visibility: visible !important }');
  document.adoptedStyleSheets = [sheet];
}`;
const RUN = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ target, failureSummary }) => id + ' ' + target + ': ' + failureSummary)))`;

/** Returns the serious and critical faults that axe-core finds on a page: on a desk and a phone, in light and in dark. */
export async function accessibilityFaults(page: Page, name: string): Promise<string[]> {
  await page.evaluate(AXE);
  await page.evaluate(DRAW_ALL);
  const faults: string[] = [];
  for (const width of WIDTHS)
    for (const colorScheme of SCHEMES) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(SETTLE_MS);
      const found = await page.evaluate<string[]>(RUN);
      faults.push(...found.map((fault) => `${name} ${width} ${colorScheme}: ${fault}`));
    }
  return faults;
}
