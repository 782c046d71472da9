import { figure } from '../../define/fields.ts';
import { plural } from '../../text/text.ts';
import { type AnswersReading, type AnswersReadings, isAbove } from './answers.ts';
import { defineAlert } from './define.ts';
import { windowMinutes } from './keys.ts';
import { lengthOf, seconds } from './words.ts';

/** The time until the first content of an answer, which 9 of 10 answers of a time window do not exceed. */
export const slowAnswers = defineAlert({
  on: 'slow_answers',
  means: 'Answers begin too late.',
  about: 'one of 10 answers that begins after more than `above_seconds`',
  often: 'at the beginning, and when the time is a fifth below `above_seconds` again',
  counts: 'answers',
  keys: {
    above_seconds: figure('an alert is sent if one of 10 answers begins after more than this number of seconds.', {
      exclusiveMinimum: 0,
      maximum: 3_600,
      default: 10,
      example: 5,
    }),
    window_minutes: windowMinutes(5),
  },
  read: ({ above_seconds: above, window_minutes: minutes }) => ({ aboveMs: above * 1_000, windowMs: minutes * 60_000 }),
  find({ aboveMs, windowMs }, { answersWithin }: AnswersReadings, found) {
    const { answers, slowMs, slowest } = answersWithin(windowMs);
    found.noteLasting(['slow'], {
      isDown: isAbove(slowMs, aboveMs, answers),
      down: `One of 10 answers in the last ${lengthOf(windowMs)} began after ${seconds(slowMs)} or later, more than ${seconds(aboveMs)}.${slowestText(slowest)}`,
      up: () => `9 of 10 answers begin within ${seconds(slowMs)} again.`,
      details: { p90_seconds: slowMs / 1_000, above_seconds: aboveMs / 1_000, answers, model: slowest?.model ?? null },
    });
  },
});

const slowestText = (slowest: AnswersReading['slowest']): string =>
  slowest
    ? ` The slowest model was ${slowest.model}, with ${slowest.answers} of the ${plural(slowest.of, 'slow answer')}.`
    : '';
