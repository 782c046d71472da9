import { listOf } from '../../../api/json.ts';
import type { YamlPlace } from './yaml-place.ts';

/** A word that can be completed at a position of a policy. */
export interface PolicyWord {
  readonly label: string;
  readonly isKey: boolean;
  /** A detail of one or two words, such as "required". */
  readonly detail: string;
  /** A description with at least one sentence. */
  readonly info: string;
}

type Schema = Readonly<Record<string, unknown>>;
type Values = YamlPlace['maps'][number];

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const NOTHING: Values = new Map();

/**
 * The words that the JSON Schema of policies allows at a position.
 * @param root the response of `GET /admin/policy/schema`
 */
export function wordsAt(root: unknown, place: YamlPlace): readonly PolicyWord[] {
  const values = place.maps.at(-1) ?? NOTHING;
  const schemas = schemasAt(root, place).flatMap((one) => parts(one, place.isValue ? NOTHING : values));
  const words = new Map<string, PolicyWord>();
  const add = (word: PolicyWord) => words.has(word.label) || words.set(word.label, word);
  if (!place.isValue) for (const word of schemas.flatMap(keysOf)) add(word);
  for (const word of schemas.flatMap(valuesOf)) add(word);
  const forbidden = new Set(
    schemas.flatMap(({ properties }) => entriesOf(properties).flatMap(([key, one]) => (one === false ? [key] : []))),
  );
  // A schema without properties is one of several alternatives, so its required keys do not always apply.
  const required = new Set(schemas.flatMap((one) => (one.properties === undefined ? [] : listOf(one.required))));
  return [...words.values()]
    .filter(({ label, isKey }) => !isKey || !forbidden.has(label))
    .map((word) => (word.isKey && required.has(word.label) ? { ...word, detail: 'required' } : word));
}

/** The description of a key; '' if the key is unknown. */
export function helpFor(root: unknown, place: YamlPlace, key: string): string {
  const values = place.maps.at(-1) ?? NOTHING;
  const schemas = schemasAt(root, place).flatMap((one) => parts(one, values));
  return schemas.flatMap(keysOf).find(({ label }) => label === key)?.info ?? '';
}

/** The schemas of the map, the list entry or the value at a position. */
function schemasAt(root: unknown, { path, maps }: YamlPlace): readonly Schema[] {
  let schemas: readonly Schema[] = isSchema(root) ? [withDefinitions(root)] : [];
  let depth = 0;
  for (const step of path) {
    const values = maps[depth] ?? NOTHING;
    schemas = schemas.flatMap((one) => parts(one, values)).flatMap((one) => below(one, step));
    if (step !== null) depth += 1;
  }
  return schemas;
}

/** The schemas with their definitions in all places that refer to them. */
const whole = new WeakMap<Schema, Schema>();

function withDefinitions(root: Schema): Schema {
  let known = whole.get(root);
  if (!known) {
    known = Object.fromEntries(Object.entries(root).map(([key, one]) => [key, expanded(one, root.definitions)]));
    whole.set(root, known);
  }
  return known;
}

function expanded(part: unknown, definitions: unknown): unknown {
  if (Array.isArray(part)) return part.map((one) => expanded(one, definitions));
  if (!isSchema(part)) return part;
  const name = textOf(part.$ref).replace('#/definitions/', '');
  if (name !== '') return isSchema(definitions) ? expanded(definitions[name], definitions) : part;
  return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, expanded(one, definitions)]));
}

function below(
  { properties, patternProperties, additionalProperties, items }: Schema,
  step: string | null,
): readonly Schema[] {
  if (step === null) return [items].filter(isSchema);
  const named = isSchema(properties) && Object.hasOwn(properties, step) ? properties[step] : undefined;
  if (named !== undefined) return [named].filter(isSchema);
  const byPattern = entriesOf(patternProperties).flatMap(([pattern, one]) => (matches(pattern, step) ? [one] : []));
  return [...byPattern, additionalProperties].filter(isSchema);
}

/** A schema with all schemas that it includes and whose conditions are true. */
function parts(schema: Schema, values: Values): readonly Schema[] {
  const more = [
    ...[schema.allOf, schema.anyOf].flatMap(listOf),
    ...(schema.if !== undefined ? [holds(schema.if, values) ? schema.then : schema.else] : []),
    ...entriesOf(schema.dependencies).flatMap(([key, one]) => (values.has(key) ? [one] : [])),
  ];
  return [schema, ...more.filter(isSchema).flatMap((one) => parts(one, values))];
}

/** Whether a condition is true for a map, judged by its plain values. */
function holds(condition: unknown, values: Values): boolean {
  if (!isSchema(condition)) return condition !== false;
  const { required, properties, not, anyOf } = condition;
  if (!listOf(required).every((key) => values.has(String(key)))) return false;
  if (not !== undefined && holds(not, values)) return false;
  if (anyOf !== undefined && !listOf(anyOf).some((one) => holds(one, values))) return false;
  return entriesOf(properties).every(
    ([key, one]) => !isSchema(one) || matches(textOf(one.pattern), values.get(key) ?? ''),
  );
}

/** The patterns come from Signalbox's own schema, so they are safe to run. */
const matches = (pattern: string, text: string): boolean => new RegExp(pattern).test(text);

const entriesOf = (map: unknown): readonly [string, unknown][] => (isSchema(map) ? Object.entries(map) : []);

const keysOf = ({ properties }: Schema): readonly PolicyWord[] =>
  entriesOf(properties).flatMap(([label, one]) =>
    isSchema(one) ? [{ label, isKey: true, detail: formOf(one), info: infoOf(one) }] : [],
  );

function valuesOf({ enum: words, const: fixed, type, description }: Schema): readonly PolicyWord[] {
  const values = fixed !== undefined ? [fixed] : type === 'boolean' ? [true, false] : listOf(words);
  const info = fixed === undefined ? '' : textOf(description);
  return values.map((value) => ({ label: String(value), isKey: false, detail: '', info }));
}

function formOf(schema: Schema): string {
  const { type } = schema;
  const name = Array.isArray(type) ? textOf(type[0]) : textOf(type);
  return { object: 'map', array: 'list', integer: 'number', boolean: 'true or false', string: 'text' }[name] ?? name;
}

function infoOf(schema: Schema): string {
  const described = parts(schema, NOTHING).find(({ description }) => textOf(description) !== '');
  const example = listOf(schema.examples)[0];
  const shown =
    example === undefined ? '' : ` For example: ${typeof example === 'string' ? example : JSON.stringify(example)}`;
  return textOf(described?.description) + shown;
}
