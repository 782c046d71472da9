import type { FieldNames } from '../core/request/model-request.ts';

/** Field names that most dialects share. A dialect that has other field names defines its own `FieldNames`. */
export const FIELD_NAMES: FieldNames = {
  turns: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  agentWallet: 'agent_wallet',
  budgetCredits: 'budget_limit',
  outputTokensMax: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  choices: 'n',
  stop: 'stop',
  seed: 'seed',
  logprobs: 'logprobs',
  topLogprobs: 'top_logprobs',
  logitBias: 'logit_bias',
  answerFormat: 'response_format',
  reasoningEffort: 'reasoning_effort',
  parallelToolCalls: 'parallel_tool_calls',
  user: 'user',
  serviceTier: 'service_tier',
  dimensions: 'dimensions',
};

/** Field names in requests for embeddings. */
export const EMBEDDING_NAMES: FieldNames = { ...FIELD_NAMES, turns: 'input' };
