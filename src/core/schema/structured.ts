import { isObject, listOf, textOf } from '../json/object.ts';
import type { Members } from '../json/original.ts';

/** Keywords that structured outputs accept unchanged. */
const PLAIN: ReadonlySet<string> = new Set(['title', 'description', 'default', 'type', 'required']);
const FORMATS = /^(?:date-time|time|date|duration|email|hostname|uri|ipv4|ipv6|uuid)$/;
/** Keywords that do not constrain values. */
const SILENT: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', 'additionalProperties', 'examples']);

/** The deepest nesting of schemas, references included. A deeper nesting of schemas could overflow the stack. */
const OPEN_MAX = 512;

/**
 * A schema for structured outputs, or the reason why the schema cannot be translated. The reason is a phrase that follows the location of
 * the schema.
 */
export type StructuredSchema = { readonly schema: Members } | { readonly why: string };

/**
 * Translates a JSON schema to the subset that services accept for structured outputs. The translation closes objects, as Anthropic's API
 * requires, and moves unsupported limits into the description, as Anthropic's SDKs do. Objects with arbitrary keys and recursive schemas
 * cannot be translated.
 */
export function structuredSchema(schema: Members): StructuredSchema {
  const translation = new SchemaTranslation(schema);
  const translated = translation.of(schema);
  return translation.why === '' ? { schema: translated } : { why: translation.why };
}

class SchemaTranslation {
  readonly #root: Members;
  /** Schemas in progress and finished schemas, so that each schema is translated once. */
  readonly #open = new Set<Members>();
  readonly #done = new Map<Members, Members>();
  why = '';

  constructor(root: Members) {
    this.#root = root;
  }

  of(node: unknown): Members {
    if (this.why !== '') return {};
    if (!isObject(node)) {
      this.why ||= 'has a subschema that is not an object';
      return {};
    }
    const done = this.#done.get(node);
    if (done) return done;
    if (this.#open.has(node)) this.why ||= 'is recursive';
    else if (this.#open.size >= OPEN_MAX) this.why ||= 'has references that are nested too deeply';
    else {
      this.#open.add(node);
      this.#done.set(node, this.#translated(node));
      this.#open.delete(node);
    }
    return this.#done.get(node) ?? {};
  }

  #translated(node: Members): Members {
    const out: Record<string, unknown> = {};
    const limits: string[] = [];
    for (const [keyword, value] of Object.entries(node)) {
      if (!this.#keyword(out, keyword, value)) limits.push(`${keyword}: ${JSON.stringify(value)}`);
    }
    if (isObjectType(node)) this.#close(out, node);
    if (limits.length > 0) out.description = [node.description, `{${limits.join(', ')}}`].filter(Boolean).join('\n\n');
    return out;
  }

  /** Returns false if providers do not support this keyword of a JSON schema in structured output. */
  #keyword(out: Record<string, unknown>, keyword: string, value: unknown): boolean {
    if (SILENT.has(keyword)) return true;
    if (PLAIN.has(keyword)) out[keyword] = value;
    else if (keyword === '$ref') out.$ref = this.#reference(textOf(value));
    else if (keyword === 'anyOf' || keyword === 'oneOf') out.anyOf = listOf(value).map((each) => this.of(each));
    else if (keyword === 'allOf') out.allOf = listOf(value).map((each) => this.of(each));
    else if (keyword === 'items' && isObject(value)) out.items = this.of(value);
    else if (isMap(keyword) && isObject(value)) out[keyword] = this.#map(value);
    else if (keyword === 'enum' && listOf(value).every(isPrimitive)) out.enum = value;
    else if (keyword === 'const' && isPrimitive(value)) out.const = value;
    else if (keyword === 'format' && FORMATS.test(textOf(value))) out.format = value;
    else if (keyword === 'minItems' && (value === 0 || value === 1)) out.minItems = value;
    else return false;
    return true;
  }

  #map(members: Members): Members {
    return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, this.of(member)]));
  }

  #close(out: Record<string, unknown>, { properties, additionalProperties: others, patternProperties }: Members): void {
    const isEmpty = !isObject(properties) || Object.keys(properties).length === 0;
    if (isObject(others) || isObject(patternProperties) || (isEmpty && others !== false)) {
      this.why ||= 'has an object with arbitrary keys';
    }
    out.type ??= 'object';
    out.additionalProperties = false;
  }

  /** Refuses a reference without a target in the schema, or to itself. */
  #reference(ref: string): string {
    const target = referenced(this.#root, ref);
    if (target === undefined) this.why ||= 'has a $ref to something outside of the schema';
    else this.of(target);
    return ref;
  }
}

const isMap = (keyword: string): boolean =>
  keyword === 'properties' || keyword === '$defs' || keyword === 'definitions';

const isObjectType = ({ type, properties }: Members): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties);

const isPrimitive = (value: unknown): boolean => value === null || typeof value !== 'object';

/** Resolves a `$ref` such as `#/$defs/Item` within its schema; undefined if the target does not exist. */
export function referenced(root: Members, ref: string): unknown {
  const [start, ...steps] = ref.split('/').map(unescaped);
  let value: unknown = start === '#' ? root : undefined;
  for (const step of steps) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}

/** Decodes a step of a JSON pointer. Code generators percent-encode names such as `Pick<A>`. */
function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}
