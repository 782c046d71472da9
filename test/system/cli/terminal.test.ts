import { afterAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../../support/run-here.ts';
import { runCommand, writePolicy } from '../../support/signalbox.ts';

/** Escape sequences, written for YAML, that would turn the following text red and set the title of the window. */
const HOSTILE = '\\e[31m\\e]0;owned\\a\\u202e';
const POLICY = `version: 1
providers: { sim: { adapter: simulated } }
models:
  one: { provider: sim, price: { input: 1, output: 1 }, context_window: 9999, max_output: 99, quality: { default: 0.5 } }
cases:
  - { name: "named ${HOSTILE}", given: { model: one }, expect: { model: one } }
`;
const CONFIG = `model_list:
  - { model_name: one, litellm_params: { model: openai/gpt-4o }, "odd ${HOSTILE}": 1 }
`;

const folders = [
  writePolicy(POLICY),
  writePolicy(`${POLICY}baseline: "no ${HOSTILE}" # \u202e\n`),
  writePolicy({ 'litellm.yaml': CONFIG }),
];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

test('no text of a policy or a configuration can control the reader’s terminal', async () => {
  const [right = '', wrong = '', config = ''] = folders;
  const told = await Promise.all([
    runHere(['policy', 'test', right, '--case', 'nothing of that name']),
    runCommand(['policy', 'check', wrong]),
    runHere(['import', 'litellm', join(config, 'litellm.yaml'), '--out', join(config, 'out')]),
  ]);
  expect(told.map(({ out, err }) => /(?:named|no|odd) \ufffd\[31m\ufffd\]0;owned/.test(out + err))).toEqual([
    true,
    true,
    true,
  ]);
  for (const { out, err } of told) expect(out + err).not.toMatch(/[^\P{Cc}\t\n]|\p{Bidi_Control}/u);
});
