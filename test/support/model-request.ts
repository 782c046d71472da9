import type { ModelRequest } from '../../src/core/model-request.ts';
import { readChatRequest } from '../../src/surface/openai-chat/reader.ts';
import type { ChatRequest } from '../../src/surface/openai-chat/request.ts';

/** A request as a caller of OpenAI's dialect sends it: a greeting to `auto`, with other fields where given. */
export const chatRequest = (body: Partial<ChatRequest> = {}): ModelRequest =>
  readChatRequest({ model: 'auto', messages: [{ role: 'user', content: 'Hello' }], ...body });
