import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core';
import { waitFor } from '../../support/answers.ts';

/**
 * Default arguments that would weaken a rule of the web, or cost more than they save. In a single process, pages of one person would send
 * the cookies of another. With an emulated graphics card, drawing a page costs half as much again.
 */
const LEFT_OUT = new Set([
  ...['--disable-web-security', '--single-process', '--in-process-gpu', '--ignore-gpu-blocklist'],
  ...['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
]);

/** Starts a real browser with the web's own rules for origins. */
async function startBrowser(): Promise<Browser> {
  const args = [...chromium.args.filter((arg) => !LEFT_OUT.has(arg)), '--disable-gpu'];
  return playwright.launch({ executablePath: await unpacked(), args, headless: true });
}

/** How long a page waits for an element, and a process for the browser, ms. A busy machine can take longer than half a minute, which is the default, to draw a large page. */
const PATIENCE_MS = 120_000;

let shared: Promise<Browser> | null = null;

/** Returns a new page, with its own cookies, in a browser that all files in this process share. The browser ends with the process. */
export async function newPage(options?: BrowserContextOptions): Promise<Page> {
  shared ??= startBrowser();
  const page = await (await shared).newPage(options);
  page.setDefaultTimeout(PATIENCE_MS);
  return page;
}

/** Closes the browser, so that a program that is not a test can end. */
export async function closeBrowser(): Promise<void> {
  await (await shared)?.close();
}

/**
 * Unpacks the browser once for all processes that share a folder for temporary files, because a program that another process still writes
 * cannot start.
 */
async function unpacked(): Promise<string> {
  const [place, ready] = ['chromium-place', 'chromium-ready'].map((name) => join(tmpdir(), name)) as [string, string];
  try {
    mkdirSync(place);
  } catch {
    await waitFor(() => existsSync(ready), PATIENCE_MS);
    return chromium.executablePath();
  }
  const path = await chromium.executablePath();
  writeFileSync(ready, '');
  return path;
}
