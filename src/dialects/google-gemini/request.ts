import { type Static, Type } from '@sinclair/typebox';
import { ROUTING_FIELDS } from '../../core/api/routing-fields.ts';
import { openShape } from '../../core/define/fields.ts';
import { STOP_CHARS_MAX, STOPS_MAX } from '../../core/request/stop-search.ts';
import { nullable, textMembers } from '../../core/schema/nullable.ts';

/** The requests of Google's Gemini API, with Signalbox's additions. `plainBody` writes a body in this form first. */

const Blob = openShape(
  { mimeType: Type.String({ minLength: 1, maxLength: 256 }), data: Type.String({ description: 'base64' }) },
  { description: 'The data of an image, of audio or of a file.' },
);

const FunctionCall = openShape({
  id: nullable(Type.String({ description: 'The ID of the call, which its response repeats.' })),
  name: Type.String({ minLength: 1 }),
  args: nullable(openShape({}, { description: 'The arguments.' })),
});

const ResponsePart = openShape({ inlineData: nullable(Blob) });
const FunctionResponse = openShape({
  id: nullable(
    Type.String({ description: 'The ID of the call. Without an ID, calls are answered by name, in order.' }),
  ),
  name: Type.String({ minLength: 1 }),
  response: nullable(openShape({}, { description: 'The result.' })),
  parts: nullable(Type.Array(ResponsePart)),
});
export type FunctionResponse = Static<typeof FunctionResponse>;

const Part = openShape(
  {
    text: nullable(Type.String()),
    inlineData: nullable(Blob),
    fileData: nullable(
      openShape({
        fileUri: Type.String({ description: 'The https address of an image.' }),
        mimeType: nullable(Type.String()),
      }),
    ),
    functionCall: nullable(FunctionCall),
    functionResponse: nullable(FunctionResponse),
    thought: nullable(Type.Boolean({ description: 'Whether the text is a thought of the model.' })),
    thoughtSignature: nullable(
      Type.String({ description: 'State that only the model that wrote it can read. Send it back unchanged.' }),
    ),
  },
  { description: 'A part of a content.' },
);
export type Part = Static<typeof Part>;

const Content = openShape({
  role: nullable(
    Type.Union(
      ['user', 'model', 'tool', 'function', 'system'].map((role) => Type.Literal(role)),
      {
        description: 'Who speaks: `user` (default) or `model`. Function responses may have the role `tool`.',
      },
    ),
  ),
  parts: nullable(Type.Array(Part)),
});
export type Content = Static<typeof Content>;

/** The system instruction. Other members of its parts are refused with a better message. */
const Instruction = openShape({ parts: nullable(Type.Array(openShape({ text: nullable(Type.String()) }))) });

const Declaration = openShape({
  name: Type.String({ minLength: 1, maxLength: 128 }),
  description: nullable(Type.String()),
  parameters: nullable(openShape({}, { description: 'The parameters as OpenAPI schema.' })),
  parametersJsonSchema: nullable(openShape({}, { description: 'The parameters as JSON Schema.' })),
});
export type Declaration = Static<typeof Declaration>;

const Tool = openShape({ functionDeclarations: nullable(Type.Array(Declaration)) });

const ToolConfig = openShape({
  functionCallingConfig: nullable(
    openShape({
      mode: nullable(
        Type.Union(
          ['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED'].map((mode) => Type.Literal(mode)),
          { description: 'Whether the model calls functions. The default is `AUTO`.' },
        ),
      ),
      allowedFunctionNames: nullable(Type.Array(Type.String())),
    }),
  ),
});

const fraction = (description: string) => nullable(Type.Number({ minimum: 0, maximum: 1, description }));
const penalty = nullable(Type.Number({ minimum: -2, maximum: 2 }));

const GenerationConfig = openShape({
  maxOutputTokens: nullable(
    Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'The maximum number of output tokens.' }),
  ),
  temperature: nullable(Type.Number({ minimum: 0, maximum: 2 })),
  topP: fraction('Nucleus sampling.'),
  topK: nullable(Type.Number({ description: 'No model gets it.' })),
  candidateCount: nullable(Type.Integer({ minimum: 1, maximum: 128, description: 'The number of answers.' })),
  stopSequences: nullable(Type.Array(Type.String({ maxLength: STOP_CHARS_MAX }), { maxItems: STOPS_MAX })),
  seed: nullable(Type.Integer()),
  presencePenalty: penalty,
  frequencyPenalty: penalty,
  responseLogprobs: nullable(Type.Boolean()),
  logprobs: nullable(Type.Integer({ minimum: 0, maximum: 20 })),
  responseMimeType: nullable(
    Type.String({ maxLength: 256, description: '`text/plain` (default) or `application/json`.' }),
  ),
  responseSchema: nullable(openShape({}, { description: 'The answer as OpenAPI schema.' })),
  responseJsonSchema: nullable(openShape({}, { description: 'The answer as JSON Schema.' })),
  responseModalities: nullable(Type.Array(Type.String(), { description: 'Only `TEXT`.' })),
  thinkingConfig: nullable(
    openShape({
      includeThoughts: nullable(Type.Boolean({ description: 'Whether the answer contains the thoughts as text.' })),
      thinkingBudget: nullable(
        Type.Integer({
          minimum: -1,
          maximum: 1_000_000_000,
          description: 'Tokens; it becomes an effort. -1: the model decides.',
        }),
      ),
      thinkingLevel: nullable(Type.String({ maxLength: 64, description: '`MINIMAL`, `LOW`, `MEDIUM` or `HIGH`.' })),
    }),
  ),
});
export type GenerationConfig = Static<typeof GenerationConfig>;

/** The model of the path, which the reader adds to the body. */
export const ModelName = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'The model or selector of the path. Only `/v1/route` needs it in the body.',
});

export const GenerateRequest = Type.Object(
  {
    model: nullable(ModelName),
    contents: Type.Array(Content, { minItems: 1 }),
    systemInstruction: nullable(Instruction),
    tools: nullable(Type.Array(Tool)),
    toolConfig: nullable(ToolConfig),
    generationConfig: nullable(GenerationConfig),
    serviceTier: nullable(
      Type.String({
        description: 'The service tier, such as `flex` or `priority`, for models with a price of this tier.',
      }),
    ),
    metadata: nullable(textMembers({ description: 'Texts for the policy’s rules. An addition of Signalbox.' })),
    ...ROUTING_FIELDS,
  },
  { additionalProperties: true, $id: 'GenerateContentRequest' },
);
export type GenerateRequest = Static<typeof GenerateRequest>;

/** The fields with a neutral meaning. All other fields are extras, such as `safetySettings`. */
export const KNOWN_FIELDS: readonly string[] = Object.keys(GenerateRequest.properties);
