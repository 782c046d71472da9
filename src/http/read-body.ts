import { ChatRequest } from '../core/chat-request.ts';
import { isRouteChat, RouteChat, RouteQuery, type RouteRequest } from '../core/route-query.ts';
import { checkChat, checkToolKinds } from '../surface/openai-chat/check.ts';
import { compileRead } from './validation.ts';

const checkedChat = compileRead(ChatRequest);
const checkedRouteChat = compileRead(RouteChat);
const checkedQuery = compileRead(RouteQuery);

/** The body of a chat request. Throws SignalboxError for the field at fault. */
export function readChat(body: unknown): ChatRequest {
  checkToolKinds(body);
  const chat = checkedChat(body);
  checkChat(chat);
  return chat;
}

/** The body of a route request; with messages it is read as that of a chat. Throws SignalboxError for the field at fault. */
export function readRoute(body: unknown): RouteRequest {
  if (!isRouteChat(body)) return checkedQuery(body);
  checkToolKinds(body);
  const chat = checkedRouteChat(body);
  checkChat({ ...chat, model: chat.model ?? 'auto' });
  return chat;
}
