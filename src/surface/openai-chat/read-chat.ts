import { compileRead } from '../../core/validation.ts';
import { checkChat, checkToolKinds } from './check.ts';
import { ChatRequest } from './request.ts';

const checked = compileRead(ChatRequest);

/**
 * Reads the body of a chat request.
 * @throws SignalboxError for the field at fault.
 */
export function readChat(body: unknown): ChatRequest {
  checkToolKinds(body);
  const chat = checked(body);
  checkChat(chat);
  return chat;
}
