import type { Facts } from '../core/request/facts.ts';
import type { CandidateEntry } from './certificate.ts';
import type { Certificate } from './certify.ts';

/** Returns the causes, other than the estimate, that change the quality of a model, such as `languages and preferences`; '' for none. */
export function qualityAdjustments(
  { model, languages }: CandidateEntry,
  preferences: Certificate['preferences'],
): string {
  const isPreferred = preferences.some(({ models }) => models.includes(model));
  return [...(languages.length > 0 ? ['languages'] : []), ...(isPreferred ? ['preferences'] : [])].join(' and ');
}

/** Returns a sentence that explains how the quality of a model was estimated; nothing if the quality is the declared quality. */
export function estimateText(
  candidate: CandidateEntry,
  { learning, preferences }: Certificate,
  { task, mix, difficulty }: Facts,
): string[] {
  const { model, estimate } = candidate;
  if (estimate === null || learning === null) return [];
  const { declared, length, outcomes, text, count, shadow } = estimate;
  if (length === 0 && outcomes === 0 && text === 0) return [];
  // The text shows differences of rounded sums, so that the shown figures add up.
  const sums = [declared, declared + length, declared + length + outcomes, declared + length + outcomes + text];
  const [first, second, third, last] = sums.map((sum) => Math.round(100 * sum)) as [number, number, number, number];
  const start = `declared ${share(first)} for ${mix.length > 0 ? 'its tasks' : task}`;
  const byLength = length === 0 ? [] : [`${step(first, second)} for the length of the question`];
  const of = count > 0 ? `${counted(count)} on this task` : 'outcomes on other tasks';
  const learnt = [
    ...(outcomes === 0 ? [] : [`${step(second, third)} from ${of}`]),
    ...(text === 0
      ? []
      : [`${step(third, last)} for the words of the question (trust ${Number(learning.trust.toFixed(2))})`]),
  ];
  const moved = [...(difficulty === 'usual' ? [] : ['difficulty']), qualityAdjustments(candidate, preferences)];
  const later = moved.filter((one) => one !== '').join(' and ');
  const before = later && ` before ${later}`;
  if (shadow === null) {
    return [`Quality of ${model}: ${share(last)}${before} = ${[start, ...byLength, ...learnt].join(', ')}.`];
  }
  const used = `Quality of ${model}: ${share(second)}${before} = ${[start, ...byLength].join(', ')}.`;
  if (learnt.length === 0) return [used];
  return [`${used} With learned estimates it would be ${share(last)}: ${learnt.join(', ')}.`];
}

/** Returns the model that would be chosen if learned estimates counted. The sentence about shadow estimates appears only in shadow mode. */
export function shadowText({ learning }: Certificate, { model }: CandidateEntry): string[] {
  if (learning === null || learning.choice === null) return [];
  return [
    learning.choice === model
      ? `With learned estimates, ${model} would also be chosen.`
      : `With learned estimates, ${learning.choice} would be chosen.`,
  ];
}

const share = (hundredths: number): string => (hundredths / 100).toFixed(2);

const step = (from: number, to: number): string => (to < from ? `−${share(from - to)}` : `+${share(to - from)}`);

/** Outcomes have weights, so their sum can be a fraction. */
const counted = (count: number): string => {
  const shown = count < 10 ? Math.max(0.1, Math.round(10 * count) / 10) : Math.round(count);
  return `${shown.toLocaleString('en')} ${shown === 1 ? 'outcome' : 'outcomes'}`;
};
