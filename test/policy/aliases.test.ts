import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SignalboxError } from '../../src/core/errors.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import { AGENT_NAMES, aliasTarget } from '../../src/core/policy/alias-names.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { loadFacts } from '../../src/policy/models/facts.ts';
import { meaningOf } from '../../src/routing/model-name.ts';
import { anyText } from '../../src/tools/conformance/answers.ts';
import { model, snapshot } from '../routing/build.ts';
import { chatFacts } from '../support/chat-body.ts';
import { shippedSnapshot } from './shipped.ts';
import { load, SMALL, snapshotOf } from './support.ts';

const policyOf = (more: string) =>
  load([
    { path: 'p.yaml', text: SMALL },
    { path: 'q.yaml', text: more },
  ]);

test('selectors and models have the aliases that the policy states, and otherwise none', () => {
  const { aliases } = snapshotOf(policyOf('selectors: { auto: { strategy: auto, aliases: [claude-auto, a/b] } }'));
  expect([...aliases]).toEqual([
    ['claude-auto', 'auto'],
    ['a/b', 'auto'],
  ]);
  expect(snapshotOf(policyOf('')).aliases.size).toBe(0);
});

describe('a request for an alias', () => {
  const served: PolicySnapshot = snapshot([model('small', { q: 0.5 }), model('large', { q: 0.9 })], {
    aliases: new Map([
      ['claude-auto', 'auto'],
      ['claude-large', 'large'],
      ['claude-gone', 'gone'],
    ]),
    leftOut: [{ kind: 'model', name: 'gone', reason: 'KEY is not set', toCallers: 'its provider has no key' }],
  });
  const ask = (name: string, content: string) => ({ model: name, messages: [{ role: 'user' as const, content }] });

  test('a request for an alias is decided like a request for the name that the alias stands for, whatever the request contains', () => {
    fc.assert(
      fc.property(
        anyText(60),
        fc.constantFrom(['claude-auto', 'auto'], ['claude-large', 'large']),
        (text, [alias, name]) => {
          const meant = chatFacts(ask(name!, text), OPERATOR, served);
          expect(meant.alias).toBeNull();
          expect(chatFacts(ask(alias!, text), OPERATOR, served)).toEqual({ ...meant, alias: alias! });
        },
      ),
      { numRuns: 50 },
    );
  });

  const refusal = (name: string, models: ReadonlySet<string> | null = null) => {
    try {
      chatFacts(ask(name, 'hi'), { ...OPERATOR, models }, served);
    } catch (error) {
      if (error instanceof SignalboxError) return [error.code, error.message];
    }
    return null;
  };

  test('a request for an alias is refused if the key may not use the model, and the refusal does not suggest that model', () => {
    const small = new Set(['small']);
    expect(refusal('claude-large', small)?.[0]).toBe('insufficient_permissions');
    expect(refusal('claude-larg', small)?.[1]).not.toContain('claude-large');
    expect(refusal('claude-larg')?.[1]).toContain('Did you mean `claude-large`?');
    expect(refusal('claude-auto', small)).toBeNull();
  });

  test('a request for an alias is refused with the reason if its model cannot be served', () => {
    expect(refusal('claude-gone')?.[1]).toBe('The model `gone` is in the policy but cannot be served: KEY is not set.');
  });
});

describe('a selector that has the names of a model as aliases', () => {
  const ofModel = (env: Record<string, string>) =>
    snapshotOf(
      load(
        [
          { path: 'p.yaml', text: SMALL },
          {
            path: 'q.yaml',
            text: `providers: { far: { adapter: openai-compatible, base_url: "https://far.example", api_key_env: FAR_KEY } }
models:
  opus-5: { provider: far, aliases: [opus, opus-5-*], price: { input: 1, output: 2 }, context_window: 9000, max_output: 900, quality: { default: 0.9 } }
selectors: { auto: { strategy: auto, aliases: [opus-5, opus, opus-5-*, opus-*] } }
`,
          },
        ],
        env,
      ),
    );
  const meaning = (name: string, env = {}) => meaningOf(name, ofModel(env)).model;

  test('a selector that has the names of a model as aliases replaces the model only if the model cannot be served', () => {
    for (const name of ['opus-5', 'opus', 'opus-5-20260101', 'opus-5[1m]']) {
      expect(meaning(name)).toBe('auto');
      expect(meaning(name, { FAR_KEY: 'key-of-the-test' })).toBe('opus-5');
    }
    expect(meaning('opus-9', { FAR_KEY: 'key-of-the-test' })).toBe('auto');
  });

  test.each([
    ['models', 'a: { aliases: [x] }, b: { aliases: [x] }'],
    ['models', 'a: { aliases: ["x-*"] }, b: { aliases: ["x-*"] }'],
    ['selectors', 'auto: { strategy: auto, aliases: [tiny] }, other: { strategy: auto, aliases: [tiny] }'],
  ])('two selectors or two models with the same alias clash: %s: %s', (section, entries) => {
    const found = load([
      { path: 'p.yaml', text: SMALL },
      { path: 'q.yaml', text: `${section}: { ${entries} }\n` },
    ]);
    expect(found.diagnostics.map(({ code }) => code)).toContain('duplicate-name');
  });
});

test('the shipped policy serves the names that Claude Code sends, with the key of any provider', () => {
  const NAMES = ['opus', 'sonnet', 'haiku', 'claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'];
  const fables = ['fable', 'claude-fable-5-1', 'claude-fable-5-2[1m]'];
  const dated = ['claude-haiku-4-5-20251001', 'claude-opus-5-5-20260922', 'claude-opus-5-5[1m]', 'opus[1m]'];
  const meant = (env: Record<string, string>) =>
    [...NAMES, ...dated, ...fables].map((name) => meaningOf(name, shippedSnapshot(env)).model);
  expect(meant({ OPENAI_API_KEY: 'key-of-the-test' })).toEqual([
    ...['auto', 'auto', 'auto-cheap', 'auto', 'auto', 'auto-cheap'],
    ...['auto-cheap', 'auto', 'auto', 'auto'],
    ...['auto', 'auto', 'auto'],
  ]);
  expect(meant({ ANTHROPIC_API_KEY: 'key-of-the-test' })).toEqual([
    ...['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'],
    ...['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'],
    ...['claude-haiku-4-5', 'claude-opus-5-5', 'claude-opus-5-5', 'claude-opus-5-5'],
    ...['claude-fable-5-1', 'claude-fable-5-1', 'auto'],
  ]);
});

test('default aliases cover four classes of Claude and the chat models that gemini-cli names, and no other model with a public price', async () => {
  const { defaultAliases } = shippedSnapshot({});
  const table = await loadFacts();
  const ids = ['anthropic', 'openai', 'gemini', 'mistral', 'openrouter'].flatMap((service) => table.ids(service));
  const covered = ids.filter((id) => aliasTarget(defaultAliases, id) !== null);
  expect(covered.length).toBeGreaterThan(5);
  const others = covered.filter((id) => !/^claude-(fable|opus|sonnet|haiku)-/.test(id));
  expect(others).toContain('gemini-2.5-pro');
  const named: readonly string[] = Object.values(AGENT_NAMES['gemini-cli']).flat();
  expect(others.filter((id) => !named.includes(id))).toEqual([]);
  expect(named.filter((name) => name.includes('*') || name.includes('embedding'))).toEqual([]);
});
