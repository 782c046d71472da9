import type { Capability, ProviderPreset } from 'signalbox/plugin';
import type { DialectSettings } from './settings.ts';

interface Preset extends ProviderPreset {
  readonly settings: Partial<DialectSettings>;
}

/** Where only text and images go in: no sound, no file, and nothing that was uploaded before. */
const NO_FILES: readonly Capability[] = ['audio_input', 'file_input', 'file_ids'];

/** Who takes neither a bias nor an answer kept to one call. */
const NEITHER: readonly Capability[] = ['logit_bias', 'single_tool_calls'];

/** OpenAI's models, at OpenAI or Azure. */
export const OPENAI = {
  max_tokens_field: 'max_completion_tokens',
  model_rules: 'openai',
} as const satisfies Partial<DialectSettings>;

/**
 * Services that speak the dialect. Each entry names what its settings were read from; `lacks` has what the service’s
 * own types and pages leave out or refuse.
 */
export const presets: Readonly<Record<string, Preset>> = {
  // Types of @mistralai/mistralai 2.7.0. What they do not have is answered with 422 `extra_forbidden`
  // (mistralai/platform-docs-public#7, BerriAI/litellm#30835). Its streams end with the usage unasked; an answer goes on
  // from its beginning only where a `prefix` says so.
  mistral: {
    baseUrl: 'https://api.mistral.ai/v1',
    apiKeyEnv: 'MISTRAL_API_KEY',
    passthrough: ['safe_prompt', 'prompt_cache_key'],
    settings: {
      developer_role: 'system',
      unknown_members: 'left_out',
      seed_field: 'random_seed',
      tool_call_ids: 'nine_letters',
      leave_out: ['user', 'name', 'stream_options'],
      lacks: ['logit_bias', 'logprobs', 'continuation', ...NO_FILES],
    },
  },

  // Types of groq-sdk 1.6.0; console.groq.com/docs/prompt-caching. JSON beside tools: vercel/ai#16540.
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
      lacks: ['penalties', 'logit_bias', 'logprobs', 'choices', 'json_with_tools', ...NO_FILES],
    },
  },

  // api-docs.deepseek.com/guides/thinking_mode; @ai-sdk/deepseek 2.0.69. Forced calls: deepseek-ai/DeepSeek-V3#1376.
  deepseek: {
    baseUrl: 'https://api.deepseek.com/v1',
    apiKeyEnv: 'DEEPSEEK_API_KEY',
    passthrough: ['thinking'],
    settings: {
      developer_role: 'system',
      reasoning_history: 'demanded',
      leave_out: ['user'],
      lacks: ['seed', 'penalties', 'choices', 'json_schema', ...NEITHER, ...NO_FILES],
      reasoning_lacks: ['forced_tools'],
    },
  },

  // @ai-sdk/xai 3.0.138, whose chat sends no penalty, no stop and no bias; penalties: miaoxworld/NativeTavern#83.
  xai: {
    baseUrl: 'https://api.x.ai/v1',
    apiKeyEnv: 'XAI_API_KEY',
    settings: {
      max_tokens_field: 'max_completion_tokens',
      developer_role: 'system',
      leave_out: ['name'],
      lacks: ['penalties', 'logit_bias', ...NO_FILES],
      reasoning_lacks: ['stop'],
    },
  },

  // Types of @openrouter/sdk 1.3.19; openrouter.ai/docs/use-cases/reasoning-tokens.
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    apiKeyEnv: 'OPENROUTER_API_KEY',
    passthrough: ['top_k', 'min_p', 'top_a', 'repetition_penalty', 'reasoning', 'verbosity', 'session_id'],
    settings: { reasoning_history: 'reasoning_details', cache_hints: 'sent', lacks: ['file_ids'] },
  },

  // Types of together-ai 0.52.0: log probabilities are asked for, and told, in a form of its own.
  together: {
    baseUrl: 'https://api.together.xyz/v1',
    apiKeyEnv: 'TOGETHER_API_KEY',
    passthrough: ['top_k', 'min_p', 'repetition_penalty'],
    settings: {
      developer_role: 'system',
      reasoning_history: 'reasoning_content',
      leave_out: ['user'],
      lacks: ['logprobs', 'high_temperature', 'single_tool_calls', ...NO_FILES],
    },
  },

  // @ai-sdk/fireworks 2.0.90; docs.fireworks.ai/guides/reasoning.
  fireworks: {
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    apiKeyEnv: 'FIREWORKS_API_KEY',
    passthrough: ['top_k', 'min_p', 'repetition_penalty', 'reasoning_history'],
    settings: { developer_role: 'system', reasoning_history: 'reasoning_content', lacks: [...NO_FILES] },
  },

  // Types of @cerebras/cerebras_cloud_sdk 1.91.0; what they do not have is refused (QwenLM/qwen-code#11045).
  cerebras: {
    baseUrl: 'https://api.cerebras.ai/v1',
    apiKeyEnv: 'CEREBRAS_API_KEY',
    passthrough: ['reasoning_format', 'disable_reasoning', 'clear_thinking', 'prompt_cache_key'],
    settings: {
      max_tokens_field: 'max_completion_tokens',
      developer_role: 'system',
      reasoning_history: 'reasoning',
      unknown_members: 'left_out',
      lacks: [...NO_FILES],
    },
  },

  // @ai-sdk/azure 3.0.128: `https://{resource}.openai.azure.com/openai/v1`, with the models of the resource's deployments.
  'azure-openai': {
    baseUrlEnv: 'AZURE_OPENAI_BASE_URL',
    apiKeyEnv: 'AZURE_OPENAI_API_KEY',
    passthrough: ['verbosity', 'prompt_cache_key', 'safety_identifier'],
    settings: { auth: 'api-key', ...OPENAI },
  },

  // platform.kimi.ai/docs/api/chat by way of mnfst/modelparams.dev#168, promptfoo/promptfoo#10132 (usage),
  // UKGovernmentBEIS/inspect_ai#5152 (named tools). The platform fixes how its models are sampled.
  moonshotai: {
    baseUrl: 'https://api.moonshot.ai/v1',
    apiKeyEnv: 'MOONSHOT_API_KEY',
    settings: {
      max_tokens_field: 'max_completion_tokens',
      developer_role: 'system',
      reasoning_history: 'demanded',
      named_tool_choice: 'as_required',
      leave_out: ['user'],
      lacks: ['seed', 'penalties', 'choices', ...NEITHER, ...NO_FILES],
    },
  },

  // docs.z.ai/guides/capabilities/thinking-mode, docs.bigmodel.cn (chat completions), java.agentscope.io (GLM).
  zai: {
    baseUrl: 'https://api.z.ai/api/paas/v4',
    apiKeyEnv: 'ZAI_API_KEY',
    passthrough: ['thinking', 'do_sample'],
    settings: {
      developer_role: 'system',
      reasoning_history: 'reasoning_content',
      leave_out: ['user', 'name', 'stream_options'],
      lacks: [
        'seed',
        'penalties',
        'choices',
        'logprobs',
        'json_schema',
        'high_temperature',
        'forced_tools',
        ...NEITHER,
        ...NO_FILES,
      ],
    },
  },

  // ollama/ollama docs/api/openai-compatibility.mdx and openai/openai.go. Prompts beyond its context are cut unsaid:
  // set `num_ctx` in the model.
  ollama: {
    baseUrlEnv: 'OLLAMA_BASE_URL',
    allowPrivateNetwork: true,
    settings: {
      developer_role: 'system',
      reasoning_history: 'reasoning',
      leave_out: ['user'],
      lacks: ['choices', 'forced_tools', 'image_urls', ...NEITHER, ...NO_FILES],
    },
  },

  // lmstudio-ai/docs openai-compat/chat-completions.md; lmstudio-ai/lmstudio-bug-tracker#670 (tools), #189 (JSON).
  'lm-studio': {
    baseUrlEnv: 'LM_STUDIO_BASE_URL',
    allowPrivateNetwork: true,
    passthrough: ['top_k', 'repeat_penalty'],
    settings: {
      developer_role: 'system',
      named_tool_choice: 'as_required',
      leave_out: ['user'],
      lacks: ['choices', 'logprobs', 'json_mode', 'image_urls', 'single_tool_calls', ...NO_FILES],
    },
  },

  // docs.vllm.ai (OpenAI-compatible server); vllm-project/vllm#27755 (the name of reasoning).
  vllm: {
    baseUrlEnv: 'VLLM_BASE_URL',
    allowPrivateNetwork: true,
    passthrough: ['top_k', 'min_p', 'repetition_penalty'],
    settings: { developer_role: 'system', reasoning_history: 'reasoning', leave_out: ['user'], lacks: ['file_ids'] },
  },

  // ggml-org/llama.cpp tools/server/README.md and common/chat.cpp (`tool_choice` is a word).
  'llama-cpp': {
    baseUrlEnv: 'LLAMA_CPP_BASE_URL',
    allowPrivateNetwork: true,
    passthrough: ['top_k', 'min_p', 'repeat_penalty'],
    settings: {
      developer_role: 'system',
      reasoning_history: 'reasoning_content',
      named_tool_choice: 'as_required',
      leave_out: ['user'],
      lacks: ['file_input', 'file_ids'],
    },
  },
};
