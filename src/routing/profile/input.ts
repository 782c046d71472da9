import type { ChatRequest } from '../../core/chat-request.ts';

/** The fields of a chat request that the profile reads. */
export type ProfileInput = Pick<
  ChatRequest,
  | 'messages'
  | 'tools'
  | 'tool_choice'
  | 'parallel_tool_calls'
  | 'response_format'
  | 'n'
  | 'logprobs'
  | 'seed'
  | 'stop'
  | 'temperature'
  | 'frequency_penalty'
  | 'presence_penalty'
  | 'logit_bias'
>;
