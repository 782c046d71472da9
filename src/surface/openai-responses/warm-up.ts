import { plainUsage } from '../../core/usage.ts';
import { serverSentEvent } from '../server-sent-events.ts';
import type { WarmUp } from '../surface.ts';
import { isFrame, readResponses } from './read-body.ts';
import { readResponsesRequest } from './reader.ts';
import { IN_PROGRESS, ResponseText, usageBody } from './response.ts';

/**
 * Reads a frame that asks for no answer: Codex announces its instructions and tools like that.
 * @returns null for any other request
 * @throws SignalboxError for the field at fault
 */
export function warmUp(body: unknown, headers: Headers): WarmUp | null {
  if (!isFrame(body) || body.generate !== false) return null;
  const read = readResponses(body);
  return {
    request: readResponsesRequest(read, headers),
    answer(identity) {
      const response = new ResponseText(identity, read);
      const end = { ...IN_PROGRESS, status: 'completed', completedAt: identity.created } as const;
      return [
        ['response.created', IN_PROGRESS] as const,
        ['response.completed', { ...end, usage: usageBody(plainUsage(0, 0)) }] as const,
      ]
        .map(([type, state], at) =>
          serverSentEvent(type, `{"type":"${type}","sequence_number":${at},"response":${response.of(state)}}`),
        )
        .join('');
    },
  };
}
