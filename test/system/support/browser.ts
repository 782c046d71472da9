import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';
import { waitFor } from '../../support/answers.ts';

/**
 * Arguments that would take away a rule, or cost more than they give. In a single process the pages of one person would send the
 * cookies of another; drawn by a graphics card that is imitated, a page costs half as much again.
 */
const LEFT_OUT = new Set([
  ...['--disable-web-security', '--single-process', '--in-process-gpu', '--ignore-gpu-blocklist'],
  ...['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
]);

/** Starts a real browser, with the web's own rules about origins. Tests of one file share it. */
export async function startBrowser(): Promise<Browser> {
  const args = [...chromium.args.filter((arg) => !LEFT_OUT.has(arg)), '--disable-gpu'];
  return playwright.launch({ executablePath: await unpacked(), args, headless: true });
}

let shared: Promise<Browser> | null = null;

/** The one browser of all files in this process. It ends with the process. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= startBrowser();
  return shared;
}

/**
 * Unpacks the browser for all processes that share a folder for temporary files: a program that another one still writes cannot be
 * started.
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
