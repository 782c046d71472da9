import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../../plugins/index.ts';
import { policySchema } from '../../../src/policy/json-schema.ts';
import { SECTIONS } from '../../../src/policy/language.ts';
import { checkerOf } from '../json-schema-check.ts';
import { loadShipped } from '../shipped.ts';
import { shippedPolicy } from '../support.ts';

const GOLDEN = join(import.meta.dir, '../golden');
const DOCS = join(import.meta.dir, '../../../docs');
const schema = policySchema(shipped);
const found = checkerOf(schema);

/** Codes of problems with values that do not satisfy their schema. */
const OF_THE_SCHEMA = /^\S+:\d+:\d+ {2}(?:unknown-key|wrong-type|not-one-of) /m;

/** Mistakes in options of the policy's own plugins. */
const UNSEEN = /^plugin-option-wrong-type$/;

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

/** Policies in the docs, except a policy with a placeholder for an address. */
const examples = readdirSync(DOCS, { encoding: 'utf8', recursive: true })
  .filter((name) => name.endsWith('.md'))
  .flatMap((name) =>
    [...readFileSync(join(DOCS, name), 'utf8').matchAll(/^```yaml policy(?! mainnet).*\n([\s\S]*?)^```$/gm)].map(
      ([, text = '']) => [name, text] as const,
    ),
  );

describe('the editor schema accepts what the loader accepts:', () => {
  for (const { path, text } of shippedPolicy()) {
    test(path, () => {
      expect(found(text)).toEqual([]);
    });
  }

  test('the editor schema accepts every example of the docs', () => {
    expect(examples.length).toBeGreaterThan(20);
    expect(examples.flatMap(([name, text]) => found(text).map((one) => `${name}: ${one}`))).toEqual([]);
  });

  test('the editor schema accepts every policy that has only warnings', () => {
    const warned = readable.filter(({ expected }) => !/^\S+:\d+:\d+ {2}(?!warning )/m.test(expected));
    expect(warned.length).toBeGreaterThan(20);
    expect(warned.flatMap(({ name, texts }) => texts.flatMap(found).map((one) => `${name}: ${one}`))).toEqual([]);
  });

  test('the editor schema accepts unknown strategies, adapters and models, which may be the operator’s own', () => {
    expect(found('selectors: { a: { strategy: thrifty, options: { greed: 1 } } }')).toEqual([]);
    expect(found('providers: { a: { adapter: mine, settings: { x: 1 } } }')).toEqual([]);
    expect(found('baseline: no-such-model')).toEqual([]);
  });

  test('the editor schema accepts sections without entries', () => {
    expect(found('constraints:\nmodels:\nproviders:\n')).toEqual([]);
  });
});

describe('the editor schema refuses mistakes that are visible in a single file:', () => {
  const faulty = readable.filter(({ name, expected }) => OF_THE_SCHEMA.test(expected) && !UNSEEN.test(name));

  test('the editor schema refuses mistakes in many policies', () => {
    expect(faulty.length).toBeGreaterThan(60);
  });

  for (const { name, texts } of faulty) {
    test(name, () => {
      expect(texts.flatMap(found)).not.toEqual([]);
    });
  }

  test('the editor schema refuses keys of a model in a wildcard, and keys of a wildcard in a model', () => {
    const full =
      'provider: o, price: { input: 1, output: 2 }, context_window: 9, max_output: 9, quality: { default: 0.5 }';
    expect(found(`models: { m: { ${full} }, "o/*": { provider: o, unknown_price: refuse } }`)).toEqual([]);
    const wrong = [
      `m: { ${full}, unknown_price: refuse }`,
      `m: { ${full.replace('context_window: 9, ', '')} }`,
      `"o/*": { ${full} }`,
      '"o/*": { unknown_price: refuse }',
    ];
    expect(wrong.filter((model) => found(`models: { ${model} }`).length === 0)).toEqual([]);
  });

  test('the editor schema refuses unknown options of the strategy, the adapter and the preset that the policy names', () => {
    const auto = 'selectors: { a: { strategy: auto, options: { quality_margin: 0.1 } } }';
    expect(found(auto)).toEqual(['/selectors/a/options must NOT have additional properties: quality_margin']);
    expect(found(auto.replace('quality_margin', 'margin'))).toEqual([]);
    expect(found('providers: { a: { preset: groq, settings: { service: azure } } }')).toHaveLength(1);
    expect(found('providers: { a: { preset: azure-openai, settings: { service: azure } } }')).toEqual([]);
    expect(found('providers: { a: { adapter: openai, settings: { service: aws } } }')).not.toEqual([]);
  });
});

describe('the descriptions for editors', () => {
  /** Returns every subschema with its path. */
  function partsOf(part: unknown, path = ''): { path: string; part: Record<string, unknown> }[] {
    if (Array.isArray(part)) return part.flatMap((one, at) => partsOf(one, `${path}/${at}`));
    if (typeof part !== 'object' || part === null) return [];
    const values = ['default', 'examples', 'enum', 'const'];
    const inner = Object.entries(part).filter(([key]) => !values.includes(key) || path.endsWith('/properties'));
    return [{ path, part: { ...part } }, ...inner.flatMap(([key, one]) => partsOf(one, `${path}/${key}`))];
  }
  /** Returns a schema with each definition in the places that refer to it. */
  const expanded = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(expanded);
    if (typeof part !== 'object' || part === null) return part;
    const name = '$ref' in part ? `${part.$ref}`.replace('#/definitions/', '') : null;
    if (name !== null) return expanded((schema.definitions as Record<string, unknown>)[name]);
    return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, expanded(one)]));
  };
  const parts = partsOf(expanded(schema));

  test('the descriptions for editors state every default, because editors would write a `default` into each new map', () => {
    const byPath = new Map(parts.map(({ path, part }) => [path, part]));
    const stated = partsOf(SECTIONS).filter(
      ({ path, part }) =>
        ['string', 'number', 'boolean'].includes(typeof part.default) && !path.startsWith('/learning'),
    );
    expect(stated.length).toBeGreaterThan(60);
    const silent = stated.filter(
      ({ path, part }) =>
        !`${byPath.get(`/properties${path}`)?.description}`.includes(`Default: ${JSON.stringify(part.default)}`),
    );
    expect(silent.map(({ path }) => path)).toEqual([]);
    expect(parts.filter(({ path, part }) => 'default' in part && !path.endsWith('/properties'))).toEqual([]);
  });

  test('the descriptions for editors have only valid examples of expressions', () => {
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

  test('the descriptions for editors use only keywords that editors know', () => {
    expect(() => checkerOf(schema)).not.toThrow();
    expect(JSON.stringify(schema).length).toBeLessThan(250_000);
  });
});
