import { ChatRequest, KNOWN_FIELDS } from '../../core/api/chat-request.ts';
import { isRouteChat, RouteChat, RouteQuery, type RouteRequest } from '../../core/api/route-query.ts';
import { withFirstOfModels } from '../../core/api/routing-fields.ts';
import { checkSpelling } from '../../core/api/spelling.ts';
import { isObject } from '../../core/json/object.ts';
import { compileRead } from '../../core/schema/validation.ts';
import { checkChat, checkToolKinds } from './check.ts';
import { checkTurns } from './foreign-fields.ts';

const checkedChat = compileRead(ChatRequest, 'messages');
const checkedRouteChat = compileRead(RouteChat, 'messages');
const checkedQuery = compileRead(RouteQuery);
const STREAM_OPTIONS = ['include_usage', 'include_obfuscation'];
const ROUTE_FIELDS = Object.keys(RouteChat.properties);

/**
 * Reads the body of a chat request.
 * @throws SignalboxError for the field at fault.
 */
export function readChat(sent: unknown): ChatRequest {
  const body = withFirstOfModels(sent);
  checkNames(body, KNOWN_FIELDS);
  if (isObject(body) && body.messages == null) checkTurns(body);
  checkToolKinds(body);
  const chat = checkedChat(body);
  checkChat(chat);
  return chat;
}

function checkNames(body: unknown, known: readonly string[]): void {
  checkSpelling(body, known);
  if (isObject(body)) checkSpelling(body.stream_options, STREAM_OPTIONS, 'stream_options.');
}

/**
 * Reads the body of `POST /v1/route`. `readRoute` reads a body with messages like a chat request.
 * @throws SignalboxError for the field at fault.
 */
export function readRoute(sent: unknown): RouteRequest {
  const body = withFirstOfModels(sent);
  if (!isRouteChat(body)) return checkedQuery(body);
  checkNames(body, ROUTE_FIELDS);
  checkToolKinds(body);
  const chat = checkedRouteChat(body);
  checkChat(chat);
  return chat;
}
