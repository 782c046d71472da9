import { plainUsage } from '../../core/usage.ts';
import type { AnswerIdentity } from '../../gateway/answer-source.ts';
import { serverSentEvent } from './events.ts';
import { isFrame, readResponses } from './read-body.ts';
import { IN_PROGRESS, ResponseText, usageBody } from './response.ts';

/**
 * Answers a frame that asks for no answer: Codex announces its instructions and tools like that.
 * @returns its events; null for any other request
 * @throws SignalboxError for the field at fault
 */
export function warmUp(body: unknown, identityOf: () => Omit<AnswerIdentity, 'model'>): string | null {
  if (!isFrame(body) || body.generate !== false) return null;
  const read = readResponses(body);
  const identity = identityOf();
  const response = new ResponseText({ ...identity, model: read.model }, read);
  const end = { ...IN_PROGRESS, status: 'completed', completedAt: identity.created } as const;
  return [
    ['response.created', IN_PROGRESS] as const,
    ['response.completed', { ...end, usage: usageBody(plainUsage(0, 0)) }] as const,
  ]
    .map(([type, state], at) =>
      serverSentEvent(type, `{"type":"${type}","sequence_number":${at},"response":${response.of(state)}}`),
    )
    .join('');
}
