import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../support/signalbox.ts';

/** `npm run facts` on a small clone in the form of models.dev. */
const clone = temporaryFolder();
const out = join(clone, 'facts.json');
afterAll(() => rmSync(clone, { recursive: true, force: true }));

const model = (cost: string, more = '', input = '"text", "image"', output = '"text"') => `
name = "A model"
release_date = "2026-01-02"
reasoning = true
temperature = false
tool_call = true
structured_output = true
${more}
[cost]
${cost}
[limit]
context = 100_000
output = 200_000
[modalities]
input = [${input}]
output = [${output}]
`;
const PRICED = 'input = 1\noutput = 2';
const FILES: Readonly<Record<string, string>> = {
  LICENSE: 'MIT License\n\nCopyright (c) 2025 models.dev\n',
  'models/openai/base.toml': model(PRICED).replace(/\[cost\]\n.*\n.*\n/, ''),
  'providers/openai/provider.toml': 'name = "OpenAI"',
  'providers/openai/models/a.toml': model(
    'input = 0.5\noutput = 2\ncache_read = 0.05\ncache_write = 0\ninput_audio = 0.5',
    '',
    '"text", "audio", "pdf"',
  ),
  'providers/openai/models/dear-audio.toml': model(`${PRICED}\ninput_audio = 9`, '', '"text", "audio"'),
  'providers/openai/models/gpt-4x.toml': model(PRICED).replace('reasoning = true', 'reasoning = false'),
  'providers/openrouter/models/gpt-4x.toml': model(PRICED).replace('reasoning = true', 'reasoning = false'),
  'providers/openai/models/tiered.toml': model(
    `${PRICED}\n[[cost.tiers]]\ntier = { size = 200_000 }\ninput = 2\noutput = 4`,
  ),
  'providers/openai/models/old.toml': model(PRICED, 'status = "deprecated"'),
  'providers/openai/models/free.toml': model('input = 0\noutput = 0'),
  'providers/openai/models/painter.toml': model(PRICED, '', '"text"', '"text", "image"'),
  'providers/openai/models/chat-latest.toml': model(PRICED),
  'providers/deepseek/models/deepseek-chat.toml': model(PRICED),
  'providers/openrouter/models/deepseek/deepseek-chat.toml': model(PRICED),
  'providers/openrouter/models/someone/router.toml': model(PRICED),
  'providers/openai/models/thinks-dearer.toml': model(`${PRICED}\nreasoning = 3`),
  'providers/openai/models/unpriced.toml': model('').replace('[cost]\n', ''),
  'providers/openrouter/models/openai/heir.toml': `base_model = "openai/base"\nbase_model_omit = ["release_date"]\n[cost]\ninput = 3\noutput = 4\n[limit]\noutput = 1_000\n`,
  'providers/openrouter/models/openai/heir:free.toml': model(PRICED),
  'providers/openrouter/models/openrouter/auto.toml': model(PRICED),
  'providers/openrouter/models/~openai/latest.toml': model(PRICED),
  'providers/nobody/models/b.toml': model(PRICED),
};

const run = (...args: string[]) =>
  Bun.spawnSync([process.execPath, join(import.meta.dir, '../../bench/facts.ts'), ...args]);
const git = (...args: string[]) => {
  const env = { ...process.env, GIT_COMMITTER_DATE: '2026-03-04T23:30:00-05:00' };
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  expect(Bun.spawnSync(['git', '-C', clone, ...who, ...args], { env }).exitCode).toBe(0);
};

describe('npm run facts', () => {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    writeFileSync(join(clone, path), text);
  }
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'models');

  test('writes what can be billed and converses, with inheritance, its commit and its licence', () => {
    const { exitCode, stdout } = run(clone, '--out', out);
    expect([exitCode, stdout.toString()]).toEqual([0, expect.stringContaining('of 2026-03-05: openai 4, anthropic 0')]);
    const { models, moving, ...head } = JSON.parse(readFileSync(out, 'utf8'));
    expect(head).toEqual({
      source: 'anomalyco/models.dev',
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      as_of: '2026-03-05',
      licence: 'MIT License Copyright (c) 2025 models.dev',
    });
    const usual = { context_window: 100_000, max_output: 100_000, temperature: false, released: '2026-01-02' };
    const can = ['tools', 'vision', 'json_schema', 'reasoning'];
    expect(models.openai).toEqual({
      a: {
        ...usual,
        price: { input: 0.5, cached_input: 0.05, output: 2 },
        capabilities: ['tools', 'json_schema', 'reasoning', 'audio_input', 'file_input'],
      },
      'dear-audio': { ...usual, price: { input: 1, output: 2 }, capabilities: ['tools', 'json_schema', 'reasoning'] },
      // The list tells nothing of these two: they are OpenAI's own, not its models' at others.
      'gpt-4x': {
        ...usual,
        price: { input: 1, output: 2 },
        capabilities: ['tools', 'vision', 'json_schema', 'choices', 'logprobs'],
      },
      tiered: {
        ...usual,
        price: { input: 1, output: 2, tiers: [{ over_input_tokens: 200_000, input: 2, output: 4 }] },
        capabilities: can,
      },
    });
    expect(models.deepseek).toEqual({});
    expect(moving).toEqual({
      deepseek: { 'deepseek-chat': { ...usual, price: { input: 1, output: 2 }, capabilities: can } },
    });
    expect(models.openrouter).toEqual({
      'gpt-4x': { ...usual, price: { input: 1, output: 2 }, capabilities: ['tools', 'vision', 'json_schema'] },
      // DeepSeek moves this name, OpenRouter does not.
      'deepseek/deepseek-chat': { ...usual, price: { input: 1, output: 2 }, capabilities: can },
      'openai/heir': {
        price: { input: 3, output: 4 },
        context_window: 100_000,
        max_output: 1000,
        capabilities: can,
        temperature: false,
      },
    });
  });

  test('names what it needs, and a revision that is none', () => {
    expect(run().stderr.toString()).toContain('npm run facts takes one folder');
    expect(run(clone, '--commit', 'nowhere', '--out', out).exitCode).toBe(1);
  });
});
