import type { ChatRequest } from '../../src/core/api/chat-request.ts';
import type { RouteRequest } from '../../src/core/api/route-query.ts';
import type { Caller } from '../../src/core/people/caller.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { readRouteRequest } from '../../src/dialects/openai-chat/reader.ts';
import * as facts from '../../src/routing/facts.ts';
import * as words from '../../src/routing/profile/influential-words.ts';
import { PromptReader } from '../../src/routing/profile/prompt-reader.ts';
import * as texts from '../../src/routing/texts.ts';
import { chatRequest } from './model-request.ts';
import * as profiles from './profile.ts';

/** Tests and prompt sets are written as OpenAI chat bodies. These functions call the routing module with them. */
export type ChatBody = Partial<ChatRequest> & Pick<ChatRequest, 'messages'>;
type Messages = ChatRequest['messages'];

/** The reader of all tests and measurements that read prompts without a server. */
export const READER = new PromptReader();

export const profile = (body: ChatBody) => profiles.profile(chatRequest(body), READER);
export const influentialWords = (body: ChatBody, task: string) =>
  words.influentialWords(chatRequest(body), task, READER);
export const questionOf = (messages: Messages) => texts.questionOf(chatRequest({ messages }).conversation.turns);
export const textsOf = (messages: Messages) => texts.textsOf(chatRequest({ messages }).conversation.turns);
export const chatFacts = (body: ChatBody, caller: Caller, snapshot: PolicySnapshot): Facts =>
  facts.chatFacts(chatRequest(body), caller, snapshot, { reader: READER });
export const routeFacts = (query: RouteRequest, caller: Caller, snapshot: PolicySnapshot): Facts =>
  facts.routeFacts(readRouteRequest(query), caller, snapshot, { reader: READER });
