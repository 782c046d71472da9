import { figure } from '../../define/fields.ts';
import { type AnswersReading, type AnswersReadings, isAbove } from './answers.ts';
import { defineAlert } from './define.ts';
import { windowMinutes } from './keys.ts';
import { lengthOf, percent } from './words.ts';

export const errorRate = defineAlert({
  on: 'error_rate',
  means: 'Too many requests end with an error of Signalbox or a provider.',
  about: 'a share of requests above `above` that ended with an error (5xx)',
  often: 'at the beginning, and when the share is a fifth below `above` again',
  counts: 'answers',
  keys: {
    above: figure('the share of requests that end with an error above which an alert is sent, above 0 and below 1.', {
      exclusiveMinimum: 0,
      exclusiveMaximum: 1,
      default: 0.05,
      example: 0.1,
    }),
    window_minutes: windowMinutes(5),
  },
  read: ({ above, window_minutes: minutes }) => ({ above, windowMs: minutes * 60_000 }),
  find({ above, windowMs }, { answersWithin }: AnswersReadings, found) {
    const answers = answersWithin(windowMs);
    const { requests, errors, mostFrequent } = answers;
    const share = requests === 0 ? 0 : errors / requests;
    const { code: error = null, provider = null } = mostFrequent ?? {};
    found.noteLasting(['errors'], {
      isDown: isAbove(share, above, requests),
      down: `${percent(share)} of the requests in the last ${lengthOf(windowMs)} ended with an error (${errors} of ${requests}), more than ${percent(above)}.${mostText(answers)}`,
      up: () => `Only ${percent(share)} of the requests end with an error again.`,
      details: { share, above, requests, errors, error, provider },
    });
  },
});

function mostText({ errors, mostFrequent }: AnswersReading): string {
  if (!mostFrequent) return '';
  const provider = mostFrequent.provider ? ` at provider ${mostFrequent.provider}` : '';
  return ` The most frequent error was ${mostFrequent.code}${provider} (${mostFrequent.errors} of ${errors}).`;
}
