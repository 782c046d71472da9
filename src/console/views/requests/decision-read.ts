import type { ReadOf } from '../../api/reads.ts';
import { moneyFigure } from '../../design/written.tsx';

export type DecisionRead = ReadOf<'/admin/decisions/dec_'>;
export type Candidate = NonNullable<DecisionRead['candidates']>[number];
export type Rule = Candidate['rejections'][number]['rules'][number];
export type Sentence = DecisionRead['sentences'][number];
type Part = Sentence['parts'][number];

/** The sentences about some subjects. */
export const sentencesAbout = (
  sentences: readonly Sentence[],
  ...subjects: readonly Sentence['about'][]
): readonly Sentence[] => sentences.filter(({ about }) => subjects.includes(about));

/** Writes a part of a sentence; an amount as this page writes amounts. */
export const partText = (part: Part): string =>
  part.kind === 'figure' && part.unit === 'credits' && part.usd !== null
    ? moneyFigure({ usd: part.usd, credits: part.value }).short
    : part.text;

/** Writes sentences as text, for a heading. */
export const plainText = (sentences: readonly Sentence[]): string =>
  sentences.map(({ parts }) => parts.map(partText).join('').replaceAll('`', '')).join(' ');
