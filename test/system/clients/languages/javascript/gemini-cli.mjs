import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { check, EMPTY_KEY, expect, failureOf, UNCOUNTED_KEY, URL } from './checks.mjs';

const PROGRAM = join(import.meta.dirname, 'node_modules/.bin/gemini');
/** The page of the package with its models. */
const MODELS = join(import.meta.dirname, 'node_modules/@google/gemini-cli/bundle/docs/reference/configuration.md');
const home = mkdtempSync(join(tmpdir(), 'gemini-home-'));
// With another address, gemini-cli takes no key unless its settings say so.
mkdirSync(join(home, '.gemini'));
writeFileSync(
  join(home, '.gemini/settings.json'),
  JSON.stringify({
    security: { auth: { selectedType: 'gemini-api-key' } },
    privacy: { usageStatisticsEnabled: false },
  }),
);

/** Runs gemini-cli once, without a terminal. It makes calls for its own purposes, too, so its usage is not compared. */
const run = (key, ...more) =>
  promisify(execFile)(PROGRAM, more, {
    cwd: home,
    timeout: 120_000,
    env: {
      ...process.env,
      HOME: home,
      GEMINI_API_KEY: key,
      GOOGLE_GEMINI_BASE_URL: URL,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_TELEMETRY_ENABLED: 'false',
      NO_COLOR: '1',
    },
  });

await check('a prompt', async () => {
  const { stdout, stderr } = await run(UNCOUNTED_KEY, '--prompt', 'Say hello.');
  expect(stdout.includes('simulated'), stdout, stderr);
});

await check('a prompt to a selector', async () => {
  const { stdout, stderr } = await run(UNCOUNTED_KEY, '--model', 'auto-fast', '--prompt', 'Say hello.');
  expect(stdout.includes('simulated'), stdout, stderr);
});

await check('a prompt with `--model auto`, with which gemini-cli chooses a model', async () => {
  const { stdout, stderr } = await run(UNCOUNTED_KEY, '--model', 'auto', '--prompt', 'Say hello.');
  expect(stdout.includes('simulated') && !stderr.includes('Error'), stdout, stderr);
});

await check('each model that its package names is served', async () => {
  const named = readFileSync(MODELS, 'utf8').matchAll(/"model": "((?:gemini|gemma)-[^"]+)"/g);
  const models = new Set([...named].map(([, name]) => name));
  expect(models.size > 8, ...models);
  for (const model of models) {
    const headers = { 'x-goog-api-key': UNCOUNTED_KEY };
    const response = await fetch(`${URL}/v1beta/models/${model}`, { headers });
    expect(response.ok, model, await response.text());
  }
});

await check('JSON with its usage', async () => {
  const { stdout } = await run(UNCOUNTED_KEY, '--output-format', 'json', '--prompt', 'Say hello.');
  const { response, stats } = JSON.parse(stdout.slice(stdout.indexOf('{')));
  expect(response.includes('simulated') && Object.keys(stats.models).length > 0, stdout);
});

await check('a budget that is used up', async () => {
  const error = await failureOf(() => run(EMPTY_KEY, '--prompt', 'Say hello.'));
  expect(`${error.stdout}${error.stderr}`.includes('budget'), error.stdout, error.stderr);
});
