import type { ModelSettings } from '../core/request/conversation.ts';
import { type ModelRequest, modelRequest, type RequestReader } from '../core/request/model-request.ts';
import { FIELD_NAMES } from './field-names.ts';

interface TextBody {
  readonly text: string;
  readonly settings: ModelSettings;
  readonly [member: string]: unknown;
}

const NO_EXTRAS = {};
const AT = ['text'] as const;

const READER: RequestReader<TextBody> = {
  dialect: 'text',
  operation: 'chat',
  names: () => FIELD_NAMES,
  model: () => 'any',
  isStream: () => false,
  conversation: ({ text }) => ({
    turns: [
      {
        role: 'user',
        parts: [{ type: 'text', text, at: AT, valueAt: AT, extras: NO_EXTRAS }],
        extras: NO_EXTRAS,
        at: AT,
      },
    ],
    tools: [],
    toolChoice: undefined,
  }),
  settings: ({ settings }) => settings,
  routing: () => ({}),
  extras: () => NO_EXTRAS,
};

/**
 * Makes a request with one user message, for tests of plugins. The dialect of the request is `text`, and its fields have OpenAI's names.
 *
 * @param text the text of the message
 * @param settings the settings of the request; default: none
 * @returns the request in neutral form
 * @example
 * ```ts
 * const call = { upstream: 'm-1', request: textRequest('Hello'), extras: {}, stream: false, outputCap: 64, model };
 * adapter.request(call);
 * ```
 */
export const textRequest = (text: string, settings: ModelSettings = {}): ModelRequest =>
  modelRequest({ text, settings }, READER);
