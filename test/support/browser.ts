import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { findProgram } from '../../src/config/programs.ts';
import { atEnd } from './cleanup.ts';

const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage'
];

/** The system's Chromium, headless, with a profile of its own; closed after the test file. */
export async function openBrowser(
  options: { readonly colorScheme?: 'light' | 'dark'; readonly width?: number; readonly args?: readonly string[] } = {}
): Promise<BrowserContext> {
  const executablePath = findProgram('chromium', [
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome'
  ]);
  const profile = mkdtempSync(join(tmpdir(), 'platform-browser-'));
  const { width = 1280, colorScheme = 'light' } = options;
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: [...QUIET, ...(options.args ?? [])],
    headless: true,
    colorScheme,
    viewport: { width, height: 900 },
    acceptDownloads: true
  });
  atEnd(async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  });
  return context;
}
