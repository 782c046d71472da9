import { withFirstOfModels } from '../../core/api/routing-fields.ts';
import { checkSpelling } from '../../core/api/spelling.ts';
import { isObject } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { keepSource } from '../../core/json/source.ts';
import { compileRead } from '../../core/schema/validation.ts';
import { refuseForeign } from '../refusals.ts';
import { checkResponses } from './check.ts';
import { KNOWN_FIELDS, ResponsesRequest } from './request.ts';

const checked = compileRead(ResponsesRequest, 'input');

/**
 * Reads the body of a Responses request.
 * @throws SignalboxError for the field at fault.
 */
export function readResponses(sent: unknown): ResponsesRequest {
  const body = withFirstOfModels(sent);
  checkSpelling(body, KNOWN_FIELDS);
  checkInput(body);
  const request = checked(isFrame(body) ? keepSource(body, ofFrame(body)) : body);
  checkResponses(request);
  return request;
}

/** Returns whether a body arrived as a WebSocket frame, which has a type and always streams. */
export const isFrame = (body: unknown): body is Members => isObject(body) && body.type === 'response.create';

const ofFrame = ({ type: _, generate: __, ...body }: Members): Members => ({ ...body, stream: true });

/** The fields that contain the conversation in other APIs. */
const TURNS = ['messages', 'prompt', 'contents'] as const;

function checkInput(body: unknown): void {
  if (!isObject(body) || body.input != null) return;
  // With `previous_response_id` or `conversation` the client relies on stored responses, which a later check reports.
  if (body.previous_response_id != null || body.conversation != null) return;
  refuseForeign(body, TURNS, 'input', '"input": "…", or use /v1/chat/completions');
}
