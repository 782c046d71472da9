import {
  type BuiltRequest,
  type Capability,
  type CountMargin,
  defineProvider,
  type ListedModel,
  type ModelListAdapter,
  type ProviderCall,
} from 'signalbox/plugin';
import { GeminiReader, readReply } from './gemini/answer.ts';
import { embeddings } from './gemini/embeddings.ts';
import { readFailure } from './gemini/failure.ts';
import { hasFixedSampling, isFrom } from './gemini/generation.ts';
import { buildRequest, modelPath, resourceName } from './gemini/request.ts';
import { AUTH, GeminiSettings, PUBLISHER } from './gemini/service.ts';
import { type Json, listOf, numberOf, objectOf, objectsIn, parseJson, textOf, tokensOf } from './json.ts';

/** Google's Gemini API: `generateContent` and its stream, `batchEmbedContents`, `countTokens`. */
export const gemini = defineProvider({
  contract: 2,
  name: 'gemini',
  status: 'stable',
  settings: GeminiSettings,
  presets: {
    gemini: {
      baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
      apiKeyEnv: 'GEMINI_API_KEY',
      passthrough: ['safetySettings'],
      // The cache is implicit, starts at 4,096 tokens with current models, and lasts for an undocumented time of at least minutes.
      cache: { ttlS: 300, tokensMin: 4_096 },
    },
    // @google/genai 2.32.0 with `vertexai`: `https://aiplatform.googleapis.com/v1/projects/{project}/locations/{location}`.
    'vertex-gemini': {
      baseUrlEnv: 'VERTEX_BASE_URL',
      apiKeyEnv: 'VERTEX_TOKEN',
      passthrough: ['safetySettings'],
      cache: { ttlS: 300, tokensMin: 4_096 },
      settings: { service: 'vertex' },
    },
  },
  prepare: ({ service }) => ({
    kind: 'wire',
    dialect: 'gemini',
    frames: 'sse',
    auth: AUTH[service],
    request: (call) => withPublisher(buildRequest(call), PUBLISHER[service]),
    reply: readReply,
    stream: () => new GeminiReader(),
    failure: readFailure,
    ...(service === 'gemini' && { embeddings, modelList }),
    tokenCount: {
      request: (call) => (service === 'gemini' ? countRequest(call) : vertexCountRequest(call)),
      reply: readCount,
      margin: MARGIN,
    },
    lacks: (_model, upstream) => lacks(upstream),
    // ai.google.dev/gemini-api/docs/priority-inference; the tier is `standard` if the field is left out.
    serviceTiers: service === 'gemini' ? { takes: (tier) => TIERS.has(tier) } : undefined,
    // ai.google.dev/api/generate-content#GenerationConfig
    takesStops: (stops) => stops.length <= 5,
  }),
});

const TIERS: ReadonlySet<string> = new Set(['flex', 'priority']);

/** Capabilities that no Gemini model has. The API has a field for penalties, but every model since Gemini 2.0 rejects it. */
const UNSUPPORTED: readonly Capability[] = ['logit_bias', 'penalties', 'single_tool_calls', 'file_ids'];

function lacks(upstream: string): readonly Capability[] {
  const lacking = [...UNSUPPORTED];
  if (!isFrom(upstream, 2, 5)) lacking.push('image_urls');
  // Models from Gemini 3 on return only one candidate.
  lacking.push(isFrom(upstream, 3) ? 'choices' : 'json_with_tools');
  if (hasFixedSampling(upstream)) lacking.push('continuation');
  return lacking;
}

/** Google does not say how closely its counts match the bill. */
const MARGIN: CountMargin = { tokens: 256, share: 0.05 };

/**
 * Builds `POST /models/…:countTokens` (ai.google.dev/api/tokens). Tools and the system instruction are only counted within a whole request.
 */
function countRequest(call: ProviderCall): BuiltRequest {
  const made = buildRequest(call);
  if ('kind' in made) return made;
  const model = resourceName(call.upstream);
  const body = { generateContentRequest: { model, ...objectOf(parseJson(made.body)) } };
  return { ...made, path: `/${modelPath(call.upstream)}:countTokens`, body: JSON.stringify(body) };
}

/** Adds the publisher to the path of a request. */
const withPublisher = (made: BuiltRequest, publisher: string): BuiltRequest =>
  'kind' in made ? made : { ...made, path: publisher + made.path };

/** Builds a request for a count at Vertex AI, which counts the members of a request themselves. */
function vertexCountRequest(call: ProviderCall): BuiltRequest {
  const made = buildRequest(call);
  if ('kind' in made) return made;
  const { contents, systemInstruction, tools } = objectOf(parseJson(made.body));
  const path = `${PUBLISHER.vertex}/${modelPath(call.upstream)}:countTokens`;
  return { ...made, path, body: JSON.stringify({ contents, systemInstruction, tools }) };
}

const readCount = (body: string): number | null => numberOf(objectOf(parseJson(body)).totalTokens) ?? null;

/**
 * Reads `GET /models` (ai.google.dev/api/models). The list states the limits of a model, but of its abilities only whether the model
 * thinks.
 */
const modelList: ModelListAdapter = {
  headers: {},
  path: (after) => `/models?pageSize=1000${after === null ? '' : `&pageToken=${encodeURIComponent(after)}`}`,
  read(body) {
    const { models, nextPageToken } = objectOf(parseJson(body));
    if (!Array.isArray(models)) return null;
    const named = objectsIn(models).filter(({ name }) => textOf(name).startsWith('models/'));
    return { models: named.map(readModel), next: textOf(nextPageToken) || null };
  },
};

function readModel({ name, inputTokenLimit, outputTokenLimit, supportedGenerationMethods }: Json): ListedModel {
  const methods = listOf(supportedGenerationMethods);
  return {
    id: textOf(name).slice('models/'.length),
    contextWindow: tokensOf(inputTokenLimit),
    maxOutput: tokensOf(outputTokenLimit),
    unfit: methods.includes('generateContent') ? undefined : methods.join(' and ') || 'no conversations',
  };
}
