import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { defineStrategy, Type } from '../../src/contract/plugin.ts';
import { canonicalLanguage, isKnownLanguage } from '../../src/core/languages.ts';
import { policySchema } from '../../src/policy/json-schema.ts';
import { HINTS } from '../../src/policy/json-schema-hints.ts';
import { SECTIONS } from '../../src/policy/schema.ts';
import { LANGUAGES } from '../../src/policy/schema-model.ts';
import { checkerOf } from './json-schema-check.ts';
import { loadShipped } from './shipped.ts';
import { shippedPolicy } from './support.ts';

const GOLDEN = join(import.meta.dir, 'golden');
const DOCS = join(import.meta.dir, '../../docs');
const schema = policySchema(shipped);
const found = checkerOf(schema);

/** Codes that depend on one file alone, not on names or expressions. */
const OF_THE_SCHEMA =
  /^\S+:\d+:\d+ {2}(?:unknown-key|wrong-type|not-one-of|missing-key|out-of-range|bad-form|bad-name|conflicting-keys) /m;

/** Reason → faulty policies that only the loader can refuse. */
const UNSEEN: ReadonlyMap<string, string> = new Map([
  ...['output-exceeds-context', 'price-tiers-descend', 'cached-ttft-above-ttft', 'weights-all-zero'].map(
    (name) => [name, 'two figures are compared'] as const,
  ),
  ...[
    'payments-figures-contradict',
    'payments-uncountable',
    'learning-window-beyond-records',
    'gateway-socket-above-body',
  ].map((name) => [name, 'two figures are compared'] as const),
  ['key-of-a-keyless-adapter', 'the adapter says that it takes no key'],
  ['tokens-keys-wrong', 'addresses and keys are judged'],
  ['budget-of-sessions-without-an-end', 'the values of two keys exclude each other'],
  ['case-body-beside-a-query', 'a key excludes many others'],
  ...[
    'address-not-http',
    'address-without-scheme',
    'address-of-a-variable',
    'address-of-a-call',
    'payments-node-not-http',
    'gateway-proxies-wrong',
  ].map((name) => [name, 'an address is taken apart'] as const),
  ['languages-both-ways', 'two lists are compared'],
  ['team-formerly-wrong', 'the names of teams are compared'],
  ['cors-origin-with-path', 'an address is taken apart'],
  ['address-missing', 'the adapter is asked'],
  ['plugin-option-wrong-type', 'a plugin of its own is asked'],
  ...['budget-limit-too-exact', 'price-hexadecimal'].map((name) => [name, 'a figure is read from its text'] as const),
  ['plugin-path-without-dot', 'a path and a package are told apart'],
  ['time-zone-unknown', 'the zones are known'],
]);

const folders = readdirSync(GOLDEN, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const goldens = folders.map(({ name }) => {
  const files = readdirSync(join(GOLDEN, name)).filter((file) => file.endsWith('.yaml'));
  return {
    name,
    texts: files.map((file) => readFileSync(join(GOLDEN, name, file), 'utf8')),
    expected: readFileSync(join(GOLDEN, name, 'expected.txt'), 'utf8'),
  };
});
/** Policies whose files are valid YAML. */
const readable = goldens.filter(
  ({ expected }) => !/ {2}(?:yaml-|not-utf-8|file-too-large|unreadable|symlink)/.test(expected),
);

/** Policies in the docs, except for one with an address to fill in. */
const examples = readdirSync(DOCS, { encoding: 'utf8', recursive: true })
  .filter((name) => name.endsWith('.md'))
  .flatMap((name) =>
    [...readFileSync(join(DOCS, name), 'utf8').matchAll(/^```yaml policy(?! mainnet).*\n([\s\S]*?)^```$/gm)].map(
      ([, text = '']) => [name, text] as const,
    ),
  );

describe('the schema accepts what the loader accepts', () => {
  for (const { path, text } of shippedPolicy()) {
    test(path, () => {
      expect(found(text)).toEqual([]);
    });
  }

  test('every example of the docs', () => {
    expect(examples.length).toBeGreaterThan(20);
    expect(examples.flatMap(([name, text]) => found(text).map((one) => `${name}: ${one}`))).toEqual([]);
  });

  test('every policy with warnings alone', () => {
    const warned = readable.filter(({ expected }) => !/^\S+:\d+:\d+ {2}(?!warning )/m.test(expected));
    expect(warned.length).toBeGreaterThan(20);
    expect(warned.flatMap(({ name, texts }) => texts.flatMap(found).map((one) => `${name}: ${one}`))).toEqual([]);
  });

  test('unknown strategies, adapters and models, which may be the operator’s own', () => {
    expect(found('selectors: { a: { strategy: thrifty, options: { greed: 1 } } }')).toEqual([]);
    expect(found('providers: { a: { adapter: mine, settings: { x: 1 } } }')).toEqual([]);
    expect(found('learning: { mode: on, estimator: mine, options: { x: 1 } }')).toEqual([]);
    expect(found('baseline: no-such-model')).toEqual([]);
  });

  test('sections without entries, and short forms', () => {
    expect(found('constraints:\nmodels:\nproviders:\n')).toEqual([]);
    expect(found('learning: shadow')).toEqual([]);
    expect(found('learning: { mode: on, signals: off, explore: off }')).toEqual([]);
    expect(found('learning: { signals: { retry: off, empty: 0 }, explore: {} }')).toEqual([]);
  });
});

describe('the schema refuses faults that one file shows', () => {
  const faulty = readable.filter(({ expected }) => OF_THE_SCHEMA.test(expected));

  test('in many policies', () => {
    expect(faulty.length).toBeGreaterThan(90);
    const names = faulty.map(({ name }) => name);
    expect([...UNSEEN.keys()].filter((name) => !names.includes(name))).toEqual([]);
  });

  for (const { name, texts } of faulty) {
    const why = UNSEEN.get(name);
    test(`${name}${why ? `: only the check sees it, where ${why}` : ''}`, () => {
      expect(texts.flatMap(found).length > 0).toBe(why === undefined);
    });
  }

  test('keys of models at a wildcard, and keys of a wildcard at models', () => {
    const full =
      'provider: o, price: { input: 1, output: 2 }, context_window: 9, max_output: 9, quality: { default: 0.5 }';
    expect(found(`models: { m: { ${full} }, "o/*": { provider: o, unknown_price: refuse } }`)).toEqual([]);
    const wrong = [
      `m: { ${full}, unknown_price: refuse }`,
      `m: { ${full.replace('context_window: 9, ', '')} }`,
      `"o/*": { ${full} }`,
      '"o/*": { unknown_price: refuse }',
      '"o/*/x": { provider: o }',
    ];
    expect(wrong.filter((model) => found(`models: { ${model} }`).length === 0)).toEqual([]);
  });

  test('options of the strategy, the adapter, the preset and the estimator that are named', () => {
    const auto = 'selectors: { a: { strategy: auto, options: { quality_margin: 0.1 } } }';
    expect(found(auto)).toEqual(['/selectors/a/options must NOT have additional properties: quality_margin']);
    expect(found(auto.replace('auto,', 'fastest-within-margin,'))).toEqual([]);
    expect(found('providers: { a: { preset: groq, settings: { service: azure } } }')).toHaveLength(1);
    expect(found('providers: { a: { preset: azure-openai, settings: { service: azure } } }')).toEqual([]);
    expect(found('providers: { a: { adapter: openai, settings: { service: aws } } }')).toHaveLength(1);
    expect(found('learning: { options: { doubt: 11 } }').length).toBeGreaterThan(0);
  });
});

describe('the texts for editors', () => {
  /** Every subschema with its path. */
  function partsOf(part: unknown, path = ''): { path: string; part: Record<string, unknown> }[] {
    if (Array.isArray(part)) return part.flatMap((one, at) => partsOf(one, `${path}/${at}`));
    if (typeof part !== 'object' || part === null) return [];
    const values = ['default', 'examples', 'enum', 'const', 'defaultSnippets'];
    const inner = Object.entries(part).filter(([key]) => !values.includes(key) || path.endsWith('/properties'));
    return [{ path, part: { ...part } }, ...inner.flatMap(([key, one]) => partsOf(one, `${path}/${key}`))];
  }
  const keys = partsOf(schema).filter(
    ({ path, part }) => /\/properties\/[^/]+$/.test(path) && !/\/(?:if|then)\//.test(path) && !('$ref' in part),
  );

  test('every key has a title and a description', () => {
    expect(keys.length).toBeGreaterThan(200);
    const silent = keys.filter(({ part }) => !part.title || !part.description);
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  test('every key with a default shows it', () => {
    const stated = keys.filter(({ part }) => part.default !== undefined);
    expect(stated.length).toBeGreaterThan(60);
    expect(stated.filter(({ part }) => !/Default: /.test(String(part.description))).map(({ path }) => path)).toEqual(
      [],
    );
  });

  test('every expression lists its fields', () => {
    const expressions = keys.filter(({ part }) => part.maxLength === 4000);
    expect(expressions.length).toBe(15);
    expect(
      expressions.filter(({ part }) => !/Sees key|Sees request|Sees model|Sees claims/.test(String(part.description))),
    ).toEqual([]);
  });

  test('every example of an expression is valid', () => {
    const wrong = partsOf(SECTIONS).flatMap(({ path, part: { maxLength, examples } }) => {
      const [, section = '', key = ''] = /^\/(\w+)\/items\/properties\/(\w+)$/.exec(path) ?? [];
      if (maxLength !== 4000 || section === '' || !Array.isArray(examples)) return [];
      return examples.flatMap((text: unknown) => {
        const policy = { [section]: [{ name: 'x', [key]: text }] };
        const { diagnostics } = loadShipped([{ path: 'p.yaml', text: JSON.stringify(policy) }]);
        return diagnostics
          .filter(({ code }) => /^(?:cel-|yaml)/.test(code))
          .map(({ message }) => `${path}: ${message}`);
      });
    });
    expect(wrong).toEqual([]);
  });

  test('the schema has no keywords of our own', () => {
    const text = JSON.stringify(schema);
    for (const word of ['"expected"', '^(.*)$', '"names":', '"sees":']) expect(text).not.toContain(word);
    expect(text.length).toBeLessThan(250_000);
  });

  test('every path of the hints exists', () => {
    const known = new Set<string>();
    const note = (part: unknown, path: string): void => {
      if (typeof part !== 'object' || part === null) return;
      known.add(path);
      const {
        properties = {},
        patternProperties = {},
        additionalProperties,
        items,
        anyOf = [],
      } = part as Record<string, never>;
      for (const [key, one] of Object.entries(properties)) note(one, `${path}.${key}`);
      for (const one of [...Object.values(patternProperties), additionalProperties]) note(one, `${path}.*`);
      note(items, `${path}[]`);
      for (const one of anyOf as unknown[]) note(one, path);
    };
    for (const [name, one] of Object.entries(SECTIONS)) note(one, name);
    expect(Object.keys(HINTS).filter((path) => !known.has(path))).toEqual([]);
  });

  test('languages have their canonical names', () => {
    expect(LANGUAGES.filter((name) => !isKnownLanguage(name) || canonicalLanguage(name) !== name)).toEqual([]);
  });

  test('a policy’s own names and the options of its own plugins are included', () => {
    const thrifty = defineStrategy({
      name: 'thrifty',
      status: 'alpha',
      options: Type.Object({ greed: Type.Number({ maximum: 1, description: 'How much.' }) }, { description: 'Saves.' }),
      prepare: () => ({ reason: 'thrifty', score: () => {} }),
    });
    const own = policySchema([...shipped, thrifty], {
      models: ['my-model'],
      providers: ['my-provider'],
      selectors: ['my-selector'],
      aliases: new Map([['my-alias', 'my-selector']]),
      tasks: ['support'],
      constraints: ['my-rule'],
    });
    const text = JSON.stringify(own);
    for (const name of ['my-model', 'my-provider', 'my-selector', 'support', 'my-rule', 'thrifty'])
      expect(text).toContain(name);
    expect(JSON.stringify(schema)).not.toContain('my-');
    const check = checkerOf(own);
    expect(check('selectors: { a: { strategy: thrifty, options: { greed: 2 } } }').length).toBeGreaterThan(0);
    expect(check('models: { m: { provider: other } }').join()).not.toContain('provider');
  });
});
