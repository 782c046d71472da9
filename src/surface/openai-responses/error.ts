import { errorBody as openaiError } from '../../api/error.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { OPENAI_RESPONSES } from './reader.ts';

/** Returns the body of an error: OpenAI's, or an upstream's own words on a request that went out as it came. */
export function errorBody(error: SignalboxError): object {
  const { original } = error.info;
  return original?.dialect === OPENAI_RESPONSES ? original.body : openaiError(error);
}
