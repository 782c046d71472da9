import type { ChatRequest } from '../core/api/chat-request.ts';
import { askedTier } from '../core/money/service-tier.ts';
import type { ModelSettings } from '../core/request/conversation.ts';

/** Fields that chats and older completions have with the same meaning. */
type SharedFields = Pick<
  ChatRequest,
  'temperature' | 'top_p' | 'frequency_penalty' | 'presence_penalty' | 'n' | 'stop' | 'seed' | 'service_tier' | 'user'
>;

/** Returns the settings that requests of OpenAI's chat and of its older completions state in the same fields. */
export const sharedSettings = (body: SharedFields) =>
  ({
    temperature: body.temperature,
    topP: body.top_p,
    frequencyPenalty: body.frequency_penalty,
    presencePenalty: body.presence_penalty,
    choices: body.n,
    stop: body.stop,
    seed: body.seed,
    user: body.user,
    serviceTier: askedTier(body.service_tier),
  }) satisfies ModelSettings;
