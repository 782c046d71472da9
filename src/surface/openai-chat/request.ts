import { ChatRequest } from '../../core/chat-request.ts';
import { compileRead } from '../../core/validation.ts';
import { screenKinds } from '../../gateway/screen.ts';

const checked = compileRead(ChatRequest);

/**
 * Reads the body of a chat request.
 * @throws SignalboxError for the field at fault.
 */
export function readChat(body: unknown): ChatRequest {
  screenKinds(body);
  return checked(body);
}
