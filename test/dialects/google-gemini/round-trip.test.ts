import fc from 'fast-check';
import { gemini } from '../../../plugins/providers/gemini.ts';
import { type Json, listOf, objectOf, textOf } from '../../../plugins/providers/json.ts';
import { GenerateRequest } from '../../../src/dialects/google-gemini/request.ts';
import { generateContent } from '../../../src/dialects/google-gemini/surface.ts';
import { roundTripTests } from '../../laws/round-trip/law.ts';
import {
  base64,
  callFor,
  EXEMPT_FIELDS,
  jsonObject,
  maybe,
  opaque,
  type RoundTrip,
  stated,
  toolName,
  toolSchema,
  withEach,
  words,
} from '../../laws/round-trip/round-trip.ts';
import { wireAdapter, wireRequest } from '../../support/wire-request.ts';

const adapter = wireAdapter(gemini.prepare({ service: 'gemini' }));
/** This model has IDs of calls, and accepts sampling controls. */
const UPSTREAM = 'gemini-3-flash';
/** Google's signature for a call without one. */
const UNSIGNED = 'skip_thought_signature_validator';

const text = fc.record({ text: words });
const blob = (mimeType: fc.Arbitrary<string>) =>
  fc.record({ mimeType, data: base64 }).map((inlineData) => ({ inlineData }));
const said = fc.oneof(
  text,
  blob(fc.constantFrom('image/png', 'image/jpeg', 'image/webp', 'audio/wav', 'audio/mp3', 'application/pdf')),
  fc
    .webUrl({ validSchemes: ['https'] })
    .map((fileUri) => ({ fileData: { fileUri: `${fileUri.replace(/[?#].*$/, '')}/x.png`, mimeType: 'image/png' } })),
);

const signature = maybe(opaque.filter((one) => one !== ''));
const call = fc.record({ of: fc.nat(2), args: jsonObject, thoughtSignature: signature, hasId: fc.boolean() });
const result = fc.oneof(
  words.map((output) => ({ output })),
  jsonObject.filter((object) => Object.keys(object).length > 1),
);
const round = fc.record({
  question: fc.array(said, { minLength: 1, maxLength: 3 }),
  answer: fc.array(text, { maxLength: 2 }),
  ofText: signature,
  calls: fc.array(call, { maxLength: 3 }),
  results: fc.array(result, { minLength: 3, maxLength: 3 }),
});

/** Signatures are Base64, in either alphabet. */
const bytesOf = (signature = ''): string => Buffer.from(signature, 'base64').toString('hex');

/** Returns the contents of some rounds. Each call has a result, and its function is declared, as the API requires. */
function contentsOf(
  rounds: readonly (typeof round extends fc.Arbitrary<infer T> ? T : never)[],
  tools: readonly Json[],
) {
  return rounds.flatMap(({ question, answer, ofText, calls, results }, nth) => {
    const called = tools.length === 0 ? [] : calls;
    const functionCalls = called.map(({ of, args, thoughtSignature, hasId }, at) => {
      const functionCall = { ...(hasId && { id: `c${nth}_${at}` }), name: tools[of % tools.length]!.name, args };
      return { functionCall, ...(thoughtSignature && { thoughtSignature }) };
    });
    // Some clients copy the signature of a call to the message, so such a copy is not written.
    const isCopy = called.some(({ thoughtSignature }) => bytesOf(thoughtSignature) === bytesOf(ofText));
    const texts = answer.map((part, at) =>
      at === answer.length - 1 && ofText && !isCopy ? { ...part, thoughtSignature: ofText } : part,
    );
    const parts = [...texts, ...functionCalls];
    const responses = functionCalls.map(({ functionCall: { id, name } }, at) => ({
      functionResponse: { ...(id && { id }), name, response: results[at] },
    }));
    return [
      { role: 'user', parts: question },
      ...(parts.length > 0 ? [{ role: 'model', parts }] : []),
      ...(responses.length > 0 ? [{ role: 'user', parts: responses }] : []),
    ];
  });
}

const declaration = fc.record({
  name: toolName.map((name) => `f${name}`),
  description: maybe(words),
  schema: toolSchema,
  isOpenApi: fc.boolean(),
});
const format = fc.record({ schema: toolSchema, isOpenApi: fc.boolean() });

/** Writes a schema as Google's OpenAPI schema, which has types in capitals and no `additionalProperties`. */
const openApi = (schema: Json): Json =>
  withEach(schema, (one) => (typeof one.type === 'string' ? { ...one, type: one.type.toUpperCase() } : one));

const bodies: fc.Arbitrary<Json> = fc
  .record({
    rounds: fc.array(round, { maxLength: 3 }),
    last: fc.array(said, { minLength: 1, maxLength: 3 }),
    system: maybe(fc.array(text, { minLength: 1, maxLength: 2 })),
    serviceTier: maybe(fc.constantFrom('flex', 'priority')),
    tools: maybe(fc.uniqueArray(declaration, { minLength: 1, maxLength: 3, selector: ({ name }) => name })),
    mode: maybe(fc.constantFrom('AUTO', 'ANY', 'NONE', 'one')),
    format: maybe(format),
    isJson: fc.boolean(),
    config: fc.record({
      maxOutputTokens: fc.integer({ min: 1, max: 10_000 }),
      temperature: maybe(fc.double({ min: 0, max: 2, noNaN: true })),
      topP: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
      candidateCount: maybe(fc.integer({ min: 2, max: 8 })),
      stopSequences: maybe(fc.array(words, { minLength: 1, maxLength: 3 })),
      seed: maybe(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
      responseLogprobs: fc.constantFrom(undefined, true),
      logprobs: maybe(fc.integer({ min: 1, max: 20 })),
      level: maybe(fc.constantFrom('LOW', 'HIGH')),
    }),
  })
  .map(
    ({
      rounds,
      last,
      system,
      serviceTier,
      tools = [],
      mode,
      format: schema,
      isJson,
      config: { level, logprobs, ...config },
    }) => {
      const declarations = tools.map(({ name, description, schema: own, isOpenApi }) => ({
        name,
        description,
        ...(isOpenApi ? { parameters: openApi(own) } : { parametersJsonSchema: own }),
      }));
      const calling =
        mode === 'one' ? { mode: 'ANY', allowedFunctionNames: [declarations[0]?.name] } : { mode: mode ?? 'AUTO' };
      const own =
        schema &&
        (schema.isOpenApi ? { responseSchema: openApi(schema.schema) } : { responseJsonSchema: schema.schema });
      return stated({
        contents: [...contentsOf(rounds, declarations), { role: 'user', parts: last }],
        ...(system && { systemInstruction: { parts: system } }),
        serviceTier,
        ...(declarations.length > 0 && {
          tools: [{ functionDeclarations: declarations }],
          ...(mode && { toolConfig: { functionCallingConfig: calling } }),
        }),
        generationConfig: {
          ...config,
          ...(config.responseLogprobs && { logprobs }),
          ...((schema || isJson) && { responseMimeType: 'application/json' }),
          ...own,
          ...(level && { thinkingConfig: { thinkingLevel: level } }),
        },
      });
    },
  );

/** Writes all schemas as JSON Schema, and leaves out IDs, which Signalbox makes if a call has none. */
function plain(body: Json): unknown {
  const { contents, systemInstruction, tools, toolConfig, serviceTier, generationConfig } = body;
  const { responseSchema, responseJsonSchema = responseSchema, thinkingConfig, ...config } = objectOf(generationConfig);
  const { thinkingLevel } = objectOf(thinkingConfig);
  const merged: { role: unknown; parts: unknown[] }[] = [];
  for (const content of listOf(contents).map(objectOf)) {
    const parts = listOf(content.parts).map((part) => plainPart(objectOf(part)));
    const last = merged.at(-1);
    if (last && last.role === content.role) last.parts.push(...parts);
    else merged.push({ role: content.role, parts });
  }
  return stated({
    contents: merged,
    system: listOf(objectOf(systemInstruction).parts),
    serviceTier,
    tools: listOf(objectOf(listOf(tools)[0]).functionDeclarations).map((one) => {
      const { parameters, parametersJsonSchema = parameters, ...rest } = objectOf(one);
      return { ...rest, schema: lower(parametersJsonSchema) };
    }),
    calling: { mode: 'AUTO', ...objectOf(objectOf(toolConfig).functionCallingConfig) },
    config: { ...config, schema: lower(responseJsonSchema) },
    level: textOf(thinkingLevel).toUpperCase() || undefined,
  });
}

const lower = (schema: unknown): unknown =>
  withEach({ schema }, (one) => (typeof one.type === 'string' ? { ...one, type: one.type.toLowerCase() } : one)).schema;

function plainPart({ functionCall, functionResponse, thoughtSignature, ...part }: Json): Json {
  // Signatures are bytes, whichever alphabet of base64 they are written in.
  const signature = textOf(thoughtSignature).replaceAll('-', '+').replaceAll('_', '/');
  const signed = { ...part, ...(signature && thoughtSignature !== UNSIGNED && { thoughtSignature: signature }) };
  if (functionCall) return { ...signed, functionCall: withoutId(functionCall) };
  if (!functionResponse) return signed;
  const { response, ...rest } = withoutId(functionResponse);
  const { output, ...others } = objectOf(response);
  const isText = typeof output === 'string' && Object.keys(others).length === 0;
  return { ...signed, functionResponse: { ...rest, response: isText ? output : JSON.stringify(response) } };
}

const withoutId = (owner: unknown): Json => {
  const { id: _, ...rest } = objectOf(owner);
  return rest;
};

const GEMINI: RoundTrip = {
  route: generateContent,
  schema: GenerateRequest,
  bodies,
  translate: (request) =>
    wireRequest(
      adapter,
      callFor(request, {
        upstream: UPSTREAM,
        model: { ...callFor(request, {}).model, capabilities: ['reasoning'] },
      }),
    ).body,
  plain,
  exempt: {
    ...EXEMPT_FIELDS,
    metadata: 'Signalbox’s own',
    'contents[].parts[].thought': 'Google’s models read the signature, and no thought as text',
    'contents[].parts[].functionCall.id': 'Signalbox makes the IDs of calls that have none',
    'contents[].parts[].functionResponse.id': 'belongs to the call',
    'contents[].parts[].functionResponse.parts':
      'placed after the results, because few services accept media within one',
    'generationConfig.topK': 'has no neutral name; named in `platform.dropped`',
    'generationConfig.presencePenalty': 'no current model of Google accepts it',
    'generationConfig.frequencyPenalty': 'no current model of Google accepts it',
    'generationConfig.responseModalities': 'always text',
    'generationConfig.thinkingConfig': 'becomes an effort',
    toolConfig: 'a mode is always sent',
  },
  mutants: {
    'a signature is lost': (body) => withEach(body, ({ thoughtSignature: _, ...rest }) => rest),
    'a signature is converted to well-formed text': (body) =>
      withEach(body, (one) =>
        typeof one.thoughtSignature === 'string'
          ? { ...one, thoughtSignature: one.thoughtSignature.toWellFormed() }
          : one,
      ),
    'results lose their order': (body) =>
      withEach(body, (one) =>
        listOf(one.parts).every((part) => objectOf(part).functionResponse) && one.parts
          ? { ...one, parts: listOf(one.parts).toReversed() }
          : one,
      ),
    'the allowed functions are lost': (body) => withEach(body, ({ allowedFunctionNames: _, ...rest }) => rest),
    'the type of media is lost': (body) => withEach(body, ({ mimeType: _, ...rest }) => rest),
  },
};

roundTripTests(GEMINI);
