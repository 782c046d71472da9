import { type Capability, defineProvider, type ModelTraits, type ProviderCall, Type } from 'signalbox/plugin';
import { EventReader, PassedEventReader, readReply } from './anthropic/answer.ts';
import { countRequest, MARGIN, readCount } from './anthropic/count.ts';
import { readFailure } from './anthropic/failure.ts';
import { modelList } from './anthropic/model-list.ts';
import { rulesOf } from './anthropic/models.ts';
import { OWN_DIALECT, passRequest } from './anthropic/passthrough.ts';
import { buildRequest } from './anthropic/request.ts';

/** Anthropic's Messages API, and servers that speak it. */
export const anthropic = defineProvider({
  contract: 2,
  name: 'anthropic',
  status: 'stable',
  settings: Type.Object(
    {
      prompt_cache: Type.Union([Type.Literal('auto'), Type.Literal('by_caller')], {
        default: 'auto',
        description:
          '`auto` caches prompts with tools or earlier answers; `by_caller` only those with `cache_control`.',
      }),
      threads: Type.Boolean({
        default: false,
        description:
          'Whether the service keeps histories for callers (`thread`), as Anthropic’s own does. A server that skips the field would lose them in silence.',
      }),
    },
    { additionalProperties: false, description: "Anthropic's Messages API." },
  ),
  presets: {
    anthropic: {
      baseUrl: 'https://api.anthropic.com/v1',
      apiKeyEnv: 'ANTHROPIC_API_KEY',
      passthrough: ['top_k', 'thinking', 'cache_control'],
      // The minimum is 512 to 4,096 tokens, by model.
      cache: { ttlS: 300, tokensMin: 1_024 },
    },
  },
  prepare: (settings) => {
    const request = (call: ProviderCall) =>
      call.request.original.dialect === OWN_DIALECT
        ? passRequest(call)
        : buildRequest(call, settings.prompt_cache === 'auto');
    return {
      kind: 'wire',
      dialect: 'anthropic',
      frames: 'sse',
      auth: { header: 'x-api-key', prefix: '' },
      lacks,
      // The API refuses blank ones.
      takesStops: (stops) => stops.every((stop) => stop.trim() !== ''),
      passes: () => (settings.threads ? ['anthropic_messages', 'threads'] : ['anthropic_messages']),
      request,
      reply: readReply,
      stream: (passthrough) => (passthrough ? new PassedEventReader() : new EventReader()),
      failure: readFailure,
      modelList,
      tokenCount: { request: (call) => countRequest(request(call)), reply: readCount, margin: MARGIN },
    };
  },
});

/** Capabilities that the Messages API lacks. */
const UNSUPPORTED: readonly Capability[] = [
  'json_mode',
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
  // Temperatures end at 1. Models that accept none have every temperature dropped.
  if (model.acceptsTemperature && !rules.fixedSampling) lacking.push('high_temperature');
  return lacking;
}
