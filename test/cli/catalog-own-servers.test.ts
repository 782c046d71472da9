import { afterAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { FakeModelServer } from '../support/model-servers.ts';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** Tests `signalbox catalog update PROVIDER` with imitations of model servers that an operator runs. */
const ollama = new FakeModelServer('ollama', [
  { name: 'smol:latest', capabilities: ['completion', 'tools'], inUse: 4_096 },
  {
    name: 'qwen3.8:27b',
    capabilities: ['completion', 'tools', 'thinking'],
    numCtx: 32_768,
    contextMax: 262_144,
    size: '27.0B',
  },
  { name: 'embed', capabilities: ['embedding'], dimensions: 8 },
]);
const cpp = new FakeModelServer('llama-cpp', [{ name: '/models/SmolLM2.Q4_1.gguf', inUse: 2_048 }]);
const ENV = { OLLAMA_BASE_URL: ollama.url, LLAMA_CPP_BASE_URL: cpp.url };
const POLICY = 'version: 1\nproviders:\n  box: { preset: ollama }\n  cpp: { preset: llama-cpp }\n';
const folder = writePolicy({ 'policy.yaml': POLICY });
const scratch = temporaryFolder();
afterAll(async () => {
  await Promise.all([ollama.stop(), cpp.stop()]);
  for (const one of [folder, scratch]) rmSync(one, { recursive: true, force: true });
});

const sync = (provider: string, ...flags: readonly string[]) =>
  runHere(['catalog', 'update', provider, '--policies', folder, ...flags], ENV);

test('an entry for each model of Ollama is complete, and says what its server says', async () => {
  const { code, out, err } = await sync('box');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain('2 to add, 0 with questions');
  expect(out).toMatch(/^ {2}smol:\n {4}provider: box\n {4}upstream: smol:latest\n/m);
  expect(out).toContain('context_window: 4096\n    max_output: 1024\n    capabilities: [json_schema, tools]\n');
  expect(out).toContain('quality: { default: 0.4, basis: guessed }');
  expect(out).toMatch(/embeddings: .*embed/);
});

test('a public model has the figures that Signalbox knows', async () => {
  const { out } = await sync('box');
  const entry = out.slice(out.indexOf('  qwen3.8:27b:'));
  expect(entry).toContain('context_window: 32768');
  expect(entry).toMatch(/quality:\s+default: 0\.92/);
});

test('a path becomes a name, and the file that is printed is a valid policy', async () => {
  const file = join(scratch, 'found', 'cpp.yaml');
  expect((await sync('cpp', '--write', join(scratch, 'found'))).code).toBe(0);
  const own = writePolicy({ 'policy.yaml': POLICY, 'found.yaml': await Bun.file(file).text() });
  const checked = await runHere(['policy', 'check', '--policies', own], ENV);
  rmSync(own, { recursive: true, force: true });
  expect({ code: checked.code, err: checked.err }).toEqual({ code: 0, err: '' });
  expect(await Bun.file(file).text()).toMatch(/^ {2}SmolLM2\.Q4_1:\n/m);
});
