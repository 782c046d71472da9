import type { ChatRequest } from '../../src/core/api/chat-request.ts';
import type { ModelRequest } from '../../src/core/request/model-request.ts';
import { readChatRequest } from '../../src/dialects/openai-chat/reader.ts';

/** A request as a client of OpenAI's dialect sends it: a greeting to `auto`, with `body` replacing its fields. */
export const chatRequest = (body: Partial<ChatRequest> = {}): ModelRequest =>
  readChatRequest({ model: 'auto', messages: [{ role: 'user', content: 'Hello' }], ...body });
