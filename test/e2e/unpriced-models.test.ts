import { afterAll, expect, test } from 'bun:test';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { waitFor } from '../support/answers.ts';
import { KEY, serveModelLists } from '../support/model-lists.ts';
import { type StartOptions, startSignalbox } from '../support/signalbox.ts';

const lists = serveModelLists();
afterAll(() => lists.stop());

const policyWith = (serves: string) => `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  openai: { preset: openai, base_url: "${lists.url}/openai/v1"${serves} }
models:
  mine:
    provider: openai
    upstream: gpt-mine
    price: { input: 1, output: 2, as_of: 2026-11-20, basis: own }
    context_window: 128000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
`;
/** Timers with which single waits are over a hundred times as soon. */
const timers = { ...processTimers, after: (ms: number, run: () => void) => processTimers.after(ms / 100, run) };
const start = (serves: string, more: Pick<StartOptions, 'timers'> = {}) =>
  startSignalbox({ policy: policyWith(serves), env: { OPENAI_API_KEY: KEY }, ...more });

/** Returns what the checks of a running server, which the console shows, find about its providers. */
async function providersOf(serves: string) {
  const box = await start(serves);
  try {
    const report: { data: readonly { check: string }[] } = JSON.parse((await box.run('doctor', '--json')).out);
    return report.data.find(({ check }) => check === 'providers');
  } finally {
    await box.stop();
  }
}

test('a model that a provider lists and the public table lacks is named after the start, with the command that proposes it', async () => {
  const box = await start(', serves: "*"', { timers });
  try {
    const named = (line: string) => line.includes('their price is not known');
    const line = await waitFor(() => box.lines.find(named) ?? null, 5_000);
    // Models of the policy or the table, fine-tuned models and models for other uses are left out.
    expect(JSON.parse(line)).toMatchObject({
      models: 'openai: gpt-nova-9',
      commands: './signalbox catalog update openai',
    });
  } finally {
    await box.stop();
  }
});

test('the checks name such a model, unless the policy does not serve unlisted models', async () => {
  expect(await providersOf(', serves: "*"')).toMatchObject({
    state: 'ok',
    found: expect.stringContaining('The price of 1 model is not known: gpt-nova-9.'),
    advice: expect.stringContaining('catalog update openai'),
  });
  expect(await providersOf('')).toMatchObject({
    state: 'ok',
    found: expect.not.stringContaining('price'),
    advice: null,
  });
});
