import { compileRead } from '../../core/validation.ts';
import { checkMessages } from './check.ts';
import { MessagesRequest } from './request.ts';

const checked = compileRead(MessagesRequest);

/**
 * Reads the body of a request. Nulls stay where they are, except within `route_strategy` and `constraints`.
 * @throws SignalboxError for the field at fault.
 */
export function readMessages(body: unknown): MessagesRequest {
  const request = checked(body);
  checkMessages(request);
  return request;
}
