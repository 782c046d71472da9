import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SignalboxError } from '../../../src/core/errors.ts';
import { OPERATOR } from '../../../src/core/people/caller.ts';
import { aliasTarget } from '../../../src/core/policy/alias-names.ts';
import type { PolicySnapshot } from '../../../src/core/policy/snapshot.ts';
import { loadPolicy } from '../../../src/policy/load.ts';
import { FactsTable } from '../../../src/policy/models/facts.ts';
import type { PublicFigures } from '../../../src/policy/models/wildcard-names.ts';
import { meaningOf, targetOf } from '../../../src/routing/model-name.ts';
import { effort } from '../../deep/effort.ts';
import { contextOf, load, SMALL } from '../support.ts';

const { runs, seed, proved } = effort('names', 50, 5_000);

const BARE = ['gpt-4o', 'gpt-4o-mini', 'qwen', 'x/qwen'] as const;
const DATES = ['', '-2024-07-18', '-20251001', '-0613', '-001', '-latest', '@20251001'] as const;
const undatedOf = (name: string) =>
  DATES.reduce<string>((rest, date) => (date && rest.endsWith(date) ? rest.slice(0, -date.length) : rest), name);

interface World {
  readonly models: readonly {
    readonly provider: string;
    readonly upstream: string;
    readonly aliases: readonly string[];
  }[];
  readonly patterns: readonly string[];
  /** The names that have public figures. */
  readonly rows: readonly string[];
}

const upstream = fc.tuple(fc.constantFrom(...BARE), fc.constantFrom(...DATES)).map(([name, date]) => name + date);
const ALIASES = ['gpt-4o', 'fast', 'gpt-*', 'gpt-4o-*', 'a/qw*', 'f*'] as const;
const world: fc.Arbitrary<World> = fc.record({
  models: fc.array(
    fc.record({
      provider: fc.constantFrom('a', 'b'),
      upstream,
      aliases: fc.uniqueArray(fc.constantFrom(...ALIASES), { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  patterns: fc.uniqueArray(fc.constantFrom('a/*', 'b/*', 'a/gpt-*', '*'), { minLength: 1 }),
  rows: fc.uniqueArray(upstream, { maxLength: 5 }),
});
const asked = fc
  .tuple(fc.constantFrom('', 'a/', 'b/', 'm0', 'fast', 'fa'), fc.oneof(upstream, fc.constant('')), fc.boolean())
  .map(([start, name, isLoud]) => start + (isLoud ? name.toUpperCase() : name));

/** Makes rows whose prices and context windows identify them. The operator's guess is lower than all of them. */
const factsOf = (rows: readonly string[]): FactsTable =>
  new FactsTable({
    ...{ sources: [{ name: 's', revision: '0', as_of: '2026-07-01', copyright: 'c' }], licence: 'l' },
    models: {
      groq: Object.fromEntries(
        rows.map((name, at) => [
          name,
          { price: { input: 1 + at, output: 2 + at }, context_window: 9_000 + at, max_output: 1_000, capabilities: [] },
        ]),
      ),
    },
  });

const PRICE = 'price: { input: 1, output: 2 }';
const GUESS = 'unknown_price: { as: { input: 0.1, output: 0.1, as_of: 2026-11-01, basis: own } }';

function snapshotOf(
  { models, patterns, rows }: World,
  facts: PublicFigures = factsOf(rows),
  more = '',
): PolicySnapshot {
  const taken = new Set<string>();
  const listed = models.map(({ provider, upstream: name, aliases }, at) => {
    const own = aliases.filter((alias) => !taken.has(alias));
    for (const alias of own) taken.add(alias);
    const names = own.map((alias) => `"${alias}"`).join(', ');
    return `  m${at}: { provider: ${provider}, upstream: ${name}, aliases: [${names}], ${PRICE}, context_window: 8000, max_output: 1000, quality: { default: 0.5 } }`;
  });
  const open = patterns.map((pattern) => {
    const provider = pattern === '*' || pattern.startsWith('a') ? 'a' : 'b';
    return `  "${pattern}": { provider: ${provider}, ${GUESS} }`;
  });
  const address = 'adapter: openai-compatible, preset: groq, base_url: "http://127.0.0.1:1"';
  const text = `version: 1\nproviders:\n  a: { ${address} }\n  b: { ${address} }\nmodels:\n${[...listed, ...open].join('\n')}\n${more}`;
  const context = { ...contextOf({ GROQ_API_KEY: 'key-of-the-test' }), facts };
  const { snapshot, diagnostics } = loadPolicy([{ path: 'p.yaml', text }], context);
  if (!snapshot) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return snapshot;
}

type Resolve = (name: string, snapshot: PolicySnapshot) => string;
const resolve: Resolve = (name, snapshot) => meaningOf(name, snapshot).model;

/** Returns the wildcard's model that a name leads to; null if it leads to a model of the catalog or to none. */
type Reach = (
  name: string,
  snapshot: PolicySnapshot,
) => { readonly provider: string; readonly upstream: string } | null;

const reach: Reach = (name, snapshot) => {
  const found = snapshot.wildcards?.find(resolve(name, snapshot));
  return found && 'model' in found ? found.model.endpoints[0] : null;
};

describe('any name under any catalog, aliases and wildcards', () => {
  const law = (by: Reach) =>
    fc.property(world, asked, (given, name) => {
      const reached = by(name, snapshotOf(given));
      const plain = reached && undatedOf(reached.upstream.toLowerCase());
      return !given.models.some((one) => one.provider === reached?.provider && undatedOf(one.upstream) === plain);
    });

  test(`any name under any catalog, aliases and wildcards reaches a model that the catalog serves only as that model (seed ${seed})`, () => {
    fc.assert(law(reach), { seed, numRuns: runs });
  });

  test('a law detects names that reach the catalog’s models only by their exact names', () => {
    const exactly: Reach = (name, snapshot) => {
      const [provider = '', upstream = ''] = [name.slice(0, 1), name.slice(2)];
      const isListed = snapshot.models.some(({ endpoints: [one] }) => one.upstream === upstream);
      return /^[ab]\/./.test(name) && !isListed ? { provider, upstream } : reach(name, snapshot);
    };
    expect(fc.check(law(exactly), { seed, numRuns: 300, endOnFailure: true }).failed).toBe(true);
  });

  const rowLaw = (factsBy: (rows: readonly string[]) => PublicFigures) =>
    fc.property(world, asked, (given, name) => {
      const snapshot = snapshotOf(given, factsBy(given.rows));
      const id = resolve(name, snapshot);
      const found = snapshot.wildcards?.find(id);
      if (!found || !('model' in found)) return true;
      const { endpoints, contextWindow } = found.model;
      const [{ upstream: sent, price }] = endpoints;
      const same = given.rows.filter((row) => undatedOf(row) === undatedOf(sent.toLowerCase()));
      if (same.length === 0) return contextWindow === 128_000;
      // A name means a row by its own spelling or by its ID, and gets the price of that row. A version that has a row never means another
      // row.
      const at = given.rows.indexOf(sent);
      const isOther = same.some((row) => row.length > sent.length && name.toLowerCase().endsWith(row));
      const [{ input, output }] = price.lines;
      const isPriced = contextWindow === 9_000 + at && input / output === (1 + at) / (2 + at);
      return at >= 0 && id.endsWith(sent) && isPriced && !isOther;
    });

  test(`any name under any catalog, aliases and wildcards reaches a model with public figures only as that model, at its price (seed ${seed})`, () => {
    fc.assert(rowLaw(factsOf), { seed, numRuns: runs });
  });

  test('a law detects names that are charged at the operator’s guess because only exact names have public figures', () => {
    const exactly = (rows: readonly string[]): PublicFigures => {
      const table = factsOf(rows);
      table.rowsOf = (_, id) => (rows.includes(id) ? [id] : []);
      return table;
    };
    expect(fc.check(rowLaw(exactly), { seed, numRuns: 300, endOnFailure: true }).failed).toBe(true);
  });

  test('any name under any catalog, aliases and wildcards means, in this order, an ID, an alias, the longest alias with `*`, or a wildcard’s model', () => {
    fc.assert(
      fc.property(world, asked, (given, name) => {
        const snapshot = snapshotOf(given);
        const { modelIndex, selectors, aliases, aliasPatterns } = snapshot;
        const starts = [...aliasPatterns].filter(([start]) => name.startsWith(start));
        const [, covering] = starts.sort(([a], [b]) => b.length - a.length)[0] ?? [];
        const expected =
          modelIndex.has(name) || selectors.has(name)
            ? name
            : (aliases.get(name) ?? covering ?? snapshot.wildcards?.meaning(name) ?? name);
        expect(resolve(name, snapshot)).toBe(expected);
      }),
      { seed, numRuns: runs },
    );
  });

  test('any name under any catalog, aliases and wildcards means a model with public figures before any alias with `*`, if patterns cover only unknown names', () => {
    fc.assert(
      fc.property(world, asked, (given, name) => {
        const former = snapshotOf(given);
        const snapshot = snapshotOf(given, factsOf(given.rows), 'alias_patterns: unknown_names\n');
        const means = resolve(name, snapshot);
        const { modelIndex, aliases, wildcards } = snapshot;
        const covered = modelIndex.has(name) || aliases.has(name) ? null : (wildcards?.meaning(name) ?? null);
        const { endpoints: [endpoint] = [] } = covered === null ? {} : (modelOf(covered, snapshot) ?? {});
        const isReal = endpoint && (modelIndex.has(covered!) || given.rows.includes(endpoint.upstream));
        expect(means).toBe(isReal ? covered! : resolve(name, former));
      }),
      { seed, numRuns: runs },
    );
  });

  test('any name under any catalog, aliases and wildcards is served to a key with a list of models only if the list contains the model or its wildcard', () => {
    const lists = fc.uniqueArray(fc.constantFrom('m0', 'm1', 'a/*', 'b/*', '*', 'a/gpt-4o', 'b/qwen', 'gpt-4o'));
    fc.assert(
      fc.property(world, asked, lists, (given, name, list) => {
        const snapshot = snapshotOf(given);
        const model = resolve(name, snapshot);
        const found = snapshot.wildcards?.find(model);
        const isWild = !snapshot.modelIndex.has(model) && found != null && 'model' in found;
        if (!isWild && !snapshot.modelIndex.has(model)) return;
        const own = isWild ? { ...snapshot, models: [found.model], modelIndex: new Map([[model, 0]]) } : snapshot;
        const may = list.some((one) => one === model) || (isWild && list.some((one) => one === found.model.pattern));
        expect(isAllowed(name, list, own)).toBe(may);
      }),
      { seed, numRuns: runs },
    );
  });
});

/** Returns a model of the catalog or of a wildcard, by its ID. */
function modelOf(id: string, { models, modelIndex, wildcards }: PolicySnapshot) {
  if (modelIndex.has(id)) return models[modelIndex.get(id)!];
  const found = wildcards?.find(id);
  return found && 'model' in found ? found.model : undefined;
}

function isAllowed(name: string, list: readonly string[], snapshot: PolicySnapshot): boolean {
  try {
    targetOf(name, { ...OPERATOR, models: new Set(list) }, snapshot);
    return true;
  } catch (error) {
    if (error instanceof SignalboxError && error.code === 'insufficient_permissions') return false;
    throw error;
  }
}

test('if several versions of a model have public figures, the plain name uses none of these figures, and the refusal names the versions', () => {
  const rows = ['gpt-4o-2024-07-18', 'gpt-4o-0613'];
  const { wildcards } = snapshotOf({
    models: [{ provider: 'b', upstream: 'x', aliases: [] }],
    patterns: ['a/*'],
    rows,
  });
  for (const id of ['a/gpt-4o', 'a/gpt-4o-latest', 'a/GPT-4o-2024-08-06']) {
    const refused = expect.stringContaining('Known versions: `a/gpt-4o-2024-07-18`, `a/gpt-4o-0613`.');
    expect(wildcards?.find(id)).toEqual({ refused });
  }
  expect(wildcards?.find('a/gpt-4o-0613')).toHaveProperty('model');
  // A wildcard that does not cover the model must not evade the rules of the wildcard that does.
  const narrow = snapshotOf({
    models: [{ provider: 'b', upstream: 'x', aliases: [] }],
    patterns: ['a/*', 'a/gpt-*'],
    rows: ['gpt'],
  });
  expect(narrow.wildcards?.find('a/gpt-2024-07-18')).toEqual({
    refused: expect.stringContaining('Known versions: `gpt`.'),
  });
});

test('a rule that contains another spelling of an ID is refused, and the error shows the ID', () => {
  const rule = (name: string) =>
    `version: 1
providers: { a: { adapter: openai-compatible, preset: groq, serves: "*" } }
models: { m: { provider: a, ${PRICE}, context_window: 8000, max_output: 1000, quality: { default: 0.5 } } }
constraints: [{ name: c, require: 'model.id != "${name}"' }]
`;
  const problems = (name: string) =>
    loadPolicy([{ path: 'p.yaml', text: rule(name) }], {
      ...contextOf({ GROQ_API_KEY: 'key-of-the-test' }),
      facts: factsOf(['gpt-4o']),
    }).diagnostics.map(({ message, expected }) => [message, expected]);
  expect(problems('a/gpt-4o')).toEqual([]);
  expect(problems('a/GPT-4o-2024-07-18')).toEqual([
    ['`a/GPT-4o-2024-07-18` is another name of a model', '`a/gpt-4o`, the ID of that model'],
  ]);
});

test('only the most recently requested IDs of a wildcard stay compiled', () => {
  const snapshot = snapshotOf({
    models: [{ provider: 'b', upstream: 'qwen', aliases: [] }],
    patterns: ['a/*'],
    rows: [],
  });
  const first = snapshot.wildcards?.find('a/0');
  expect(snapshot.wildcards?.find('a/0')).toBe(first!);
  for (let at = 1; at <= 1_000; at++) snapshot.wildcards?.find(`a/${at}`);
  const again = snapshot.wildcards?.find('a/0');
  expect(again).not.toBe(first!);
  expect(again).toEqual(first!);
});

describe('a wildcard with a mistake is reported:', () => {
  const problemsOf = (models: string, providers = '') =>
    load([
      { path: 'p.yaml', text: SMALL },
      { path: 'q.yaml', text: `models:\n  ${models}\n${providers}` },
    ]).diagnostics.map(({ code, message }) => `${code} ${message}`);

  test.each([
    ['"sim*x": { provider: sim }', 'bad-name `sim*x` cannot be a name'],
    ['"sim/*": { provider: nobody }', 'unknown-reference there is no provider `nobody`'],
    ['"sim/*": { provider: sim, upstream: x }', 'bad-form `models.sim/*.upstream` has no `*` at its end'],
    [
      '"sim/*": { provider: sim, unknown_price: free }',
      'wrong-type `models.sim/*.unknown_price` cannot be the text "free"',
    ],
    ['one: { provider: sim, unknown_price: refuse }', 'unknown-key `models.one` has no key `unknown_price`'],
  ])('is reported: %s', (text, problem) => {
    expect(problemsOf(text)).toContain(problem);
  });
});

describe('default aliases', () => {
  const claude = fc.constantFrom('claude-opus-4-8', 'claude-sonnet-5-5-20260101', 'claude-haiku-9', 'gpt-4o');
  const aliases = ['opus', 'claude-opus-*', 'claude-*', 'claude-auto', 'claude-haiku-9'] as const;
  const worlds: fc.Arbitrary<World> = fc.record({
    models: fc.array(
      fc.record({
        provider: fc.constantFrom('a', 'b'),
        upstream: claude,
        aliases: fc.uniqueArray(fc.constantFrom(...aliases), { maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    patterns: fc.uniqueArray(fc.constantFrom('a/*', 'b/*', 'claude-opus-*'), { maxLength: 2 }),
    rows: fc.uniqueArray(claude, { maxLength: 2 }),
  });
  const names = fc.oneof(claude, fc.constantFrom('opus', 'sonnet', 'claude-auto', 'm0', 'auto', 'a/claude-haiku-9'));
  const law = (by: Resolve) =>
    fc.property(worlds, names, (given, name) => {
      const without = snapshotOf(given);
      const meant = resolve(name, without);
      const has =
        without.modelIndex.has(meant) || without.selectors.has(meant) || without.wildcards?.meaning(name) != null;
      const snapshot = snapshotOf(given, factsOf(given.rows), 'default_aliases: agents\n');
      return by(name, snapshot) === (has ? meant : (aliasTarget(snapshot.defaultAliases, name) ?? name));
    });

  test('default aliases give a meaning only to names that have none', () => {
    fc.assert(law(resolve), { seed, numRuns: runs });
    proved(
      'any name under any catalog, aliases and wildcards reaches a model only as that model; default aliases come last',
    );
  });

  test('the law detects default aliases that come before models', () => {
    const eager: Resolve = (name, snapshot) => aliasTarget(snapshot.defaultAliases, name) ?? resolve(name, snapshot);
    expect(fc.check(law(eager), { seed, numRuns: 300, endOnFailure: true }).failed).toBe(true);
  });
});
