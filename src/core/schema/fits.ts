import { isObject, listOf } from '../json/object.ts';
import type { Members } from '../json/original.ts';
import { referenced } from './structured.ts';

/** The deepest nesting of schemas, references included, that is checked. */
const DEPTH_MAX = 256;

/** The steps that checks may still take. Several checks can share it. */
export interface CheckBudget {
  left: number;
}

/** The steps that the check of an answer may take: a few milliseconds, whatever the schema and the answer are. */
export const ANSWER_STEPS = 100_000;

/**
 * Whether a value fits a JSON schema. The result is false only if the value certainly does not fit:
 *
 * - Unknown keywords count as satisfied, and so do `pattern`, `format`, `multipleOf`, `uniqueItems`, `not` and `if`. `oneOf` is checked
 *   like `anyOf`.
 * - An empty list in `type`, `enum`, `anyOf` or `oneOf` counts as satisfied, because no answer could satisfy it.
 * - Null counts as an absent member if the member is optional.
 * - References to something outside of the schema and schemas nested too deeply count as satisfied.
 * - A value counts as fitting if the check runs out of steps. Schema and value may come from anyone, so the work needs a limit.
 *
 * @param value a parsed JSON value
 */
export function fitsSchema(schema: Members, value: unknown, budget: CheckBudget = { left: ANSWER_STEPS }): boolean {
  try {
    return new SchemaFit(schema, budget).fits(schema, value, 0);
  } catch (cause) {
    if (cause === OUT_OF_STEPS) return true;
    throw cause;
  }
}

/** Thrown to leave all levels of a check at once. */
const OUT_OF_STEPS = new Error('the check has no steps left');

class SchemaFit {
  readonly #root: Members;
  readonly #budget: CheckBudget;
  readonly #references = new Map<string, unknown>();

  constructor(root: Members, budget: CheckBudget) {
    this.#root = root;
    this.#budget = budget;
  }

  fits(schema: unknown, value: unknown, depth: number): boolean {
    this.#spend(1);
    if (schema === false) return false;
    if (!isObject(schema) || depth > DEPTH_MAX) return true;
    // Older drafts ignore all keywords next to a reference.
    if (typeof schema.$ref === 'string') return this.fits(this.#resolve(schema.$ref), value, depth + 1);
    if (value === null && schema.nullable === true) return true;
    return (
      this.#isOfType(schema.type, value) &&
      this.#isListed(schema, value) &&
      this.#fitsKind(schema, value, depth) &&
      this.#fitsCombined(schema, value, depth)
    );
  }

  /** Counts steps before they are taken. */
  #spend(steps: number): void {
    this.#budget.left -= steps;
    if (this.#budget.left < 0) throw OUT_OF_STEPS;
  }

  #resolve(reference: string): unknown {
    if (!this.#references.has(reference)) {
      this.#spend(reference.length);
      this.#references.set(reference, referenced(this.#root, reference));
    }
    return this.#references.get(reference);
  }

  #isOfType(type: unknown, value: unknown): boolean {
    if (!Array.isArray(type)) return TYPES.get(type)?.(value) ?? true;
    this.#spend(type.length);
    return type.length === 0 || type.some((one) => TYPES.get(one)?.(value) ?? true);
  }

  /** Checks `const` and `enum`. */
  #isListed(schema: Members, value: unknown): boolean {
    if (Object.hasOwn(schema, 'const') && !this.#equals(schema.const, value, 0)) return false;
    const listed = listOf(schema.enum);
    return listed.length === 0 || listed.some((one) => this.#equals(one, value, 0));
  }

  /** Whether two JSON values are equal. Values that are nested too deeply count as equal. */
  #equals(one: unknown, other: unknown, depth: number): boolean {
    this.#spend(1);
    if (depth > DEPTH_MAX) return true;
    if (typeof one === 'string' && typeof other === 'string') {
      if (one.length !== other.length) return false;
      this.#spend(one.length);
      return one === other;
    }
    if (Array.isArray(one) && Array.isArray(other))
      return one.length === other.length && one.every((item, at) => this.#equals(item, other[at], depth + 1));
    if (!isObject(one) || !isObject(other)) return one === other;
    const names = Object.keys(one);
    const { length } = Object.keys(other);
    this.#spend(names.length + length);
    if (names.length !== length) return false;
    return names.every((name) => Object.hasOwn(other, name) && this.#equals(one[name], other[name], depth + 1));
  }

  #fitsKind(schema: Members, value: unknown, depth: number): boolean {
    if (typeof value === 'string') return this.#fitsText(schema, value);
    if (typeof value === 'number') return fitsNumber(schema, value);
    if (Array.isArray(value)) return this.#fitsList(schema, value, depth);
    return !isObject(value) || this.#fitsObject(schema, value, depth);
  }

  #fitsText({ minLength, maxLength }: Members, text: string): boolean {
    if (typeof minLength !== 'number' && typeof maxLength !== 'number') return true;
    this.#spend(text.length);
    let characters = 0;
    for (const _ of text) characters++;
    return isWithin(characters, minLength, maxLength);
  }

  #fitsList(schema: Members, list: readonly unknown[], depth: number): boolean {
    if (!isWithin(list.length, schema.minItems, schema.maxItems)) return false;
    // Older drafts write the schemas of the first items as a list in `items`.
    const isOlder = Array.isArray(schema.items);
    const first = listOf(isOlder ? schema.items : schema.prefixItems);
    const others = isOlder ? true : schema.items;
    return list.every((item, at) => this.fits(at < first.length ? first[at] : others, item, depth + 1));
  }

  #fitsObject(schema: Members, value: Members, depth: number): boolean {
    const properties = isObject(schema.properties) ? schema.properties : {};
    const required = listOf(schema.required);
    const names = Object.keys(value);
    this.#spend(required.length + names.length);
    if (required.some((name) => typeof name === 'string' && !Object.hasOwn(value, name))) return false;
    // A pattern may allow any name, and patterns are not checked.
    const others = schema.patternProperties === undefined ? schema.additionalProperties : true;
    return names.every((name) => {
      const member = value[name];
      if (!Object.hasOwn(properties, name)) return this.fits(others, member, depth + 1);
      if (member === null) {
        this.#spend(required.length);
        if (!required.includes(name)) return true;
      }
      return this.fits(properties[name], member, depth + 1);
    });
  }

  #fitsCombined({ allOf, anyOf, oneOf }: Members, value: unknown, depth: number): boolean {
    const fits = (schema: unknown) => this.fits(schema, value, depth + 1);
    const isOneOf = (schemas: readonly unknown[]) => schemas.length === 0 || schemas.some(fits);
    return listOf(allOf).every(fits) && isOneOf(listOf(anyOf)) && isOneOf(listOf(oneOf));
  }
}

const TYPES: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map<unknown, (value: unknown) => boolean>([
  ['null', (value) => value === null],
  ['boolean', (value) => typeof value === 'boolean'],
  ['string', (value) => typeof value === 'string'],
  ['number', (value) => typeof value === 'number'],
  // JSON.parse reads numbers beyond its range as infinite.
  ['integer', (value) => typeof value === 'number' && (Number.isInteger(value) || !Number.isFinite(value))],
  ['array', Array.isArray],
  ['object', isObject],
]);

function fitsNumber({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Members, value: number): boolean {
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return false;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return false;
  return isWithin(value, minimum, maximum);
}

const isWithin = (value: number, least: unknown, most: unknown): boolean =>
  !(typeof least === 'number' && value < least) && !(typeof most === 'number' && value > most);
