import { CAPABILITY_NAMES } from '../core/capability.ts';
import {
  CLAIM_ENTRIES_MAX,
  FIELDS,
  isTypeName,
  LANGUAGES_MAX,
  METADATA_MAX,
  TEXT_MAX,
  type TypeName,
} from './cel-types.ts';
import type { ModelDraft } from './models.ts';

/** The largest possible size of a value in an expression. */
export interface Extent {
  readonly kind: 'scalar' | 'double' | 'text' | 'list' | 'map' | 'object';
  /** Characters of a text, bytes, or entries of a list or map; otherwise 1. */
  readonly size: number;
  /** An item of a list, or a key of a map: a comprehension binds it. Absent, the extent itself is used. */
  readonly item?: Extent;
  /** The values of a map. */
  readonly value?: Extent;
  /** A missing key of the map reads as the empty text. */
  readonly isTotal?: boolean;
  /** The declared type of an object. */
  readonly type?: TypeName;
}

export const SCALAR: Extent = { kind: 'scalar', size: 1 };
export const DOUBLE: Extent = { kind: 'double', size: 1 };
export const textExtent = (size: number): Extent => ({ kind: 'text', size });
export const listExtent = (size: number, item: Extent): Extent => ({ kind: 'list', size, item });
export const mapOf = (size: number, item: Extent, value: Extent): Extent => ({ kind: 'map', size, item, value });
export const objectExtent = (type: TypeName): Extent => ({ kind: 'object', size: 1, type });

type FieldTable = typeof FIELDS;
/** A field that is a list or a map, such as `Request.needs`. */
type Collection = {
  [Type in TypeName]: {
    [Field in keyof FieldTable[Type]]: FieldTable[Type][Field] extends readonly [`${'list' | 'map'}<${string}>`, string]
      ? `${Type}.${Field & string}`
      : never;
  }[keyof FieldTable[Type]];
}[TypeName];

/** Returns the extent of a field of a declared type. */
export type Extents = (type: TypeName, field: string) => Extent;

/** Characters of the longest name that the language accepts. */
const NAME_MAX = 256;
const NAME = textExtent(NAME_MAX);
/** A claim: a text, or a list or map of them. */
const CLAIM: Extent = listExtent(CLAIM_ENTRIES_MAX, textExtent(TEXT_MAX));
/** Labels of one key. */
const LABELS_MAX = 64;

/**
 * The extents of all fields. Those of the request are limits that its view enforces. Those of the catalog are measured,
 * because only the size of a file limits its lists.
 */
export function extentsOf(models: readonly ModelDraft[], taskCount: number): Extents {
  const longest = (sizes: readonly number[]) => sizes.reduce((most, size) => Math.max(most, size), 0);
  const textsOf = (lists: readonly (readonly string[])[]) =>
    listExtent(
      longest(lists.map(({ length }) => length)),
      textExtent(longest(lists.flat().map(({ length }) => length))),
    );
  const endpoints = models.flatMap((model) => model.endpoints.map(({ endpoint }) => endpoint));
  const capabilities = listExtent(CAPABILITY_NAMES.length, NAME);
  const known: Readonly<Record<Collection, Extent>> & Readonly<Record<string, Extent>> = {
    'Request.needs': capabilities,
    'Request.languages': listExtent(LANGUAGES_MAX, NAME),
    'Request.metadata': { ...mapOf(METADATA_MAX, textExtent(TEXT_MAX), textExtent(TEXT_MAX)), isTotal: true },
    'Key.labels': { ...mapOf(LABELS_MAX, NAME, NAME), isTotal: true },
    'Model.capabilities': capabilities,
    'Model.languages': textsOf(models.map(({ model }) => [...model.languages])),
    'Model.tags': textsOf(models.map(({ model }) => model.tags)),
    'Model.quality': mapOf(taskCount + 1, NAME, DOUBLE),
    'Model.providers': listExtent(longest(models.map((model) => model.endpoints.length)), NAME),
    'Endpoint.regions': textsOf(endpoints.map(({ regions }) => regions)),
    'Request.user': textExtent(TEXT_MAX),
    'Endpoint.upstream': textExtent(longest(endpoints.map(({ upstream }) => upstream.length))),
  };
  return (type, field) => {
    if (type === 'Claims') return CLAIM;
    const fields: Readonly<Record<string, readonly [string, string]>> = FIELDS[type];
    const declared = fields[field]?.[0] ?? '';
    if (declared === 'string') return known[`${type}.${field}`] ?? NAME;
    if (declared === 'double') return DOUBLE;
    if (isTypeName(declared)) return objectExtent(declared);
    return known[`${type}.${field}`] ?? SCALAR;
  };
}

/** An extent that covers both values: the larger one in every part. */
export function largerOf(a: Extent, b: Extent): Extent {
  const isPlain = ({ kind }: Extent) => kind === 'scalar' || kind === 'double' || kind === 'object';
  if (isPlain(a)) return isPlain(b) && a.kind !== b.kind ? SCALAR : b;
  if (isPlain(b)) return a;
  const item = eitherOf(a.item, b.item);
  const value = eitherOf(a.value, b.value);
  const size = Math.max(a.size, b.size);
  const isTotal = a.isTotal === true && b.isTotal === true;
  return { kind: a.kind, size, isTotal, ...(item && { item }), ...(value && { value }) };
}

const eitherOf = (a: Extent | undefined, b: Extent | undefined): Extent | undefined =>
  a && b ? largerOf(a, b) : (a ?? b);
