import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { shipped } from '../../plugins/index.ts';
import { policySchema } from '../../src/policy/json-schema.ts';
import type { Diagnostic, DiagnosticCode } from '../../src/policy/report/diagnostics.ts';
import { tries } from '../deep/effort.ts';
import { checkerOf } from './json-schema-check.ts';
import { policies } from './json-schema-policies.ts';
import { loadShipped } from './shipped.ts';

const schema = policySchema(shipped);
const TIMEOUT_MS = 600_000;

/** Codes of problems that the schema must find, too. */
const SEEN: ReadonlySet<DiagnosticCode> = new Set(['unknown-key', 'wrong-type', 'not-one-of']);
/** Codes of problems that do not depend on names, expressions or other files. */
const WRONG: ReadonlySet<DiagnosticCode> = new Set([
  ...SEEN,
  'missing-key',
  'out-of-range',
  'bad-form',
  'bad-name',
  'conflicting-keys',
  'secret',
]);
/** A section without entries. Other files may contain entries. */
const ELSEWHERE = /^`\w+` must be a map, found nothing$/;

const isOf = (codes: ReadonlySet<DiagnosticCode>) => (one: Diagnostic) =>
  one.severity === 'error' && codes.has(one.code);

/** The law: the loader and the schema agree about a file. */
function agree(found: (text: string) => string[]) {
  return fc.property(policies, (policy) => {
    const text = stringify(policy, { aliasDuplicateObjects: false });
    const { diagnostics } = loadShipped([{ path: 'policy.yaml', text }]);
    const bySchema = found(text);
    // Without an adapter, the settings are not checked.
    if (diagnostics.some(({ message }) => /^the adapter .* has no preset /.test(message))) return;
    if (bySchema.length > 0 && !diagnostics.some(isOf(WRONG))) throw new Error(`only the schema: ${bySchema}\n${text}`);
    const must = diagnostics.filter(isOf(SEEN)).filter(({ message }) => !ELSEWHERE.test(message));
    if (must.length > 0 && bySchema.length === 0)
      throw new Error(`only the loader: ${must.map(({ message }) => message)}\n${text}`);
  });
}

test(
  'the editor schema accepts what the loader accepts, and refuses what the loader refuses because of its form',
  () => {
    fc.assert(agree(checkerOf(schema)), tries('the editor schema and the loader agree about a policy', 5, 5_000));
  },
  TIMEOUT_MS,
);

/** Applies a change to every part of the schema. */
function changed(part: unknown, change: (keywords: Keywords) => Keywords): unknown {
  if (Array.isArray(part)) return part.map((one) => changed(one, change));
  if (typeof part !== 'object' || part === null) return part;
  return change(Object.fromEntries(Object.entries(part).map(([key, one]) => [key, changed(one, change)])));
}

type Keywords = Readonly<Record<string, unknown>>;

const without = (keyword: string, keywords: Keywords): Record<string, unknown> =>
  Object.fromEntries(Object.entries(keywords).filter(([key]) => key !== keyword));

const MUTANTS: Readonly<Record<string, (keywords: Keywords) => Keywords>> = {
  'knows only one form of each value': (keywords) =>
    Array.isArray(keywords.anyOf) ? { ...keywords, anyOf: keywords.anyOf.slice(0, 1) } : keywords,
  'requires keys that have defaults': (keywords) =>
    keywords.additionalProperties === false && typeof keywords.properties === 'object'
      ? { ...keywords, required: Object.keys(Object(keywords.properties)) }
      : keywords,
  'takes unknown keys': (keywords) =>
    keywords.additionalProperties === false ? without('additionalProperties', keywords) : keywords,
};

for (const [name, change] of Object.entries(MUTANTS)) {
  test(
    `the law of the JSON schema detects a schema that ${name}`,
    () => {
      const mutant = changed(schema, change);
      const found = checkerOf(typeof mutant === 'object' && mutant !== null ? { ...mutant } : {}, { strict: false });
      expect(fc.check(agree(found), { numRuns: 3000, endOnFailure: true }).failed).toBe(true);
    },
    TIMEOUT_MS,
  );
}
