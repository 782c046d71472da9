import {
  type BuiltRequest,
  type Capability,
  type CountMargin,
  defineProvider,
  type ListedModel,
  type ModelListAdapter,
  type ModelTraits,
  type ProviderCall,
  writtenText,
} from 'signalbox/plugin';
import { EventReader, PassedEventReader, readReply } from './anthropic/answer.ts';
import { readFailure } from './anthropic/failure.ts';
import { rulesOf } from './anthropic/models.ts';
import { OWN_DIALECT, passRequest } from './anthropic/passthrough.ts';
import { buildRequest, FAST } from './anthropic/request.ts';
import { AnthropicSettings, type ClaudeService, serviceOf } from './anthropic/service.ts';
import { type Json, numberOf, objectOf, objectsIn, parseJson, textOf, tokensOf } from './json.ts';

const PASSED = ['top_k', 'thinking', 'cache_control'];
/** The minimum length of a cached prompt is 512 to 4,096 tokens, depending on the model. */
const CACHE = { ttlS: 300, tokensMin: 1_024 };

/** Anthropic's Messages API, and servers that implement it. */
export const anthropic = defineProvider({
  contract: 2,
  name: 'anthropic',
  status: 'stable',
  settings: AnthropicSettings,
  presets: {
    anthropic: {
      baseUrl: 'https://api.anthropic.com/v1',
      apiKeyEnv: 'ANTHROPIC_API_KEY',
      passthrough: PASSED,
      cache: CACHE,
    },
    // @anthropic-ai/foundry-sdk 1.1.1: `https://{resource}.services.ai.azure.com/anthropic`.
    'azure-anthropic': {
      baseUrlEnv: 'AZURE_ANTHROPIC_BASE_URL',
      basePath: '/anthropic/v1',
      apiKeyEnv: 'AZURE_ANTHROPIC_API_KEY',
      passthrough: PASSED,
      settings: { service: 'azure' },
    },
    // @anthropic-ai/bedrock-sdk 1.1.3, AnthropicBedrockMantle: `https://bedrock-mantle.{region}.api.aws/anthropic`.
    'bedrock-anthropic': {
      baseUrlEnv: 'BEDROCK_BASE_URL',
      basePath: '/anthropic/v1',
      apiKeyEnv: 'AWS_BEARER_TOKEN_BEDROCK',
      passthrough: PASSED,
      settings: { service: 'bedrock' },
    },
    // @anthropic-ai/vertex-sdk 1.1.3: `https://aiplatform.googleapis.com/v1/projects/{project}/locations/{location}`.
    'vertex-anthropic': {
      baseUrlEnv: 'VERTEX_BASE_URL',
      apiKeyEnv: 'VERTEX_TOKEN',
      passthrough: PASSED,
      settings: { service: 'vertex' },
    },
    // @anthropic-ai/aws-sdk 1.1.2: `https://aws-external-anthropic.{region}.api.aws`, with the header `anthropic-workspace-id`.
    'aws-anthropic': {
      baseUrlEnv: 'ANTHROPIC_AWS_BASE_URL',
      basePath: '/v1',
      apiKeyEnv: 'ANTHROPIC_AWS_API_KEY',
      passthrough: PASSED,
      cache: CACHE,
      settings: { service: 'aws' },
    },
  },
  prepare: (settings) => {
    const service = serviceOf(settings);
    const request = (call: ProviderCall) =>
      call.request.original.dialect === OWN_DIALECT
        ? passRequest(call, service)
        : buildRequest(call, service, settings.prompt_cache === 'auto');
    return {
      kind: 'wire',
      dialect: 'anthropic',
      frames: 'sse',
      auth: service.auth,
      lacks,
      // The tier of capacity that the account has bought in advance follows from the account and has no list price.
      serviceTiers: service.isWhole ? { takes: (tier) => tier === FAST } : undefined,
      // The API rejects blank stop sequences.
      takesStops: (stops) => stops.every((stop) => stop.trim() !== ''),
      passes: () => (settings.threads ? ['anthropic_messages', 'threads'] : ['anthropic_messages']),
      request,
      reply: readReply,
      stream: (passthrough) => (passthrough ? new PassedEventReader() : new EventReader()),
      failure: readFailure,
      modelList: service.isWhole ? modelListOf(service) : undefined,
      tokenCount: {
        request: (call) => countRequest(request(call), call.upstream, service),
        reply: readCount,
        margin: MARGIN,
      },
    };
  },
});

/** Capabilities that the Messages API lacks. */
const UNSUPPORTED: readonly Capability[] = [
  'audio_input',
  'choices',
  'logprobs',
  'seed',
  'penalties',
  'logit_bias',
  'file_ids',
];

function lacks(model: ModelTraits, upstream: string): readonly Capability[] {
  const rules = rulesOf(upstream);
  const lacking = [...UNSUPPORTED];
  if (!rules.jsonSchema) lacking.push('json_schema');
  if (rules.noForcedTools) lacking.push('forced_tools');
  if (rules.noForcedToolsWithThinking) lacking.push('forced_tools_with_thinking');
  if (rules.endsWithUser) lacking.push('continuation');
  // The highest temperature that the Messages API accepts is 1. For models that accept no temperature, the adapter drops every temperature.
  if (model.acceptsTemperature && !rules.fixedSampling) lacking.push('high_temperature');
  return lacking;
}

/** The fields of a message request that concern its answer. The counting endpoint accepts none of the fields that concern the answer. */
const OF_ANSWERS = [
  ...['max_tokens', 'stream', 'metadata', 'stop_sequences', 'temperature', 'top_p', 'top_k', 'speed', 'service_tier'],
] as const;

/**
 * Anthropic says that its counts are estimates which may differ from the bill by a small amount. Anthropic does not say how far its counts
 * may differ from the bill.
 */
const MARGIN: CountMargin = { tokens: 256, share: 0.05 };

/** Builds a request for a count from the request for an answer. The model is in the body at every service. */
function countRequest(made: BuiltRequest, model: string, { countPath }: ClaudeService): BuiltRequest {
  if ('kind' in made) return made;
  const body: Record<string, unknown> = { ...objectOf(parseJson(writtenText(made))), model };
  for (const field of OF_ANSWERS) delete body[field];
  return { ...made, path: countPath, body: JSON.stringify(body), pieces: undefined };
}

const readCount = (body: string): number | null => numberOf(objectOf(parseJson(body)).input_tokens) ?? null;

/**
 * Reads `GET /models`, according to the types of @anthropic-ai/sdk 1.14.0. The limits and abilities of a model are null on servers that do
 * not state them.
 */
const modelListOf = ({ headers }: ClaudeService): ModelListAdapter => ({
  headers,
  path: (after) => `/models?limit=1000${after === null ? '' : `&after_id=${encodeURIComponent(after)}`}`,
  read(body) {
    const { data, has_more, last_id } = objectOf(parseJson(body));
    if (!Array.isArray(data)) return null;
    const models = objectsIn(data).flatMap((one) => (textOf(one.id) === '' ? [] : [readModel(one)]));
    return { models, next: has_more === true ? textOf(last_id) || null : null };
  },
});

function readModel({ id, created_at, max_input_tokens, max_tokens, capabilities, lifecycle }: Json): ListedModel {
  const [released = ''] = textOf(created_at).split('T');
  return {
    id: textOf(id),
    contextWindow: tokensOf(max_input_tokens),
    maxOutput: tokensOf(max_tokens),
    capabilities: capabilities ? capabilitiesOf(objectOf(capabilities)) : undefined,
    // A date in 1970 means that the release day is unknown.
    released: released > '2000' ? released : undefined,
    unfit: lifecycle === 'retired' ? 'retired' : undefined,
  };
}

function capabilitiesOf(stated: Json): Capability[] {
  const has = (name: string) => objectOf(stated[name]).supported === true;
  // Every Claude model calls tools, although the list of models does not say so.
  const named = ABILITIES.flatMap(([name, capability]) => (has(name) ? [capability] : []));
  return ['tools', ...named];
}

const ABILITIES: readonly (readonly [string, Capability])[] = [
  ['image_input', 'vision'],
  ['structured_outputs', 'json_schema'],
  ['thinking', 'reasoning'],
  ['pdf_input', 'file_input'],
];
