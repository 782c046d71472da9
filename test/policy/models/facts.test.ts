import { describe, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../../plugins/index.ts';
import { createRegistry } from '../../../src/host/plugins/registry.ts';
import { loadPolicy } from '../../../src/policy/load.ts';
import { loadFacts } from '../../../src/policy/models/facts.ts';

/** The table of public models, `src/policy/models/facts.json`, which `signalbox catalog update` writes. */
const FILE = join(import.meta.dir, '../../../src/policy/models/facts.json');
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const facts = await loadFacts();
const oldest = facts.file.sources.at(-1)?.as_of ?? '';
const { providers, ...others } = createRegistry(shipped);
const presets = [...providers.values()].flatMap((plugin) => Object.keys(plugin.presets ?? {}));
const rows = presets.flatMap((preset) => facts.ids(preset).map((id) => ({ preset, id, row: facts.of(preset, id) })));

/** Makes a policy with every row of the table as a model, written as JSON. */
function policyOfAll(today: string) {
  const text = JSON.stringify({
    version: 1,
    credits: { usd_per_credit: 0.001 },
    providers: Object.fromEntries([...new Set(rows.map(({ preset }) => preset))].map((preset) => [preset, { preset }])),
    models: Object.fromEntries(
      rows.map(({ preset, id, row }) => [
        `${preset}/${id}`,
        { provider: preset, upstream: id, ...row, quality: { default: 0.5, basis: 'guessed' } },
      ]),
    ),
  });
  const context = {
    env: { get: () => 'set-for-the-test' },
    providers,
    ...others,
    plugins: new Map(),
    outside: new Map(),
    today,
  };
  return loadPolicy([{ path: 'all.yaml', text }], { ...context, revisionOf: () => 'r' });
}

describe('the table of public models', () => {
  test('the table of public models has a few hundred models from every hosted provider except Azure, in at most 150 kB', () => {
    expect(statSync(FILE).size).toBeLessThanOrEqual(150_000);
    expect(rows.length).toBeGreaterThan(300);
    const hosted = [
      'openai',
      'anthropic',
      'gemini',
      'mistral',
      'deepseek',
      'xai',
      'moonshotai',
      'zai',
      'groq',
      'cerebras',
    ];
    for (const preset of [...hosted, 'together', 'fireworks', 'openrouter']) expect(facts.ids(preset)).not.toBeEmpty();
    // Operators choose the names of Azure deployments.
    expect(facts.ids('azure-openai')).toEqual([]);
  });

  test('the table of public models names its sources, their days, and the licence and copyright that must accompany it', async () => {
    const { sources, licence, other_copyrights: others } = facts.file;
    expect(facts.source).toContain(`${sources[0]?.name}@${sources[0]?.revision.slice(0, 8)}`);
    expect(sources.map((one) => one.as_of)).toEqual(
      sources
        .map((one) => one.as_of)
        .sort()
        .reverse(),
    );
    const copyrights = [...sources.map(({ copyright }) => copyright), ...(others ?? [])];
    for (const copyright of copyrights) expect(copyright).toStartWith('Copyright (c)');
    // The limits of most rows come from models.dev.
    expect(copyrights).toContain('Copyright (c) 2025 models.dev');
    expect(licence).toStartWith('MIT License Permission is hereby granted');
    expect(licence).toContain('shall be included in all copies');
  });

  test('the table of public models has only rows that a policy accepts as a model without any diagnostic', () => {
    const { snapshot, diagnostics } = policyOfAll(oldest);
    expect(diagnostics).toEqual([]);
    expect(snapshot?.models).toHaveLength(rows.length);
  });

  test('the table of public models has prices that become old like the prices of a policy', () => {
    const { diagnostics } = policyOfAll('2030-01-01');
    const old = diagnostics.filter(({ code }) => code === 'stale-figure');
    expect(old).toHaveLength(rows.length);
    // Some prices have also ended by then.
    expect(new Set(diagnostics.map(({ code }) => code))).toEqual(new Set(['stale-figure', 'ended-price']));
  });

  test('the table of public models has no name that its vendor moves, no name for another model or price, and no price of 0', () => {
    expect(facts.ids('deepseek')).toContain('deepseek-v4-pro');
    for (const { id, row } of rows) {
      expect(id).not.toMatch(/:|^~|^openrouter\/|^ft-|\.\.|latest|\/router$/);
      expect(Math.min(row?.price.input ?? 0, row?.price.output ?? 0)).toBeGreaterThan(0);
      expect(row?.price).toMatchObject({ basis: 'aggregator', as_of: expect.stringMatching(DAY) });
    }
  });

  test('a model that has left the table never gets the price of another version', () => {
    expect(facts.rowsOf('openai', 'gpt-4o-2024-11-20')).not.toEqual([]);
    expect(facts.rowsOf('openai', 'gpt-4o-2024-05-13')).toEqual([]);
    for (const name of ['deepseek-chat', 'deepseek-reasoner']) expect(facts.rowsOf('deepseek', name)).toEqual([]);
  });

  test('the table of public models distinguishes a model in the table from an unknown one', () => {
    expect(facts.of('openai', 'gpt-4o-mini')).toEqual({
      price: {
        input: 0.15,
        cached_input: 0.075,
        output: 0.6,
        ...{ tiers: [], hours: [], later: [] },
        service_tiers: { priority: { input: 0.25, cached_input: 0.125, output: 1, tiers: [] } },
        as_of: expect.stringMatching(DAY),
        basis: 'aggregator',
      },
      ...{ context_window: 128_000, max_output: 16_384, temperature: true, released: '2024-07-18' },
      capabilities: ['tools', 'vision', 'json_schema', 'file_input', 'choices', 'logprobs'],
    });
    for (const [preset, id] of [
      ['openai', 'gpt-nova-9'],
      ['nobody', 'gpt-4o-mini'],
      ['openai', 'constructor'],
      ['constructor', 'name'],
    ] as const)
      expect(facts.of(preset, id)).toBeNull();
  });
});
