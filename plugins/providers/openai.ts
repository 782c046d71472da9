import { defineProvider } from 'signalbox/plugin';
import { OpenAiReader, readReply } from './openai/answer.ts';
import { reasoningModelLacks } from './openai/models.ts';
import { withOriginal } from './openai/passthrough.ts';
import { formatOf } from './openai/reasoning.ts';
import { requestOf } from './openai/request.ts';
import { OpenAiSettings } from './openai/settings.ts';
import { chatCompletions } from './openai-compatible/dialect.ts';
import { PLAIN } from './openai-compatible/settings.ts';

// developers.openai.com/api/docs/guides/prompt-caching; `prompt_cache_options` in the types of openai 7.59.0.
const PASSED = ['verbosity', 'prompt_cache_key', 'safety_identifier'];

/** The settings in which OpenAI's own API differs from the servers that copied it. */
const OPENAI = {
  max_tokens_field: 'max_completion_tokens',
  developer_role: 'developer',
  empty_content: 'null',
  embeddings_as: 'base64',
  service_tier: 'always',
} as const;

/** OpenAI's models through chat completions and Responses, with the rules of reasoning models. */
export const openai = defineProvider({
  contract: 2,
  name: 'openai',
  status: 'stable',
  settings: OpenAiSettings,
  presets: {
    openai: {
      baseUrl: 'https://api.openai.com/v1',
      apiKeyEnv: 'OPENAI_API_KEY',
      passthrough: PASSED,
      cache: { ttlS: 1_800, tokensMin: 1_024 },
    },
    // @ai-sdk/azure 3.0.128: `https://{resource}.openai.azure.com/openai/v1`, with the models that the resource has deployed.
    'azure-openai': {
      baseUrlEnv: 'AZURE_OPENAI_BASE_URL',
      basePath: '/openai/v1',
      apiKeyEnv: 'AZURE_OPENAI_API_KEY',
      passthrough: PASSED,
      settings: { service: 'azure' },
    },
    // BedrockOpenAI of openai 7.59.0: `https://bedrock-mantle.{region}.api.aws/openai/v1`, with the same key as the API of other models.
    'bedrock-openai': {
      baseUrlEnv: 'BEDROCK_BASE_URL',
      basePath: '/openai/v1',
      apiKeyEnv: 'AWS_BEARER_TOKEN_BEDROCK',
      passthrough: PASSED,
      settings: { service: 'bedrock' },
    },
  },
  prepare(settings) {
    const auth = settings.service === 'azure' ? ('api-key' as const) : ('authorization' as const);
    const dialect = { ...PLAIN, ...OPENAI, auth };
    const chat = chatCompletions(dialect);
    const format = formatOf(settings);
    return {
      ...chat,
      lacks: (model, upstream) => [
        ...chat.lacks(model, upstream),
        ...(model.capabilities.includes('reasoning') ? reasoningModelLacks(upstream) : []),
      ],
      request: (call) => requestOf(call, dialect, settings),
      // Clouds list the models that a customer could use, not those of the account.
      modelList: settings.service === 'openai' ? chat.modelList : undefined,
      passes: () => ['openai_responses'],
      reply: (body, passthrough) => readReply(body, format, passthrough),
      stream: (passthrough) => new OpenAiReader(format, passthrough),
      failure: (status, headers, body, passthrough) =>
        withOriginal(chat.failure(status, headers, body), body, passthrough),
    };
  },
});
