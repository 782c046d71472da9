import type { Capability, ProviderPreset } from 'signalbox/plugin';
import type { Effort } from './efforts.ts';
import type { DialectSettings } from './settings.ts';

interface Preset extends ProviderPreset {
  readonly settings: Partial<DialectSettings>;
}

/** The capabilities that a server lacks if it accepts only text and images. */
const NO_FILES: readonly Capability[] = ['audio_input', 'file_input', 'file_ids'];

/** The capabilities that a server lacks if it supports neither logit bias nor single tool calls. */
const NEITHER: readonly Capability[] = ['logit_bias', 'single_tool_calls'];

/** The capabilities that a server lacks if it also supports no seeds, penalties or several choices. */
const PLAIN: readonly Capability[] = ['seed', 'penalties', 'choices', ...NEITHER, ...NO_FILES];

/** The efforts of models that always think, at three levels. */
const DEPTHS: readonly Effort[] = ['low', 'high', 'max'];

/** The common efforts of servers that can disable thinking. */
const USUAL: readonly Effort[] = ['none', 'low', 'medium', 'high'];

/** Settings for servers whose chat templates know no developer role and accept one system message. */
const ONE_SYSTEM_MESSAGE = { developer_role: 'system', system_messages: 'first' } as const;

/** The connection to a server that the operator runs, at the address in an environment variable. */
const local = (baseUrlEnv: string) => ({ baseUrlEnv, basePath: '/v1', allowPrivateNetwork: true });

/**
 * Services that support the dialect. Each entry of `SERVICES` names the sources of its settings. `lacks` lists what the service’s own types
 * and pages omit or reject.
 */
const SERVICES: Readonly<Record<string, Preset>> = {
  // Types of @mistralai/mistralai 2.7.0. Mistral rejects unknown fields with 422 `extra_forbidden` (mistralai/platform-docs-public#7,
  // BerriAI/litellm#30835). Mistral's streams always end with usage, and Mistral continues an answer only with `prefix`. Efforts:
  // withceleste/celeste-python#311. Mistral rejects a system message after an answer: swarmauri/swarmauri-sdk#162.
  mistral: {
    baseUrl: 'https://api.mistral.ai/v1',
    apiKeyEnv: 'MISTRAL_API_KEY',
    passthrough: ['safe_prompt', 'prompt_cache_key'],
    settings: {
      ...ONE_SYSTEM_MESSAGE,
      unknown_members: 'left_out',
      seed_field: 'random_seed',
      tool_call_ids: 'nine_letters',
      efforts: ['none', 'high'],
      leave_out: ['user', 'name', 'stream_options'],
      lacks: ['logit_bias', 'logprobs', 'continuation', ...NO_FILES],
    },
  },

  // Types of groq-sdk 1.6.0; console.groq.com/docs/prompt-caching, console.groq.com/docs/service-tiers. JSON together with tools: vercel/ai#16540.
  groq: {
    baseUrl: 'https://api.groq.com/openai/v1',
    apiKeyEnv: 'GROQ_API_KEY',
    passthrough: ['reasoning_format', 'include_reasoning'],
    cache: { ttlS: 7_200, tokensMin: 1_024 },
    settings: {
      max_tokens_field: 'max_completion_tokens',
      developer_role: 'system',
      reasoning_history: 'reasoning',
      unknown_members: 'left_out',
      efforts: [...USUAL],
      service_tier: 'sent',
      lacks: ['penalties', 'logit_bias', 'logprobs', 'choices', 'json_with_tools', ...NO_FILES],
    },
  },

  // api-docs.deepseek.com/guides/fim_completion, api-docs.deepseek.com/guides/thinking_mode; @ai-sdk/deepseek 2.0.69. Forced calls: deepseek-ai/DeepSeek-V3#1376.
  deepseek: {
    baseUrl: 'https://api.deepseek.com',
    formerPath: '/v1',
    apiKeyEnv: 'DEEPSEEK_API_KEY',
    passthrough: ['thinking'],
    settings: {
      completions: 'prompt_and_suffix',
      completions_path: '/beta/completions',
      developer_role: 'system',
      reasoning_history: 'demanded',
      efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
      leave_out: ['user'],
      lacks: ['json_schema', ...PLAIN],
      reasoning_lacks: ['forced_tools'],
    },
  },

  // @ai-sdk/xai 3.0.138, whose chat sends no penalties, no stop sequences and no logit bias; penalties: miaoxworld/NativeTavern#83.
  xai: {
    baseUrl: 'https://api.x.ai/v1',
    apiKeyEnv: 'XAI_API_KEY',
    settings: {
      max_tokens_field: 'max_completion_tokens',
      developer_role: 'system',
      efforts: [...USUAL, 'xhigh'],
      leave_out: ['name'],
      lacks: ['penalties', 'logit_bias', ...NO_FILES],
      reasoning_lacks: ['stop'],
    },
  },

  // Types of @openrouter/sdk 1.3.19, which have no `n`: OpenRouter always returns one choice (OpenRouterArchived/openrouter-runner#99);
  // openrouter.ai/docs/use-cases/reasoning-tokens, openrouter.ai/docs/guides/features/service-tiers.
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    apiKeyEnv: 'OPENROUTER_API_KEY',
    passthrough: ['top_k', 'min_p', 'top_a', 'repetition_penalty', 'reasoning', 'verbosity', 'session_id'],
    settings: {
      developer_role: 'developer',
      reasoning_history: 'reasoning_details',
      cache_hints: 'sent',
      service_tier: 'sent',
      lacks: ['choices', 'file_ids'],
    },
  },

  // Types of together-ai 0.52.0. Together's token probabilities have another form.
  together: {
    baseUrl: 'https://api.together.xyz/v1',
    apiKeyEnv: 'TOGETHER_API_KEY',
    passthrough: ['top_k', 'min_p', 'repetition_penalty'],
    settings: {
      developer_role: 'system',
      reasoning_history: 'reasoning_content',
      efforts: ['low', 'medium', 'high'],
      leave_out: ['user'],
      lacks: ['logprobs', 'high_temperature', 'single_tool_calls', ...NO_FILES],
    },
  },

  // @ai-sdk/fireworks 2.0.90; docs.fireworks.ai/guides/reasoning. Efforts: theopenco/llmgateway#3350.
  // System messages: BerriAI/litellm#39852.
  fireworks: {
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    apiKeyEnv: 'FIREWORKS_API_KEY',
    passthrough: ['top_k', 'min_p', 'repetition_penalty', 'reasoning_history'],
    settings: {
      ...ONE_SYSTEM_MESSAGE,
      reasoning_history: 'reasoning_content',
      efforts: [...USUAL, 'xhigh', 'max'],
      lacks: [...NO_FILES],
    },
  },

  // Types of @cerebras/cerebras_cloud_sdk 1.91.0. Cerebras rejects other fields (QwenLM/qwen-code#11045).
  cerebras: {
    baseUrl: 'https://api.cerebras.ai/v1',
    apiKeyEnv: 'CEREBRAS_API_KEY',
    passthrough: ['reasoning_format', 'disable_reasoning', 'clear_thinking', 'prompt_cache_key'],
    settings: {
      max_tokens_field: 'max_completion_tokens',
      developer_role: 'system',
      reasoning_history: 'reasoning',
      unknown_members: 'left_out',
      efforts: [...USUAL],
      lacks: [...NO_FILES],
    },
  },

  // platform.kimi.ai/docs/api/chat as quoted in mnfst/modelparams.dev#168, promptfoo/promptfoo#10132 (usage),
  // UKGovernmentBEIS/inspect_ai#5152 (named tools), huggingface/tau#560 (efforts). Moonshot fixes the sampling of its models.
  moonshotai: {
    baseUrl: 'https://api.moonshot.ai/v1',
    apiKeyEnv: 'MOONSHOT_API_KEY',
    settings: {
      max_tokens_field: 'max_completion_tokens',
      developer_role: 'system',
      reasoning_history: 'demanded',
      named_tool_choice: 'as_required',
      efforts: [...DEPTHS],
      leave_out: ['user'],
      lacks: [...PLAIN],
    },
  },

  // docs.z.ai/guides/capabilities/thinking-mode, docs.bigmodel.cn (chat completions), java.agentscope.io (GLM). Efforts of GLM-5.3, which
  // rejects other efforts: charmbracelet/catwalk#603.
  zai: {
    baseUrl: 'https://api.z.ai/api/paas/v4',
    apiKeyEnv: 'ZAI_API_KEY',
    passthrough: ['thinking', 'do_sample'],
    settings: {
      developer_role: 'system',
      reasoning_history: 'reasoning_content',
      efforts: [...DEPTHS],
      leave_out: ['user', 'name', 'stream_options'],
      lacks: ['logprobs', 'json_schema', 'high_temperature', 'forced_tools', ...PLAIN],
    },
  },

  // ollama/ollama docs/api/openai-compatibility.mdx and openai/openai.go. Ollama truncates prompts silently, so set `num_ctx` in the model.
  // System messages: ollama/ollama#17774.
  ollama: {
    ...local('OLLAMA_BASE_URL'),
    settings: {
      server: 'ollama',
      completions: 'prompt_and_suffix',
      ...ONE_SYSTEM_MESSAGE,
      reasoning_history: 'reasoning',
      efforts: [...USUAL, 'max'],
      leave_out: ['user'],
      lacks: ['choices', 'forced_tools', 'image_urls', ...NEITHER, ...NO_FILES],
    },
  },

  // lmstudio-ai/docs openai-compat/chat-completions.md; lmstudio-ai/lmstudio-bug-tracker#670 (tools), #189 (JSON);
  // yoy123/lmstudio-copilot-provider#35 (efforts); chat templates as of llama.cpp.
  'lm-studio': {
    ...local('LM_STUDIO_BASE_URL'),
    passthrough: ['top_k', 'repeat_penalty'],
    settings: {
      server: 'lm_studio',
      completions: 'prompt',
      ...ONE_SYSTEM_MESSAGE,
      named_tool_choice: 'as_required',
      efforts: [...USUAL],
      leave_out: ['user'],
      lacks: ['choices', 'logprobs', 'json_mode', 'image_urls', 'single_tool_calls', ...NO_FILES],
    },
  },

  // docs.vllm.ai (OpenAI-compatible server); vllm-project/vllm#27755 (the member for reasoning), #41114 (system
  // messages).
  vllm: {
    ...local('VLLM_BASE_URL'),
    passthrough: ['top_k', 'min_p', 'repetition_penalty'],
    settings: {
      server: 'vllm',
      completions: 'prompt',
      ...ONE_SYSTEM_MESSAGE,
      reasoning_history: 'reasoning',
      leave_out: ['user'],
      lacks: ['file_ids'],
    },
  },

  // ggml-org/llama.cpp tools/server/README.md and common/chat.cpp (`tool_choice` is a word);
  // ggml-org/llama.cpp#27367 (system messages).
  'llama-cpp': {
    ...local('LLAMA_CPP_BASE_URL'),
    passthrough: ['top_k', 'min_p', 'repeat_penalty'],
    settings: {
      server: 'llama_cpp',
      completions: 'prompt',
      ...ONE_SYSTEM_MESSAGE,
      reasoning_history: 'reasoning_content',
      named_tool_choice: 'as_required',
      leave_out: ['user'],
      lacks: ['file_input', 'file_ids'],
    },
  },
};

/** The services with a preset accept `null` wherever OpenAI's API does; only unknown servers need an empty text. */
export const presets: Readonly<Record<string, Preset>> = Object.fromEntries(
  Object.entries(SERVICES).map(([name, preset]) => [
    name,
    { ...preset, settings: { empty_content: 'null', ...preset.settings } },
  ]),
);
