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
  { preferences }: Certificate,
  { task, mix, difficulty }: Facts,
): string[] {
  const { model, estimate } = candidate;
  if (estimate === null || estimate.length === 0) return [];
  const { declared, length } = estimate;
  // The text shows the difference of rounded sums, so that the shown figures add up.
  const [first, last] = [Math.round(100 * declared), Math.round(100 * (declared + length))];
  const start = `declared ${share(first)} for ${mix.length > 0 ? 'its tasks' : task}`;
  const moved = [...(difficulty === 'usual' ? [] : ['difficulty']), qualityAdjustments(candidate, preferences)];
  const later = moved.filter((one) => one !== '').join(' and ');
  const before = later && ` before ${later}`;
  return [
    `Quality of ${model}: ${share(last)}${before} = ${start}, ${step(first, last)} for the length of the question.`,
  ];
}

const share = (hundredths: number): string => (hundredths / 100).toFixed(2);

const step = (from: number, to: number): string => (to < from ? `−${share(from - to)}` : `+${share(to - from)}`);
