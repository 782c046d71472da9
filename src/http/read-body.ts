import { compileRead } from '../core/validation.ts';
import { checkChat, checkToolKinds } from '../surface/openai-chat/check.ts';
import { isRouteChat, RouteChat, RouteQuery, type RouteRequest } from '../surface/openai-chat/route-query.ts';

const checkedChat = compileRead(RouteChat);
const checkedQuery = compileRead(RouteQuery);

/**
 * Reads the body of a route request; with messages it is read as that of a chat.
 * @throws SignalboxError for the field at fault.
 */
export function readRoute(body: unknown): RouteRequest {
  if (!isRouteChat(body)) return checkedQuery(body);
  checkToolKinds(body);
  const chat = checkedChat(body);
  checkChat({ ...chat, model: chat.model ?? 'auto' });
  return chat;
}
