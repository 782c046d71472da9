import type { TSchema } from '@sinclair/typebox';
import fc from 'fast-check';
import { isObject, type Json } from '../../../plugins/providers/json.ts';
import type { ProviderCall } from '../../../src/contract/provider.ts';
import type { ModelRequest } from '../../../src/core/request/model-request.ts';
import type { AnswerRoute } from '../../../src/dialects/surface.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';
import { readOn } from '../../support/read-request.ts';

/** The round trip of one dialect: a body is read into the neutral form, and an adapter writes that form in the same dialect. */
export interface RoundTrip {
  readonly route: AnswerRoute;
  readonly schema: TSchema;
  /** Bodies of the dialect that its own service accepts. */
  readonly bodies: fc.Arbitrary<Json>;
  /** Members that do not survive, by their path in the schema, with the reason. Nested members are exempt, too. */
  readonly exempt: Readonly<Record<string, string>>;
  /** Losses that the law must detect. */
  readonly mutants: Readonly<Record<string, (translated: Json) => Json>>;
  /** Writes a request that is not passed through. */
  translate(request: ModelRequest): Json;
  /** Converts a body to a normal form. Bodies with the same meaning for the service have the same normal form. */
  plain(body: Json): unknown;
}

/** Fields of every dialect that are not meant for the model. */
export const EXEMPT_FIELDS: Readonly<Record<string, string>> = {
  model: 'routing chooses it',
  route_strategy: 'Signalbox’s own',
  constraints: 'Signalbox’s own',
  budget_limit: 'Signalbox’s own',
  agent_wallet: 'Signalbox’s own',
};

/** Returns a copy of a body in which each object is changed. */
export const withEach = (body: Json, change: (object: Json) => Json): Json =>
  JSON.parse(JSON.stringify(body), (_, value) => (isObject(value) ? change(value) : value));

/** Returns the same request under a dialect that no adapter passes through. */
export const ofAnotherDialect = (request: ModelRequest): ModelRequest =>
  new Proxy(request, {
    get: (target, name) => {
      if (name === 'original') return { ...target.original, dialect: 'another' };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/** Reads a body, and returns its translation. */
export const thereAndBack = ({ route, translate }: RoundTrip, body: Json): Json =>
  translate(ofAnotherDialect(readOn(route, structuredClone(body)).request));

/** Makes a call with everything that the request's own service can do. */
export const callFor = (request: ModelRequest, rest: Partial<ProviderCall>): ProviderCall => ({
  upstream: 'model',
  request,
  extras: request.extras,
  stream: request.stream,
  outputCap: request.settings.outputTokensMax ?? 1_000,
  model: { capabilities: [], lacks: [], acceptsTemperature: true, ttftMs: 1, outputTokensPerSecond: 100 },
  serviceTier: request.settings.serviceTier,
  ...rest,
});

/** A text with at least one visible character, from any letters, with lone surrogates and all characters that JSON escapes. */
export const words = fc
  .array(fc.oneof(anyCodePoint, fc.constantFrom('\u2028', '\ud800', '\udfff', '"', '\\', '\u0000', '</s>', '\ufeff')), {
    minLength: 1,
    maxLength: 8,
  })
  .map((letters) => `x${letters.join('')}x`);

/** Opaque texts of services: long, with every character that services use. */
export const opaque = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40, unit: fc.constantFrom(...'aZ09+/=-_.') }),
  fc.nat(255).map((fill) => Buffer.alloc(6_000, fill).toString('base64')),
  words,
);

export const base64 = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));

/** Arguments of a tool call. */
export const jsonObject: fc.Arbitrary<Json> = fc.dictionary(
  fc.oneof(words, fc.constantFrom('', '__proto__', 'toJSON', '1', 'constructor')),
  fc.oneof(
    fc.constantFrom(null, true, 0, 1.5, -1e-7, 9_007_199_254_740_991),
    words,
    fc.array(words, { maxLength: 2 }),
    fc.record({ a: words }),
  ),
  { maxKeys: 3, noNullPrototype: true },
);

/** An optional member. */
export const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(one, { nil: undefined });

export const toolName = fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom(...'aZ09_-') });

/** Tool schemas that every service accepts unchanged. */
export const toolSchema: fc.Arbitrary<Json> = fc
  .dictionary(toolName, fc.constantFrom<Json>({ type: 'string' }, { type: 'integer', description: 'How many.' }), {
    maxKeys: 2,
    noNullPrototype: true,
  })
  .map((properties) => ({
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  }));

/** Removes members that are undefined. */
export const stated = (value: Json): Json => JSON.parse(JSON.stringify(value));
