import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildConsoleHere } from '../test/support/console.ts';
import { type Signalbox, temporaryFolder } from '../test/support/signalbox.ts';
import { openConsole, settled, VIEW_PATHS } from '../test/system/console/stage.ts';
import { closeBrowser } from '../test/system/support/browser.ts';
import { serveFolder } from './console/base.ts';
import { type ConsoleAnswers, generate } from './console/generate.ts';

/**
 * `npm run console:pictures -- FOLDER`: takes PNG pictures of every view and tab of the console in both themes and at three widths, with a
 * generated month of traffic. Look at each picture for a minute. `-- --docs` takes the pictures of the README and the docs, into `docs/pictures`.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { docs: { type: 'boolean', default: false } },
});
const [folder] = positionals;
if (folder === undefined && !values.docs) {
  console.error('usage: npm run console:pictures -- FOLDER | --docs');
  process.exit(2);
}
/** The maximum size of a picture in the docs, in bytes. */
const BYTES_MAX = 150_000;
const DOCS = join(import.meta.dir, '../docs/pictures');

interface Picture {
  readonly name: string;
  /** The path below the console, with its query. */
  readonly path: string;
}

/** The tabs of views that do not open first. */
const TABS = [
  '/fleet?tab=models',
  ...['months', 'budgets', 'payments'].map((tab) => `/money?tab=${tab}`),
  ...['cases', 'choices', 'diff', 'revisions', 'files/policy.yaml'].map((part) => `/policies/${part}`),
  ...['members', 'keys', 'logins', 'subjects', 'trail'].map((part) => `/people/${part}`),
  '/requests?status=refused',
  ...['guards', 'cache'].map((part) => `/requests/${part}`),
];

buildConsoleHere();
const data = temporaryFolder();
const answers = await generate({ folder: data, decisions: 40_000, keys: 60, teams: 8, now: Date.now() });
const box = await serveFolder(data);
try {
  if (folder !== undefined) await takeAll(box, resolve(folder), answers);
  if (values.docs) await takeForDocs(box, answers);
} finally {
  await closeBrowser();
  await box.stop();
  rmSync(data, { recursive: true, force: true });
}
process.exit(0);

/** Returns each view and tab as it opens, and the details that answer a question. */
function picturesOf({ decision, key }: ConsoleAnswers): readonly Picture[] {
  return [
    ...VIEW_PATHS.map((path) => ({ name: path.slice(1) || 'overview', path: `${path}?range=7d` })),
    { name: 'overview-speed', path: '?by=provider&measure=ttft&range=24h' },
    { name: 'request', path: `/requests/${decision.id}` },
    { name: 'money-key', path: `/money?range=7d&open=${key.id}` },
    { name: 'people-key', path: `/people/keys/${key.id}` },
    ...TABS.map((path) => ({ name: path.slice(1).replaceAll(/\W+/g, '-'), path })),
  ];
}

async function takeAll(box: Signalbox, into: string, answers: ConsoleAnswers): Promise<void> {
  for (const model of ['gpt-9-imaginary', 'a-model-with-a-name-of-many-characters']) await refusedRequest(box, model);
  mkdirSync(into, { recursive: true });
  for (const { name, path } of picturesOf(answers)) {
    for (const theme of ['light', 'dark'] as const) {
      for (const width of [1_280, 1_920, 390]) {
        const { page } = await openConsole({ box }, { path, theme, width });
        const file = join(into, `${name}-${theme}-${width}.png`);
        await page.screenshot({ path: file, fullPage: true });
        console.log(file);
      }
    }
  }
}

async function refusedRequest(box: Signalbox, model: string): Promise<void> {
  const body = { model, messages: [{ role: 'user', content: 'Say hello.' }] };
  await (await box.post('/v1/chat/completions', body)).text();
}

async function takeForDocs(box: Signalbox, { decision, key }: ConsoleAnswers): Promise<void> {
  for (const { name, path } of [
    { name: 'console-overview', path: '?range=24h' },
    { name: 'console-request', path: `/requests/${decision.id}` },
    { name: 'console-money', path: `/money?range=7d&open=${key.id}` },
  ]) {
    const { page } = await openConsole({ box }, { path, width: 1_280 });
    await settled(page);
    const browser = await page.context().newCDPSession(page);
    const { data: taken } = await browser.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
    const bytes = Buffer.from(taken, 'base64');
    if (bytes.length > BYTES_MAX) throw new Error(`${name} has ${bytes.length} bytes, more than ${BYTES_MAX}`);
    const file = join(DOCS, `${name}.webp`);
    writeFileSync(file, bytes);
    console.log(`${file}: ${bytes.length} bytes`);
  }
}
