import type { Static, TSchema } from '@sinclair/typebox';
import type { ErrorCode } from '../errors.ts';
import type { Microcredits } from '../money/credits.ts';
import type { Decimal } from '../money/decimal.ts';

/**
 * A field is the JSON Schema of a value, and also defines the form of the value in the program. Amounts are Credits in JSON and microcredits
 * in the program, moments are ISO 8601 and ms since 1970, and names are in snake case and in camel case. A shape therefore states each member
 * once and needs no mapper. `fields.ts` has the words for fields.
 */
export type Field<Schema extends TSchema = TSchema, Value = Static<Schema>> = Schema & {
  readonly [VALUE]: readonly [Value];
};

/** The type that a value of a schema has in the program. */
export type ValueOf<Schema> = Schema extends { readonly [VALUE]: readonly [infer Value] }
  ? Value
  : Schema extends TSchema
    ? Static<Schema>
    : never;

/** The type of the JSON form of a value, as a program builds and reads it. */
export type WireOf<Schema extends TSchema> = DeepReadonly<Static<Schema>>;
type DeepReadonly<Value> = Value extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
    : Value;

/** Converts amounts to USD for answers, which state both. */
export interface Worth {
  /** Returns USD as an exact decimal; null if the value of a Credit is unknown. */
  usd(amount: Microcredits): string | null;
}

/** Converts a value between its form in the program and its JSON form. Fields of one kind share a codec, which gets their schema. */
export interface Codec {
  encode(value: unknown, worth: Worth, schema: TSchema): unknown;
  /**
   * @param path the path of the value in the input
   * @param usdPerCredit the worth of a Credit, for amounts of USD; null if it is unknown
   * @throws SignalboxError
   */
  decode(value: unknown, path: string, usdPerCredit: Decimal | null, schema: TSchema): unknown;
}

/** How a command takes and shows a field. Without a form, a command takes and shows a field according to the schema of the field. */
export interface CommandForm {
  /**
   * The name of the flag, or the prefix of the flags of an object's members. The default flag is the name of the field in kebab case,
   * without the plural `s` of a list.
   */
  readonly flag?: string;
  /** Whether the field is an argument after the ID instead of a flag. */
  readonly isPositional?: boolean;
  /** Whether the field has no flag, because the flag of another member sets it. */
  readonly isWithoutFlag?: boolean;
  /** Whether the text of the flag has several values, separated by commas. */
  readonly hasCommas?: boolean;
  /** The placeholder of the value in the usage, such as `30d`. */
  readonly form?: string;
  /** Words that are not accepted as values. The error for such a word says which flag to use instead, or to leave the flag out. */
  readonly noValues?: readonly string[];
  /** Describes the flag, if the description of the JSON member does not fit a flag. */
  readonly help?: string;
  /**
   * Converts the text of a flag to the JSON value.
   * @throws Error of one sentence
   */
  readonly read?: (text: string) => unknown;
  /** Writes the JSON value for people. `owner` is the row of the table, or the whole answer. */
  readonly text?: (value: never, owner: never) => string;
  /** The title of its column or line; by default its name. */
  readonly title?: string;
  /** Whether a table has a column for each name of a map. */
  readonly isSpread?: boolean;
  /** The text for null and for an empty list. */
  readonly none?: string;
}

/** The properties of a field in addition to its schema. */
interface Annotations {
  readonly codec?: Codec | undefined;
  readonly command?: CommandForm;
  /** The name of a member in the program's object, if it is not its name in JSON in camel case. */
  readonly member?: string;
  /** Computes the value of a member from the program's object, if the object has no such member. */
  readonly from?: (owner: never) => unknown;
  /** The JSON value of a member that the program's object lacks. */
  readonly absent?: AbsentValue;
  /** The position of a member among the stored values of its object. */
  readonly at?: number;
  /** Whether callers get the member in answers to their requests, not only operators. */
  readonly callers?: true;
  /** The error code for a number outside of the bounds. */
  readonly refusal?: ErrorCode | undefined;
  readonly takesUsd?: true;
}

/** What JSON may say instead of a member that is absent in the program. */
export type AbsentValue = null | false | readonly never[];

const ANNOTATIONS = Symbol('annotations');
declare const VALUE: unique symbol;
export declare const MEMBER: unique symbol;
export declare const ABSENT: unique symbol;
export declare const FROM: unique symbol;
export declare const CALLERS: unique symbol;

interface Annotated {
  readonly [ANNOTATIONS]?: Annotations;
}

const NONE: Annotations = {};
export const annotationsOf = (schema: TSchema): Annotations => (schema as Annotated)[ANNOTATIONS] ?? NONE;

/** Adds annotations to a schema. */
export const annotate = <Schema extends TSchema>(schema: Schema, added: Annotations = NONE): Schema => {
  if (added === NONE) return schema;
  const before = annotationsOf(schema);
  return Object.assign(schema, { [ANNOTATIONS]: before === NONE ? added : { ...before, ...added } });
};

/** Adds annotations to a schema whose value has another type in the program. That type exists only for the compiler. */
export const annotated = <Schema extends TSchema, Value>(schema: Schema, added?: Annotations) =>
  annotate(schema, added) as unknown as Field<Schema, Value>;

export const commandOf = (schema: TSchema): CommandForm => annotationsOf(schema).command ?? {};
/** The error code for a number outside of the bounds of a field. */
export const refusalCodeOf = (schema: TSchema): ErrorCode => annotationsOf(schema).refusal ?? 'out_of_range';

/** Converts a value of the program to JSON. */
export const encode = (schema: TSchema, value: unknown, worth: Worth): unknown => {
  const { codec } = annotationsOf(schema);
  return codec ? codec.encode(value, worth, schema) : value;
};

/**
 * Converts items of a page to JSON to measure their size, because pages have a maximal size. Each USD amount counts with a usual length.
 */
export const sizedAs = (schema: TSchema) => (value: unknown) => encode(schema, value, { usd: () => '0.0000123' });

/**
 * Converts a JSON value that the schema accepts to its form in the program. @throws SignalboxError for values that a schema cannot exclude
 */
export const decode = (schema: TSchema, value: unknown, usdPerCredit: Decimal | null, path = ''): unknown => {
  const { codec } = annotationsOf(schema);
  return codec ? codec.decode(value, path, usdPerCredit, schema) : value;
};
