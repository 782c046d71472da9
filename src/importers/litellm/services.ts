/** A provider of LiteLLM that Signalbox can reach. */
export interface LitellmService {
  /** The preset of the adapter; without one the policy names the adapter alone. */
  readonly preset?: string;
  /** The variable of LiteLLM's key, if one is needed. */
  readonly keyEnv?: string;
  /** The variable of the key if the policy states none. */
  readonly presetKeyEnv?: string;
  /** Whether it is the operator's own server, which needs an address and may be private. */
  readonly isOwn?: boolean;
  /** The default address. */
  readonly baseUrl?: string;
  /** The variable of LiteLLM's address. */
  readonly baseEnv?: string;
}

const hosted = (preset: string, keyEnv: string, presetKeyEnv = keyEnv): LitellmService => ({
  preset,
  keyEnv,
  presetKeyEnv,
});
const own = (preset?: string, baseEnv?: string, baseUrl?: string): LitellmService => ({
  preset,
  isOwn: true,
  baseUrl,
  baseEnv,
});

const OLLAMA = own('ollama', 'OLLAMA_API_BASE', 'http://localhost:11434/v1');

/** By the prefix of `litellm_params.model` before the first `/`. */
export const SERVICES: ReadonlyMap<string, LitellmService> = new Map<string, LitellmService>([
  ['openai', hosted('openai', 'OPENAI_API_KEY')],
  ['azure', { ...hosted('azure-openai', 'AZURE_API_KEY', 'AZURE_OPENAI_API_KEY'), baseEnv: 'AZURE_API_BASE' }],
  ['anthropic', hosted('anthropic', 'ANTHROPIC_API_KEY')],
  ['gemini', hosted('gemini', 'GEMINI_API_KEY')],
  ['mistral', hosted('mistral', 'MISTRAL_API_KEY')],
  ['groq', hosted('groq', 'GROQ_API_KEY')],
  ['deepseek', hosted('deepseek', 'DEEPSEEK_API_KEY')],
  ['xai', hosted('xai', 'XAI_API_KEY')],
  ['together_ai', hosted('together', 'TOGETHERAI_API_KEY', 'TOGETHER_API_KEY')],
  ['fireworks_ai', hosted('fireworks', 'FIREWORKS_AI_API_KEY', 'FIREWORKS_API_KEY')],
  ['openrouter', hosted('openrouter', 'OPENROUTER_API_KEY')],
  ['cerebras', hosted('cerebras', 'CEREBRAS_API_KEY')],
  ['moonshot', hosted('moonshotai', 'MOONSHOT_API_KEY')],
  ['zai', hosted('zai', 'ZAI_API_KEY')],
  ['ollama', OLLAMA],
  ['ollama_chat', OLLAMA],
  ['hosted_vllm', own('vllm', 'HOSTED_VLLM_API_BASE')],
  ['lm_studio', own('lm-studio', 'LM_STUDIO_API_BASE')],
  ['llamafile', own('llama-cpp', 'LLAMAFILE_API_BASE', 'http://127.0.0.1:8080/v1')],
  ['openai_like', own()],
  ['custom_openai', own()],
  ['litellm_proxy', own(undefined, 'LITELLM_PROXY_API_BASE')],
  // OpenAI-compatible services at known addresses, without presets.
  ['perplexity', { baseUrl: 'https://api.perplexity.ai', keyEnv: 'PERPLEXITYAI_API_KEY' }],
  ['deepinfra', { baseUrl: 'https://api.deepinfra.com/v1/openai', keyEnv: 'DEEPINFRA_API_KEY' }],
  ['nvidia_nim', { baseUrl: 'https://integrate.api.nvidia.com/v1', keyEnv: 'NVIDIA_NIM_API_KEY' }],
  ['sambanova', { baseUrl: 'https://api.sambanova.ai/v1', keyEnv: 'SAMBANOVA_API_KEY' }],
]);

const ELSEWHERE =
  'there is no adapter for it; if it has an OpenAI-compatible address, write a provider with `adapter: openai-compatible`';
const AMAZON =
  'no adapter signs requests for AWS; Bedrock serves some models at an OpenAI-compatible address with API keys: write a provider with `adapter: openai-compatible`, and the price at the model';

/** LiteLLM's providers without an adapter here, with an alternative. */
export const WITHOUT_ADAPTER: ReadonlyMap<string, string> = new Map([
  ['bedrock', AMAZON],
  ['bedrock_converse', AMAZON],
  ['sagemaker', AMAZON],
  ['sagemaker_chat', AMAZON],
  [
    'vertex_ai',
    'no adapter signs in with Google’s service accounts; use the preset `gemini` with an API key for Gemini models, and `anthropic` for Claude',
  ],
  ['langfuse', 'Signalbox fetches no stored prompts: callers send the prompt'],
  ...[
    ...['azure_ai', 'cohere', 'cohere_chat', 'huggingface', 'replicate', 'watsonx', 'databricks', 'ai21', 'cloudflare'],
    ...['nlp_cloud', 'petals', 'predibase', 'palm', 'aleph_alpha', 'baseten', 'triton', 'oobabooga', 'vllm', 'voyage'],
    ...['text-completion-openai', 'azure_text', 'codestral', 'jina_ai', 'snowflake', 'github', 'github_copilot', 'oci'],
    ...['dashscope', 'volcengine', 'clarifai', 'maritalk', 'friendliai', 'galadriel', 'novita', 'nebius', 'meta_llama'],
    ...['hyperbolic', 'featherless_ai', 'lambda_ai', 'xinference', 'empower', 'anyscale'],
    ...['docker_model_runner', 'gradient_ai'],
  ].map((name) => [name, ELSEWHERE] as const),
]);

/** Model names that LiteLLM knows without a provider prefix. */
const KNOWN_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^(?:gpt-|chatgpt-|o\d)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'vertex_ai'],
  [/^mistral-|^open-mi|^codestral/, 'mistral'],
  [/^deepseek-/, 'deepseek'],
  [/^command/, 'cohere_chat'],
];

/** The provider of a model name without a prefix; null if LiteLLM would not know it either. */
export const providerOfName = (name: string): string | null =>
  KNOWN_NAMES.find(([form]) => form.test(name))?.[1] ?? null;

/** Models whose name alone excludes them from chat: LiteLLM needs no `mode` for them. */
const OTHER_MODES: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:text-(?:multilingual-)?embedding-|gemini-embedding-|(?:nomic-|mxbai-)?embed-|(?:mistral|codestral)-embed\b|bge-|voyage-)/,
    'embedding',
  ],
  [/^(?:whisper-|gpt-4o(?:-mini)?-transcribe\b)/, 'audio_transcription'],
  [/^(?:tts-1|gpt-4o-mini-tts\b)/, 'audio_speech'],
  [/^(?:dall-e-|gpt-image-|imagen-)/, 'image_generation'],
  [/^(?:omni|text)-moderation-/, 'moderation'],
  [/^rerank-/, 'rerank'],
];

/** The mode that a name implies; null if it may be chat. */
export const modeOfName = (bare: string): string | null => OTHER_MODES.find(([form]) => form.test(bare))?.[1] ?? null;

/** A model name without provider and date, which is equal for all deployments of a model. */
export function bareName(name: string): string {
  const last = name.slice(name.lastIndexOf('/') + 1);
  return last.toLowerCase().replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$/, '');
}

/** Whether a model reasons before it answers, and rejects a temperature. */
export const isReasoner = (bare: string): boolean => /^(?:o[1-9](?:-|$)|gpt-[5-9])/.test(bare);

/** The capabilities to assume if neither the configuration nor the catalog states any. */
export const usualCapabilities = (provider: string): readonly string[] =>
  ['openai', 'azure', 'anthropic', 'gemini'].includes(provider) ? ['tools', 'vision', 'json_schema'] : ['tools'];
