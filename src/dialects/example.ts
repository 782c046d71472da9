import type { StreamPart } from '../contract/parts.ts';
import type { AnswerIdentity, Receipt } from '../core/decision/answer.ts';
import { platform } from '../core/decision/platform.ts';
import { parseId } from '../core/id.ts';
import { plainUsage } from '../core/money/usage.ts';
import type { AnswerRoute, EventForm } from './surface.ts';

/** The identity of the example answer in the documentation. The writers of each dialect write this answer for the documentation. */
const IDENTITY: AnswerIdentity = {
  decision: parseId('dec_', platform.decision_id)!,
  created: 1_795_161_464,
  model: platform.routed_model,
};
const RECEIPT: Receipt = { usage: plainUsage(15, 88), platform, saved: 0 };

const partsOfTexts = (texts: readonly string[]): readonly StreamPart[] => [
  ...texts.map((text) => ({ type: 'text' as const, choice: 0, text })),
  { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
];

/** Returns the example answer as one JSON body. */
export function exampleBody(json: AnswerRoute['json'], ...texts: readonly string[]): object {
  const writer = json(IDENTITY);
  return JSON.parse(writer.write(partsOfTexts(texts)) + writer.end(RECEIPT));
}

/** Returns the example answer as a stream of events. */
export function exampleStream(form: EventForm, ...texts: readonly string[]): string {
  const writer = form.writer(IDENTITY);
  return writer.write(partsOfTexts(texts)) + writer.end(RECEIPT);
}
