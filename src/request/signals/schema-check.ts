import { isObject } from '../../core/object.ts';
import { all, equal, type JsonObject, OutOfSteps, type RuleVerdict, type StepBudget } from './json.ts';

/** Schemas within schemas, and references, that are followed. */
const DEPTH_MAX = 64;
/** Characters of a reference that is followed. */
const REFERENCE_MAX = 512;
/**
 * Whether a value violates a JSON schema (drafts 4 to 2020-12); null where that takes too many steps. Callers write
 * schemas and, by their prompts, answers: so it runs no pattern of theirs, follows no address, and takes a bounded
 * time. It skips `format`, `pattern` and unknown keywords.
 */
export function violates(schema: unknown, value: unknown, steps: StepBudget): boolean | null {
  try {
    return new SchemaCheck(schema, steps).check(schema, value, 0) === 'violates';
  } catch (cause) {
    if (cause instanceof OutOfSteps) return null;
    throw cause;
  }
}

/** The check of one keyword. `rule`: its value in `schema`. */
type Keyword = (check: SchemaCheck, rule: unknown, value: unknown, schema: JsonObject, depth: number) => RuleVerdict;

class SchemaCheck {
  readonly steps: StepBudget;
  readonly #root: unknown;

  constructor(root: unknown, steps: StepBudget) {
    this.#root = root;
    this.steps = steps;
  }

  /** @throws OutOfSteps */
  check(schema: unknown, value: unknown, depth: number): RuleVerdict {
    this.steps.take(1);
    if (typeof schema === 'boolean') return verdictOf(schema);
    if (!isObject(schema) || depth > DEPTH_MAX) return 'unsure';
    // References within it start there.
    if (depth > 0 && hasName(schema)) return 'unsure';
    // Too large for a double.
    if (typeof value === 'number' && !Number.isFinite(value)) return 'unsure';
    const names = namesOf(this, schema);
    const verdict = Object.hasOwn(schema, '$ref')
      ? this.#referred(schema, names, value, depth)
      : all(names, (name) => this.#keyword(name, schema, value, depth));
    // OpenAPI's `nullable`.
    return verdict === 'violates' && value === null && schema.nullable === true ? 'unsure' : verdict;
  }

  #keyword(name: string, schema: JsonObject, value: unknown, depth: number): RuleVerdict {
    const keyword = KEYWORDS.get(name);
    if (keyword) return keyword(this, schema[name], value, schema, depth);
    return NOTES.has(name) ? 'conforms' : 'unsure';
  }

  /** Early drafts ignore the keywords beside a reference. */
  #referred(schema: JsonObject, names: readonly string[], value: unknown, depth: number): RuleVerdict {
    const verdict = this.check(this.#find(schema.$ref), value, depth + 1);
    const isAlone = names.every((name) => name === '$ref' || NOTES.has(name));
    return verdict === 'violates' || isAlone ? verdict : 'unsure';
  }

  /** Finds the part of the schema that a reference names; undefined for none, or for another document. */
  #find(reference: unknown): unknown {
    if (typeof reference !== 'string' || reference.length > REFERENCE_MAX) return undefined;
    if (reference !== '#' && !reference.startsWith('#/')) return undefined;
    let found = this.#root;
    for (const step of reference.split('/').slice(1)) {
      this.steps.take(1);
      const name = unescaped(step);
      if (name === null || typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
      found = Reflect.get(found, name);
      if (isObject(found) && hasName(found)) return undefined;
    }
    return found;
  }
}

const verdictOf = (isKept: boolean): RuleVerdict => (isKept ? 'conforms' : 'violates');
const hasName = ({ $id, id }: JsonObject): boolean => typeof $id === 'string' || typeof id === 'string';

/** Decodes a step of a JSON pointer in a URL; null for an invalid one. */
function unescaped(step: string): string | null {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return null;
  }
}

/** Keywords without a check. */
const NOTES: ReadonlySet<string> = new Set([
  ...['$schema', '$id', 'id', '$comment', '$defs', 'definitions', 'title', 'description', 'default', 'examples'],
  ...['deprecated', 'readOnly', 'writeOnly', 'then', 'else'],
]);

const TYPES: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map([
  ['null', (value: unknown) => value === null],
  ['boolean', (value: unknown) => typeof value === 'boolean'],
  ['number', (value: unknown) => typeof value === 'number'],
  ['integer', (value: unknown) => Number.isInteger(value)],
  ['string', (value: unknown) => typeof value === 'string'],
  ['array', Array.isArray],
  ['object', isObject],
]);

/** Checks that at least one rule is kept. */
function some<T>(rules: readonly T[], judge: (rule: T) => RuleVerdict): RuleVerdict {
  if (rules.length === 0) return 'unsure';
  return opposite(all(rules, (rule) => opposite(judge(rule))));
}

function opposite(verdict: RuleVerdict): RuleVerdict {
  if (verdict === 'unsure') return verdict;
  return verdict === 'conforms' ? 'violates' : 'conforms';
}

const over = (rules: unknown, judge: (rule: unknown) => RuleVerdict): RuleVerdict =>
  Array.isArray(rules) ? all(rules, judge) : 'unsure';

function typeOf({ steps }: SchemaCheck, rule: unknown, value: unknown): RuleVerdict {
  const types: readonly unknown[] = Array.isArray(rule) ? rule : [rule];
  return some(types, (type) => {
    steps.take(1);
    const is = TYPES.get(type);
    return is ? verdictOf(is(value)) : 'unsure';
  });
}

function oneOf(check: SchemaCheck, rule: unknown, value: unknown, _: JsonObject, depth: number): RuleVerdict {
  if (!Array.isArray(rule) || rule.length === 0) return 'unsure';
  let kept = 0;
  let isUnsure = false;
  for (const one of rule) {
    const verdict = check.check(one, value, depth + 1);
    if (verdict === 'conforms' && ++kept > 1) return 'violates';
    if (verdict === 'unsure') isUnsure = true;
  }
  return isUnsure ? 'unsure' : verdictOf(kept === 1);
}

function condition(check: SchemaCheck, rule: unknown, value: unknown, schema: JsonObject, depth: number): RuleVerdict {
  const verdict = check.check(rule, value, depth + 1);
  if (verdict === 'unsure') return 'unsure';
  const name = verdict === 'conforms' ? 'then' : 'else';
  return Object.hasOwn(schema, name) ? check.check(schema[name], value, depth + 1) : 'conforms';
}

function required({ steps }: SchemaCheck, rule: unknown, value: unknown): RuleVerdict {
  if (!isObject(value)) return 'conforms';
  return over(rule, (name) => {
    steps.take(1);
    return typeof name === 'string' ? verdictOf(Object.hasOwn(value, name)) : 'unsure';
  });
}

function properties(check: SchemaCheck, rule: unknown, value: unknown, _: JsonObject, depth: number): RuleVerdict {
  if (!isObject(value)) return 'conforms';
  if (!isObject(rule)) return 'unsure';
  return all(namesOf(check, value), (name) =>
    Object.hasOwn(rule, name) ? check.check(rule[name], value[name], depth + 1) : 'conforms',
  );
}

function additionalProperties(
  check: SchemaCheck,
  rule: unknown,
  value: unknown,
  schema: JsonObject,
  depth: number,
): RuleVerdict {
  if (!isObject(value)) return 'conforms';
  const named = schema.properties ?? {};
  // A pattern may allow any of them.
  if (!isObject(named) || Object.hasOwn(schema, 'patternProperties')) return 'unsure';
  return all(namesOf(check, value), (name) =>
    Object.hasOwn(named, name) ? 'conforms' : check.check(rule, value[name], depth + 1),
  );
}

/** Skips a list of schemas: it is an older draft's `prefixItems`. */
function items(check: SchemaCheck, rule: unknown, value: unknown, schema: JsonObject, depth: number): RuleVerdict {
  if (!Array.isArray(value)) return 'conforms';
  const { prefixItems: first = [] } = schema;
  if (Array.isArray(rule) || !Array.isArray(first)) return 'unsure';
  return all(value.keys(), (i) => {
    check.steps.take(1);
    return i < first.length ? 'conforms' : check.check(rule, value[i], depth + 1);
  });
}

function prefixItems(check: SchemaCheck, rule: unknown, value: unknown, _: JsonObject, depth: number): RuleVerdict {
  if (!Array.isArray(value)) return 'conforms';
  if (!Array.isArray(rule)) return 'unsure';
  const shorter = rule.length < value.length ? rule : value;
  return all(shorter.keys(), (i) => check.check(rule[i], value[i], depth + 1));
}

function uniqueItems({ steps }: SchemaCheck, rule: unknown, value: unknown): RuleVerdict {
  if (!Array.isArray(value) || rule === false) return 'conforms';
  if (rule !== true) return 'unsure';
  return all(value.entries(), ([i, item]) =>
    all(value.slice(0, i), (earlier) => opposite(equal(earlier, item, steps))),
  );
}

/** Skips fractions: their remainders are not exact. */
function multipleOf(_: SchemaCheck, rule: unknown, value: unknown): RuleVerdict {
  if (typeof value !== 'number') return 'conforms';
  if (!Number.isSafeInteger(rule) || !Number.isSafeInteger(value) || typeof rule !== 'number' || rule < 1)
    return 'unsure';
  return verdictOf(value % rule === 0);
}

/** Checks a bound on a figure of values of one kind. */
function bound<T>(
  isOf: (value: unknown) => value is T,
  figureOf: (check: SchemaCheck, value: T) => number,
  isWithin: (figure: number, limit: number) => boolean,
): Keyword {
  return (check, rule, value) => {
    if (!isOf(value)) return 'conforms';
    return typeof rule === 'number' ? verdictOf(isWithin(figureOf(check, value), rule)) : 'unsure';
  };
}

const atLeast = (figure: number, limit: number): boolean => figure >= limit;
const atMost = (figure: number, limit: number): boolean => figure <= limit;
const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const itself = (_: SchemaCheck, value: number): number => value;
const itemsOf = (_: SchemaCheck, value: readonly unknown[]): number => value.length;
const membersOf = (check: SchemaCheck, value: JsonObject): number => namesOf(check, value).length;

/** Counts code points, as the standard does. */
function lengthOf({ steps }: SchemaCheck, text: string): number {
  steps.takeFor(text);
  let pairs = 0;
  for (let i = 1; i < text.length; i++) {
    const isPair = (text.charCodeAt(i - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(i) & 0xfc00) === 0xdc00;
    if (isPair) pairs++;
  }
  return text.length - pairs;
}

/** Takes the steps of listing all names at once. */
function namesOf({ steps }: SchemaCheck, value: JsonObject): string[] {
  const names = Object.keys(value);
  steps.take(names.length);
  return names;
}

const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ['type', typeOf],
  [
    'enum',
    ({ steps }, rule, value) => (Array.isArray(rule) ? some(rule, (one) => equal(one, value, steps)) : 'unsure'),
  ],
  ['const', ({ steps }, rule, value) => equal(rule, value, steps)],

  ['allOf', (check, rule, value, _, depth) => over(rule, (one) => check.check(one, value, depth + 1))],
  [
    'anyOf',
    (check, rule, value, _, depth) =>
      Array.isArray(rule) ? some(rule, (one) => check.check(one, value, depth + 1)) : 'unsure',
  ],
  ['oneOf', oneOf],
  ['not', (check, rule, value, _, depth) => opposite(check.check(rule, value, depth + 1))],
  ['if', condition],

  ['required', required],
  ['properties', properties],
  ['additionalProperties', additionalProperties],
  [
    'propertyNames',
    (check, rule, value, _, depth) =>
      isObject(value) ? all(namesOf(check, value), (name) => check.check(rule, name, depth + 1)) : 'conforms',
  ],
  ['minProperties', bound(isObject, membersOf, atLeast)],
  ['maxProperties', bound(isObject, membersOf, atMost)],

  ['items', items],
  ['prefixItems', prefixItems],
  ['minItems', bound(Array.isArray, itemsOf, atLeast)],
  ['maxItems', bound(Array.isArray, itemsOf, atMost)],
  ['uniqueItems', uniqueItems],

  ['minLength', bound(isText, lengthOf, atLeast)],
  ['maxLength', bound(isText, lengthOf, atMost)],
  ['minimum', bound(isNumber, itself, atLeast)],
  ['maximum', bound(isNumber, itself, atMost)],
  ['exclusiveMinimum', bound(isNumber, itself, (figure, limit) => figure > limit)],
  ['exclusiveMaximum', bound(isNumber, itself, (figure, limit) => figure < limit)],
  ['multipleOf', multipleOf],
]);
