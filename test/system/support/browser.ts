import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';
import { waitFor } from '../../support/answers.ts';

/**
 * Default arguments that would weaken a rule of the web, or cost more than they save. In a single process, pages of one person would send
 * the cookies of another. With an emulated graphics card, drawing a page costs half as much again.
 */
const LEFT_OUT = new Set([
  ...['--disable-web-security', '--single-process', '--in-process-gpu', '--ignore-gpu-blocklist'],
  ...['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
]);

/** Starts a real browser with the web's own rules for origins. The tests of a file share the browser. */
export async function startBrowser(): Promise<Browser> {
  const args = [...chromium.args.filter((arg) => !LEFT_OUT.has(arg)), '--disable-gpu'];
  return playwright.launch({ executablePath: await unpacked(), args, headless: true });
}

let shared: Promise<Browser> | null = null;

/** Returns a browser that all files in this process share. The browser ends with the process. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= startBrowser();
  return shared;
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
    await waitFor(() => existsSync(ready), 30_000);
    return chromium.executablePath();
  }
  const path = await chromium.executablePath();
  writeFileSync(ready, '');
  return path;
}
