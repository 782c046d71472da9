import {
  type NumberOptions,
  type SchemaOptions,
  type Static,
  type StringOptions,
  type TInteger,
  type TLiteral,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox';
import * as parts from '../../core/api/parts.ts';
import { iso, parseMoment } from '../../core/clock.ts';
import { type Microcredits, toCredits } from '../../core/credits.ts';
import { type ErrorCode, refuse } from '../../core/errors.ts';
import { exactMillionths } from '../../core/exact-millionths.ts';

/**
 * The fields of operations. A field is the JSON Schema of its value on the wire, and knows how the program has that value: an amount is
 * in Credits on the wire and in microcredits in the program, a moment is ISO 8601 and ms since 1970, a name is in snake case and in
 * camel case. So a shape states each member once, and needs no mapper.
 */

/** Converts amounts to USD for answers, which state both. */
export interface Worth {
  /** Returns USD as an exact decimal; null where the worth of a Credit is unknown. */
  usd(amount: Microcredits): string | null;
}

/** How a value of the program is written on the wire, and read from it. */
interface Codec {
  encode(value: unknown, worth: Worth): unknown;
  /** @param path of the value in the input. @throws SignalboxError */
  decode(value: unknown, path: string): unknown;
}

/** How a field is given and shown in a command; by its schema where nothing is stated. */
export interface CommandForm {
  /** The name of its flag, or what the flags of an object's members begin with. Its own in kebab case unless stated, without the plural `s` of a list. */
  readonly flag?: string;
  /** Whether it is an argument after the ID, in place of a flag. */
  readonly isPositional?: boolean;
  /** Whether no flag states it, because the flag of another member does. */
  readonly isWithoutFlag?: boolean;
  /** What stands for its value in the usage, such as `30d`. */
  readonly form?: string;
  /** Words that are no value: the command says which flag to give instead, or to leave this one out. */
  readonly noValues?: readonly string[];
  /** Describes the flag, where the description of the member is about its form on the wire. */
  readonly help?: string;
  /** Reads a text as its value on the wire. @throws Error of one sentence */
  readonly read?: (text: string) => unknown;
  /** The value on the wire as a person reads it. */
  readonly text?: (value: never) => string;
  /** Whether a table has a column for each name of a map. */
  readonly isSpread?: boolean;
  /** Shown for null and for an empty list. */
  readonly none?: string;
}

const CODEC = Symbol('codec');
const COMMAND = Symbol('command');
const MEMBER = Symbol('member');
const REFUSAL = Symbol('refusal');
declare const VALUE: unique symbol;

interface Annotations {
  readonly [CODEC]?: Codec;
  readonly [COMMAND]?: CommandForm;
  readonly [MEMBER]?: string;
  readonly [REFUSAL]?: ErrorCode | undefined;
}

/** A schema whose value the program has as `Value`. */
export type Field<Schema extends TSchema = TSchema, Value = Static<Schema>> = Schema & {
  readonly [VALUE]: readonly [Value];
};

/** A value as the program has it. */
export type ValueOf<Schema> = Schema extends { readonly [VALUE]: readonly [infer Value] }
  ? Value
  : Schema extends TSchema
    ? Static<Schema>
    : never;

// The type of the value is in no field at run time.
const annotated = <Schema extends TSchema, Value>(schema: Schema, annotations: Annotations) =>
  Object.assign(schema, annotations) as unknown as Field<Schema, Value>;
const annotationsOf = (schema: TSchema): Annotations => schema as Annotations;

const codecOf = (schema: TSchema): Codec | undefined => annotationsOf(schema)[CODEC];
export const commandOf = (schema: TSchema): CommandForm => annotationsOf(schema)[COMMAND] ?? {};
/** The code of refusals of a number outside of the bounds of a field. */
export const refusalCodeOf = (schema: TSchema): ErrorCode => annotationsOf(schema)[REFUSAL] ?? 'out_of_range';

/** Writes a value of the program. */
export const encode = (schema: TSchema, value: unknown, worth: Worth): unknown => {
  const codec = codecOf(schema);
  return codec ? codec.encode(value, worth) : value;
};

/** Writes the items of a page that ends by its size; each USD amount has a usual length. */
export const sizedAs = (schema: TSchema) => (value: unknown) => encode(schema, value, { usd: () => '0.0000123' });

/** Reads a value that the schema accepts. @throws SignalboxError for what a schema cannot say */
export const decode = (schema: TSchema, value: unknown, path = ''): unknown => {
  const codec = codecOf(schema);
  return codec ? codec.decode(value, path) : value;
};

/** Says how a field is given and shown in a command. */
export const inCommand = <Schema extends TSchema>(field: Schema, form: CommandForm): Schema =>
  Object.assign({ ...field }, { [COMMAND]: { ...commandOf(field), ...form } });

/** Names the member of the program's object that a field of another name has. */
export const as = <const Member extends string, Schema extends TSchema>(member: Member, field: Schema) =>
  Object.assign({ ...field }, { [MEMBER]: member }) as Schema & { readonly [MEMBER]: Member };

export const { text, flag, count, word, always } = parts;

/** A text that is ISO 8601 in UTC on the wire. Value: ms since 1970. */
export const moment = (description: string, example?: string) =>
  inCommand(
    annotated<ReturnType<typeof parts.moment>, number>(parts.moment(description, example), { [CODEC]: MOMENT }),
    { text: minuteText },
  );

const MOMENT: Codec = {
  encode: (value) => iso(value as number),
  decode: (value, path) =>
    parseMoment(String(value)) ?? refuse(path, `\`${path}\` takes 2027-02-18 or 2027-02-18T09:30Z.`),
};

/** A moment on the wire as a person reads it. */
export const minuteText = (value: string): string => `${value.slice(0, 16).replace('T', ' ')} UTC`;

/** A moment, or a day, which begins at midnight UTC, in a query. Value: ms since 1970. */
export const momentIn = (description: string) =>
  inCommand(
    annotated<ReturnType<typeof formed>, number>(formed(description, { pattern: '^\\d{4}-\\d{2}-\\d{2}' }), {
      [CODEC]: MOMENT,
    }),
    { form: 'TIME' },
  );

/** An amount in Credits on the wire, with at most 6 decimals. Value: microcredits. */
export const credits = (description: string, example: number, bounds: NumberOptions = {}) =>
  annotated<ReturnType<typeof parts.credits>, Microcredits>(
    Object.assign(parts.credits(description, example), bounds),
    {
      [CODEC]: {
        encode: (value) => toCredits(value as Microcredits),
        decode: (value, path) => exactMillionths(Number(value), path),
      },
    },
  );

/** The worth of an amount in USD, in answers. Value: microcredits. */
export const usd = (description: string, example: string) =>
  annotated<ReturnType<typeof parts.usd>, Microcredits>(parts.usd(description, example), {
    [CODEC]: { encode: (value, worth) => worth.usd(value as Microcredits), decode: (value) => value },
  });

/** Whether a field, or one within it, states USD. */
export const statesUsd = (schema: TSchema): boolean =>
  schema.description?.endsWith(USD_END) === true ||
  [schema.items, ...(schema.anyOf ?? []), ...Object.values(schema.properties ?? {})].some(
    (inner) => inner !== undefined && statesUsd(inner as TSchema),
  );
const USD_END = 'In USD, an exact decimal.';

/** A value, or null. */
export const orNull = <Schema extends TSchema>(field: Schema, description?: string, ...examples: unknown[]) => {
  const schema = parts.orNull(field, description ?? field.description ?? '', ...examples);
  const codec = codecOf(field);
  return annotated<typeof schema, ValueOf<Schema> | null>(schema, {
    [COMMAND]: commandOf(field),
    ...(codec && {
      [CODEC]: {
        encode: (value, worth) => (value === null ? null : codec.encode(value, worth)),
        decode: (value, path) => (value === null ? null : codec.decode(value, path)),
      },
    }),
  });
};

/** A list of values. */
export const list = <Schema extends TSchema>(item: Schema, description: string, options: SchemaOptions = {}) => {
  const schema = Type.Array(item, { description, ...options });
  const codec = codecOf(item);
  return annotated<typeof schema, readonly ValueOf<Schema>[]>(schema, {
    ...(codec && {
      [CODEC]: {
        encode: (value, worth) => (value as readonly unknown[]).map((one) => codec.encode(one, worth)),
        decode: (value, path) => (value as readonly unknown[]).map((one, at) => codec.decode(one, `${path}[${at}]`)),
      },
    }),
  });
};

/** A value that the program has in its form on the wire. */
export const onWire = <Schema extends TSchema>(schema: Schema) => annotated<Schema, object>({ ...schema }, {});

/** Texts by names that the schema does not know, such as labels. */
export const { mapOf } = parts;

/** A member of an object that may be absent. */
export const optional = <Schema extends TSchema>(field: Schema) => Type.Optional(field) as TOptional<Schema>;

type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
type MemberOf<Name, Schema> = Schema extends { readonly [MEMBER]: infer Member extends string } ? Member : Camel<Name>;
/** A member that may be absent, or that has one value always, so that nothing needs to state it. */
type OptionalName<P extends TProperties> = {
  [Name in keyof P]: P[Name] extends TOptional<TSchema> | TLiteral ? Name : never;
}[keyof P];

/** An object as the program has it. */
export type ObjectValue<P extends TProperties> = {
  readonly [Name in Exclude<keyof P, OptionalName<P>> as MemberOf<Name, P[Name]>]: ValueOf<P[Name]>;
} & {
  readonly [Name in OptionalName<P> as MemberOf<Name, P[Name]>]?: ValueOf<P[Name]> | undefined;
};

/** An object: its members are in snake case on the wire and in camel case in the program. */
export function shape<P extends TProperties>(description: string, members: P, options: SchemaOptions = {}) {
  const schema: TObject<P> = Type.Object(members, { description, ...options });
  const named = Object.entries(members).map(([name, field]) => {
    return { name, field, member: annotationsOf(field)[MEMBER] ?? camel(name) };
  });
  return annotated<TObject<P>, ObjectValue<P>>(schema, {
    [CODEC]: {
      encode: (value, worth) => {
        const object = value as Readonly<Record<string, unknown>>;
        return Object.fromEntries(
          named.flatMap(({ name, field, member }) => {
            const value = object[member] === undefined ? field.const : object[member];
            return value === undefined ? [] : [[name, encode(field, value, worth)]];
          }),
        );
      },
      decode: (value, path) => {
        const object = value as Readonly<Record<string, unknown>>;
        return Object.fromEntries(
          named.flatMap(({ name, field, member }) =>
            object[name] === undefined ? [] : [[member, decode(field, object[name], path ? `${path}.${name}` : name)]],
          ),
        );
      },
    },
  });
}

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A shape of an answer that the document describes by its name. */
export const named = <P extends TProperties>(title: string, description: string, members: P) =>
  shape(description, members, { title });

/** The body of a request, or an object within it: it has no other members. */
export const body = <P extends TProperties>(description: string, members: P) =>
  shape(description, members, { additionalProperties: false });

/** Members that may all be absent. */
export const allOptional = <P extends TProperties>(members: P) =>
  Object.fromEntries(Object.entries(members).map(([name, field]) => [name, Type.Optional(field)])) as {
    [Name in keyof P]: TOptional<P[Name]>;
  };

/** The answer of a list: pages that end with `has_more`. */
export const page = <Schema extends TSchema>(title: string, description: string, item: Schema, order: string) =>
  named(title, description, {
    object: always('list'),
    data: list(item, order),
    has_more: flag('Whether more follow. To get them, repeat the request with the last `id`.', false),
  });

interface PageSize {
  readonly most: number;
  /** The number without it. */
  readonly unlessGiven: number | 'all';
  /** The noun of the items, where `How many` alone is not clear. */
  readonly of?: string;
  /** A sentence about the rest. */
  readonly end?: string;
  /** The code of refusals of another number. */
  readonly code?: ErrorCode;
}

/** The number of items that a list returns. The value is undefined where it is not given. */
export const pageSize = ({ most, unlessGiven, of, end = 'A page also ends at 1 MiB.', code }: PageSize) =>
  optional(
    annotated<TInteger, number>(
      Type.Integer({
        minimum: 1,
        maximum: most,
        description: `How many ${of ? `${of} ` : ''}at most; ${unlessGiven} unless given. ${end}`.trimEnd(),
      }),
      { [REFUSAL]: code },
    ),
  );

/** The ID after which a page of a list begins. @param of the noun of the items */
export const afterLast = (of: string) =>
  optional(inCommand(formed(`The ID of the last ${of} of the page before.`, { minLength: 1 }), { form: 'ID' }));

/** A text of some form, for the document; the operation refuses other texts, with what would be right. */
export const formed = (description: string, form: StringOptions, ...examples: string[]) =>
  Type.String({ description, ...(examples.length > 0 && { examples }), allOf: [form] });
