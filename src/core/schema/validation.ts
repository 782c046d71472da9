import type { Static, TSchema } from '@sinclair/typebox';
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors';
import { ValuePointer } from '@sinclair/typebox/value';
import { type ErrorCode, SignalboxError } from '../errors.ts';
import { ListValues } from '../json/list-memory.ts';
import { isObject, listOf } from '../json/object.ts';
import { isShared, SharedValues, share } from '../json/shared-values.ts';
import { keepSource } from '../json/source.ts';
import { misspelt } from '../text/edit-distance.ts';
import { didYouMean } from '../text/text.ts';
import { SchemaCheck } from './check.ts';
import { mostTelling, stepsOf, TEXT_REMEDY } from './errors.ts';
import { toRead } from './nullable.ts';

/**
 * Compiles a schema to a check that throws the *one* most helpful error. For a union, the most helpful error is the error of the variant
 * that the value was meant to be, at its deepest field.
 */
export function compileCheck(schema: TSchema): (value: unknown) => void {
  const check = new SchemaCheck(schema);
  return (value) => {
    if (check.accepts(value)) return;
    const error = check.errorOf(value);
    if (!error) throw new SignalboxError('invalid_value', 'The body does not have the documented form.');
    throw toError(mostTelling(error), value);
  };
}

/**
 * Compiles a schema to a function that checks a body, as `compileCheck` does, and returns it without the nulls that mean absence, and with joined texts (`textMembers`).
 * @param list the member with the messages. Shared messages that the schema has accepted are not checked again. The schema must not limit
 * the number of messages, except by `minItems: 1`.
 */
export function compileRead<T extends TSchema>(schema: T, list: string | null = null): (body: unknown) => Static<T> {
  const check: (body: unknown) => asserts body is Static<T> = compileCheck(schema);
  let drop: ((body: Static<T>) => Static<T>) | null = null;
  const read = (body: unknown): Static<T> => {
    check(body);
    drop ??= toRead(schema);
    return keepSource(body, drop(body));
  };
  return list === null ? read : readOnlyNew(read, list, acceptedBy(schema.properties[list]));
}

/** The messages that a schema has accepted. */
interface Accepted {
  /** Shared messages, with the same messages without nulls. */
  readonly messages: SharedValues<object, unknown>;
  /** The lists of the latter. */
  readonly lists: ListValues<unknown, unknown>;
}

const ACCEPTED = new WeakMap<TSchema, Accepted>();

/** Returns the accepted messages of a schema. Schemas of bodies may have the same schema of messages. */
function acceptedBy(messages: TSchema): Accepted {
  const accepted = ACCEPTED.get(messages) ?? { messages: new SharedValues(), lists: new ListValues() };
  ACCEPTED.set(messages, accepted);
  return accepted;
}

/** Returns a reader that reads only the messages of a body that it has not accepted before. */
function readOnlyNew<Body>(read: (body: unknown) => Body, list: string, accepted: Accepted): (body: unknown) => Body {
  const accept = (given: unknown, taken: unknown): void => {
    if (!isObject(given) || !isShared(given)) return;
    if (taken !== given) share(taken);
    accepted.messages.set(given, taken);
  };
  const readAll = (body: unknown): Body => {
    const result = read(body);
    const [given, taken] = [messagesIn(body, list), messagesIn(result, list)];
    for (let at = 0; at < given.length; at++) accept(given[at], taken[at]);
    return result;
  };
  const known = (message: unknown) => (isObject(message) ? accepted.messages.get(message) : undefined);
  return (body) => {
    const given = messagesIn(body, list);
    // The messages of a body are shared together.
    if (!isObject(given[0]) || !isShared(given[0])) return read(body);
    const places: number[] = [];
    for (let at = accepted.lists.sameIn(given, null); at < given.length; at++)
      if (known(given[at]) === undefined) places.push(at);
    if (places.length === given.length) return readAll(body);
    // The list must not be empty.
    if (places.length === 0) places.push(given.length - 1);
    let result: Body;
    try {
      result = read({ ...Object(body), [list]: places.map((at) => given[at]) });
    } catch {
      // The error must name the index of the message in the whole body.
      return readAll(body);
    }
    const taken = messagesIn(result, list);
    for (let index = 0; index < places.length; index++) accept(given[places[index]!], taken[index]);
    let next = 0;
    const messages = accepted.lists.copyOf(given, null, (message, at, values) => {
      while (places[next]! < at) next++;
      values.push(places[next] === at ? taken[next] : known(message));
    });
    // `read` returned the copy of the body, which only this function has.
    Object.assign(Object(result), { [list]: messages });
    return keepSource(body, result);
  };
}

/** Returns the messages of a body; an empty list if it has none. */
const messagesIn = (body: unknown, list: string): readonly unknown[] => (isObject(body) ? listOf(body[list]) : []);

/** Converts a JSON pointer to a field path: `/messages/0/content` → `messages[0].content`. */
function toParam(path: string): string {
  return stepsOf(path).reduce(
    (param, part) => (/^\d+$/.test(part) ? `${param}[${part}]` : param ? `${param}.${part}` : part),
    '',
  );
}

function toError(error: ValueError, body: unknown): SignalboxError {
  const path = error.type === ValueErrorType.Union ? tagPath(error) : error.path;
  const param = toParam(path);
  // The quotes show a member whose name is empty.
  const name = path === '' ? 'The body' : `\`${param || '""'}\``;
  const [code, text] = explain(error, name, body);
  return new SignalboxError(code, text, param === '' ? {} : { param });
}

function explain(error: ValueError, name: string, body: unknown): [ErrorCode, string] {
  const { schema, type } = error;
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return ['missing_field', `${name} is required${givenInstead(error, body)}.`];
    case ValueErrorType.ObjectAdditionalProperties:
      return [
        'unknown_field',
        `${name} is not a known field${meant(error, schema)} Known fields: ${Object.keys(schema.properties ?? {}).join(', ')}.`,
      ];
    case ValueErrorType.NumberMinimum:
    case ValueErrorType.NumberMaximum:
    case ValueErrorType.NumberExclusiveMinimum:
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.IntegerMaximum:
    case ValueErrorType.IntegerExclusiveMinimum:
      return ['out_of_range', `${name} must be ${rangeOf(schema)}.`];
    case ValueErrorType.StringMinLength:
      return ['invalid_value', `${name} must not be empty.`];
    case ValueErrorType.StringMaxLength:
      return ['invalid_value', `${name} may have at most ${schema.maxLength} characters.`];
    case ValueErrorType.StringPattern:
      return ['invalid_value', `${name} must match ${schema.pattern}.`];
    case ValueErrorType.ArrayMinItems:
      return ['invalid_value', `${name} must have at least ${schema.minItems} item.`];
    case ValueErrorType.ArrayMaxItems:
      return ['out_of_range', `${name} may have at most ${schema.maxItems} items.`];
    case ValueErrorType.Literal:
      return ['invalid_value', `${name} must be ${JSON.stringify(schema.const)}.`];
    case ValueErrorType.Union:
      return explainUnion(error, name);
    default:
      return ['invalid_type', `${name} must be ${kindOf(schema)}, not ${nameOf(error.value)}.${textRemedy(error)}`];
  }
}

const lastStep = (path: string): string => stepsOf(path).at(-1) ?? '';

/** The most field names that are compared with a missing field, to find a misspelling. */
const NAMES_MAX = 64;

/** Returns a clause that names the field which the body has instead of a missing field; '' for none. */
function givenInstead({ path }: ValueError, body: unknown): string {
  const parent: unknown = ValuePointer.Get(body, path.slice(0, path.lastIndexOf('/')));
  if (!isObject(parent)) return '';
  const names = Object.keys(parent).slice(0, NAMES_MAX);
  const found = names.find((name) => misspelt(name, [lastStep(path)]) !== null);
  return found === undefined ? '' : `; the body has \`${found}\``;
}

function meant({ path }: ValueError, schema: TSchema): string {
  const known = misspelt(lastStep(path), Object.keys(schema.properties ?? {}));
  return known === null ? '.' : `; ${didYouMean(known)}`;
}

function explainUnion(error: ValueError, name: string): [ErrorCode, string] {
  const tags = tagsOf(error);
  if (tags.length > 0) return ['invalid_value', `${name} must be one of ${tags.join(', ')}.`];
  const variants = variantsOf(error.schema);
  const literals = variants.flatMap((variant) => ('const' in variant ? [JSON.stringify(variant.const)] : []));
  if (literals.length > 0 && typeof error.value === 'string') {
    return ['invalid_value', `${name} must be one of ${literals.join(', ')}.`];
  }
  const kinds = [...new Set(variants.map(kindOf))];
  return ['invalid_type', `${name} must be ${kinds.join(' or ')}, not ${nameOf(error.value)}.${textRemedy(error)}`];
}

/** Returns a sentence that says what to send instead of a text; '' for none. */
function textRemedy({ schema, value }: ValueError): string {
  const remedy = variantsOf(schema).find((variant) => TEXT_REMEDY in variant)?.[TEXT_REMEDY];
  return typeof value === 'string' && typeof remedy === 'string' ? ` ${remedy}` : '';
}

const variantsOf = (schema: TSchema): TSchema[] => {
  const variants: TSchema[] = Array.isArray(schema.anyOf) ? schema.anyOf : [schema];
  return variants.flatMap((variant) => (variant.anyOf ? variantsOf(variant) : [variant]));
};

/** Returns the possible values of the `type` tag, if the variants are tagged objects and the value is an object. */
function tagsOf({ schema, value }: ValueError): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return variantsOf(schema).flatMap((variant) => {
    const tag: unknown = variant.properties?.type?.const;
    return tag === undefined ? [] : [JSON.stringify(tag)];
  });
}

const tagPath = (error: ValueError): string => (tagsOf(error).length > 0 ? `${error.path}/type` : error.path);

function rangeOf(schema: TSchema): string {
  const kind = schema.type === 'integer' ? 'a whole number' : 'a number';
  if (schema.exclusiveMinimum !== undefined) {
    const most = schema.maximum === undefined ? '' : ` and at most ${schema.maximum}`;
    return `${kind} above ${schema.exclusiveMinimum}${most}`;
  }
  if (schema.maximum === undefined) return `${kind} of at least ${schema.minimum}`;
  return `${kind} from ${schema.minimum} to ${schema.maximum}`;
}

function kindOf(schema: TSchema): string {
  if ('const' in schema) return JSON.stringify(schema.const);
  const kinds: Record<string, string> = {
    string: 'a string',
    number: 'a number',
    integer: 'a whole number',
    boolean: 'true or false',
    array: 'a list',
    object: 'an object',
    null: 'null',
  };
  if (schema.anyOf) return [...new Set(variantsOf(schema).map(kindOf))].join(' or ');
  return kinds[String(schema.type)] ?? 'another kind of value';
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'number' ? `the number ${value}` : `a ${typeof value}`;
}
