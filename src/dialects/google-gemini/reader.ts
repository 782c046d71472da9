import { FIELD_NAMES } from '../../contract/field-names.ts';
import { extrasOf, unnamedMembers } from '../../core/api/extras.ts';
import { routingOf } from '../../core/api/routing-fields.ts';
import { isObject } from '../../core/json/object.ts';
import { askedTier } from '../../core/money/service-tier.ts';
import type { AnswerFormat, ModelSettings } from '../../core/request/conversation.ts';
import {
  type FieldNames,
  type ModelRequest,
  modelRequest,
  type RequestReader,
} from '../../core/request/model-request.ts';
import { compileRead } from '../../core/schema/validation.ts';
import { refuseForeign } from '../refusals.ts';
import { runIn } from '../session.ts';
import { bodyWithModel, checkGenerate } from './check.ts';
import { conversationOf } from './conversation.ts';
import { jsonSchemaOf } from './open-api-schema.ts';
import { plainBody } from './plain-body.ts';
import {
  type GenerateRequest,
  GenerateRequest as GenerateSchema,
  type GenerationConfig,
  KNOWN_FIELDS,
} from './request.ts';

/** The name of the dialect in `original.dialect`. */
export const GOOGLE_GEMINI = 'google-gemini';

const CONFIG = 'generationConfig';

export const GEMINI_NAMES: FieldNames = {
  ...FIELD_NAMES,
  turns: 'contents',
  toolChoice: 'toolConfig.functionCallingConfig',
  outputTokensMax: `${CONFIG}.maxOutputTokens`,
  temperature: `${CONFIG}.temperature`,
  topP: `${CONFIG}.topP`,
  frequencyPenalty: `${CONFIG}.frequencyPenalty`,
  presencePenalty: `${CONFIG}.presencePenalty`,
  choices: `${CONFIG}.candidateCount`,
  stop: `${CONFIG}.stopSequences`,
  seed: `${CONFIG}.seed`,
  logprobs: `${CONFIG}.responseLogprobs`,
  topLogprobs: `${CONFIG}.logprobs`,
  answerFormat: `${CONFIG}.responseJsonSchema`,
  reasoningEffort: `${CONFIG}.thinkingConfig`,
  dimensions: 'outputDimensionality',
  serviceTier: 'serviceTier',
};

const checked = compileRead(GenerateSchema);

/** A request of this dialect with what its answer depends on. */
export interface GeminiRead {
  readonly request: ModelRequest;
  /** Whether the caller wants to see the thoughts. */
  readonly showsThoughts: boolean;
}

/**
 * Reads the body of a request that generates content.
 * @param model of the path; undefined for a body that names its model
 * @throws SignalboxError for the field at fault
 */
export function readGenerate(
  body: unknown,
  model: string | undefined,
  headers: Headers,
  isStream: boolean,
): GeminiRead {
  if (isObject(body) && body.contents == null)
    refuseForeign(body, ['messages', 'input', 'prompt'], 'contents', '"contents": [{"parts": [{"text": "…"}]}]');
  const read = checked(plainBody(bodyWithModel(body, model)));
  checkGenerate(read);
  const reader = isStream ? STREAMED : READER;
  const request = modelRequest(read, reader, { passed: {}, run: runIn(headers, read.metadata?.session_id) });
  return { request, showsThoughts: read.generationConfig?.thinkingConfig?.includeThoughts === true };
}

const READER: RequestReader<GenerateRequest> = {
  dialect: GOOGLE_GEMINI,
  operation: 'chat',
  names: () => GEMINI_NAMES,
  model: ({ model }) => model ?? 'auto',
  isStream: () => false,
  conversation: conversationOf,
  settings: settingsOf,
  routing: (body) => ({ ...routingOf(body, body.metadata), unnamed: unnamedIn(body) }),
  extras: (body) => extrasOf(body, KNOWN_FIELDS),
  answerFormat: ({ schema }) => schema,
};

const STREAMED: RequestReader<GenerateRequest> = { ...READER, isStream: () => true };

function settingsOf({ generationConfig: config = {}, serviceTier }: GenerateRequest): ModelSettings {
  const { responseLogprobs, logprobs } = config;
  return {
    outputTokensMax: config.maxOutputTokens,
    temperature: config.temperature,
    topP: config.topP,
    frequencyPenalty: config.frequencyPenalty,
    presencePenalty: config.presencePenalty,
    choices: config.candidateCount,
    stop: config.stopSequences?.length ? config.stopSequences : undefined,
    seed: config.seed,
    logprobs: responseLogprobs,
    topLogprobs: responseLogprobs ? logprobs : undefined,
    answerFormat: formatOf(config),
    reasoningEffort: effortOf(config),
    serviceTier: tierOf(serviceTier),
  };
}

/** Returns the tier that Google names `flex`, `FLEX` or `SERVICE_TIER_FLEX`. */
function tierOf(stated: GenerateRequest['serviceTier']): string | undefined {
  const name = stated?.toLowerCase().replace(/^service_tier_/, '');
  return name === 'unspecified' ? undefined : askedTier(name);
}

function formatOf(config: GenerationConfig): AnswerFormat | undefined {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  const place = (name: string) => ({ at: [CONFIG, name], valueAt: [CONFIG, name] });
  // gemini-cli writes types of OpenAPI, such as `OBJECT`, also in `responseJsonSchema`.
  if (responseJsonSchema)
    return { type: 'json-schema', schema: jsonSchemaOf(responseJsonSchema), ...place('responseJsonSchema') };
  if (responseSchema) return { type: 'json-schema', schema: jsonSchemaOf(responseSchema), ...place('responseSchema') };
  return type === 'application/json' ? { type: 'json', ...place('responseMimeType') } : undefined;
}

/** The largest budget of each effort, tokens, as in Google's OpenAI endpoint. */
const EFFORTS = [
  [0, 'none'],
  [1_024, 'low'],
  [8_192, 'medium'],
] as const;

function effortOf({ thinkingConfig: thinking }: GenerationConfig): string | undefined {
  const { thinkingLevel: level, thinkingBudget: budget } = thinking ?? {};
  if (level !== undefined && !/unspecified/i.test(level)) return level.toLowerCase();
  // With -1, the model decides.
  if (budget === undefined || budget < 0) return undefined;
  return EFFORTS.find(([most]) => budget <= most)?.[1] ?? 'high';
}

const OF_CONFIG: ReadonlySet<string> = new Set([
  ...['maxOutputTokens', 'temperature', 'topP', 'candidateCount', 'stopSequences', 'seed', 'presencePenalty'],
  ...['frequencyPenalty', 'responseLogprobs', 'logprobs', 'responseMimeType', 'responseSchema', 'responseJsonSchema'],
  ...['responseModalities', 'thinkingConfig'],
]);
const OF_THINKING: ReadonlySet<string> = new Set(['includeThoughts', 'thinkingBudget', 'thinkingLevel']);
const OF_CALLING: ReadonlySet<string> = new Set(['functionCallingConfig']);

/** Returns the paths of members that have no neutral name, so that no model gets them. */
function unnamedIn({ generationConfig: config, toolConfig }: GenerateRequest): readonly string[] {
  if (!config && !toolConfig) return [];
  return [
    ...unnamedMembers(CONFIG, config, OF_CONFIG),
    ...unnamedMembers(`${CONFIG}.thinkingConfig`, config?.thinkingConfig, OF_THINKING),
    ...unnamedMembers('toolConfig', toolConfig, OF_CALLING),
    ...(toolConfig?.functionCallingConfig?.mode === 'VALIDATED' ? ['toolConfig.functionCallingConfig.mode'] : []),
  ];
}
