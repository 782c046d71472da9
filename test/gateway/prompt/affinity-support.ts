import type { ChatMessage, ChatRequest } from '../../../src/core/api/chat-request.ts';
import type { Model, PolicySnapshot } from '../../../src/core/policy/snapshot.ts';
import type { CachedTokens } from '../../../src/core/request/facts.ts';
import { Affinity } from '../../../src/gateway/prompt/affinity.ts';
import { markOfTurn } from '../../../src/gateway/prompt/answer-mark.ts';
import { facts, model, providerNamed, snapshot } from '../../routing/build.ts';
import { chatRequest } from '../../support/model-request.ts';

/** A memory of answered prompts with a fake clock. */
export const TTL_MS = 300_000;
export const TOKENS_MIN = 1_024;

export const provider = (name: string, cache = { ttlMs: TTL_MS, tokensMin: TOKENS_MIN }) =>
  providerNamed(name, { cache });

export const served = (models: readonly Model[], providers = [provider('p')]): PolicySnapshot =>
  snapshot(models, { providers: new Map(providers.map((one) => [one.name, one])) });

export const POLICY = served(['a', 'b', 'c'].map((id) => model(id, { family: id === 'c' ? 'a' : id })));
export const modelOf = (id: string, policy = POLICY): Model => policy.models[policy.modelIndex.get(id)!]!;

export type Prompt = Pick<ChatRequest, 'tools' | 'response_format' | 'messages'>;
export const LONG = facts({ inputTokens: 5_000 });
export const said = (role: ChatMessage['role'], content: string): ChatMessage => ({ role, content });
/** Returns the same conversation with one more turn. */
export const further = ({ messages, ...rest }: Prompt): Prompt => ({
  ...rest,
  messages: [...messages, ANSWER, said('user', 'And then?')],
});
export const ANSWER = said('assistant', 'An answer.');
export const markOf = (answer: ChatMessage) => markOfTurn(chatRequest({ messages: [answer] }).conversation.turns[0]!);
export const MARK = markOf(ANSWER);
export const QUESTION: Prompt = { messages: [said('system', 'Be brief.'), said('user', 'What is a gateway?')] };

export function memory(most?: number) {
  const time = { now: 1_000 };
  const affinity = new Affinity(() => time.now, most);
  const cached = (prompt: Prompt, key = 'key', policy = POLICY): readonly CachedTokens[] =>
    affinity.history(key, chatRequest(prompt)).recall(LONG, policy).cached;
  const answer = (prompt: Prompt, by: string, tokens = 2_000, key = 'key', policy = POLICY, mark = MARK): void => {
    const one = modelOf(by, policy);
    const conversation = affinity.history(key, chatRequest(prompt));
    conversation.recall(LONG, policy);
    conversation.noteAnswer(
      { model: one, endpoint: one.endpoints[0] },
      { inputTokens: tokens, expectedTokens: tokens, at: time.now },
      { mark },
      policy,
    );
  };
  return { affinity, time, cached, answer };
}
