import type { SourcePlace } from '../source-place.ts';

/** The units of figures in sentences. `share` is a number from 0 to 1. */
export const FIGURE_UNITS = ['credits', 'ms', 'share', 'tokens'] as const;
export type FigureUnit = (typeof FIGURE_UNITS)[number];

/** Something that a sentence names, with the text that stands for it. The text of a model or of a decision is its ID. */
export type Named =
  | { readonly kind: 'model' | 'decision'; readonly text: string }
  | { readonly kind: 'rule'; readonly text: string; readonly name: string; readonly place: SourcePlace }
  | { readonly kind: 'figure'; readonly text: string; readonly value: number; readonly unit: FigureUnit };

/** A part of a sentence: a text, or something that the sentence names. */
export type Part = string | Named;
export type Parts = readonly Part[];

/** What a sentence is about. A reader can show the sentences of some subjects first, or leave them out. */
export const SENTENCE_SUBJECTS = [
  ...([
    'outcome',
    'refusal',
    'choice',
    'candidates',
    'order',
    'runner_up',
    'constraints',
    'rejections',
    'preferences',
  ] as const),
  ...(['baseline', 'request', 'task', 'length', 'tier', 'fallbacks', 'health', 'found', 'adapted', 'cache'] as const),
  ...(['hold', 'guards', 'money', 'replay', 'warning'] as const),
] as const;
export type SentenceSubject = (typeof SENTENCE_SUBJECTS)[number];

/** A sentence about a decision. Every reader prints the same sentences: as text, or with links and with figures in its own form. */
export interface Sentence {
  readonly about: SentenceSubject;
  readonly parts: Parts;
}

type Word = string | number | Named | Parts;

const isParts = (word: Word): word is Parts => Array.isArray(word);

/** The tag of a template: ``words`${model('a')} was requested by name.` `` keeps what the sentence names as separate parts. */
export function words(texts: TemplateStringsArray, ...values: readonly Word[]): Parts {
  const parts: Part[] = [];
  const add = (part: Part) => {
    const last = parts.at(-1);
    if (typeof part !== 'string') parts.push(part);
    else if (typeof last === 'string') parts[parts.length - 1] = last + part;
    else if (part !== '') parts.push(part);
  };
  for (const [at, text] of texts.entries()) {
    add(text);
    const word = values[at] ?? '';
    if (isParts(word)) word.forEach(add);
    else add(typeof word === 'number' ? String(word) : word);
  }
  return parts;
}

export const model = (id: string): Named => ({ kind: 'model', text: id });

/** @param text the figure with its unit, as a person reads it */
export const figure = (value: number, unit: FigureUnit, text: string): Named => ({ kind: 'figure', value, unit, text });

/** A rule with its line in the policy, without the folder of the file, which readers do not need: `eu-only (rules.yaml:12)`. */
export const rule = ({ name, place }: { readonly name: string; readonly place: SourcePlace }): Named => ({
  kind: 'rule',
  text: `${name} (${shortPlace(place)})`,
  name,
  place,
});

/** Writes a location without its folder: `rules.yaml:12`. */
export const shortPlace = ({ file, line }: Pick<SourcePlace, 'file' | 'line'>): string =>
  `${file.slice(file.lastIndexOf('/') + 1)}:${line}`;

/** Joins words to a list. @param last what stands before the last word; by default the same as between the others */
export const joined = (all: readonly Word[], between = ', ', last = between): Parts =>
  all.reduce<Parts>(
    (list, word, at) => (at === 0 ? words`${word}` : words`${list}${at === all.length - 1 ? last : between}${word}`),
    [],
  );

/**
 * Joins two sentences about the same thing: `It went to b.` and `b was requested by name.` become `It went to b, which was requested by name.`
 * @returns null unless the first one ends with what the second one begins with
 */
export function joinedByWhich(first: Parts, second: Parts): Parts | null {
  const [subject, end] = first.slice(-2);
  const [same, ...rest] = second;
  if (typeof subject !== 'object' || typeof same !== 'object' || end !== '.') return null;
  return subject.kind === same.kind && subject.text === same.text ? words`${first.slice(0, -1)}, which${rest}` : null;
}

export const sentence = (about: SentenceSubject, parts: Parts): Sentence => ({ about, parts });

/** Writes the parts of a sentence as text. */
export const textOf = (parts: readonly (string | { readonly text: string })[]): string =>
  parts.map((part) => (typeof part === 'string' ? part : part.text)).join('');

/** Writes each sentence as text. */
export const textsOf = (sentences: readonly Sentence[]): string[] => sentences.map(({ parts }) => textOf(parts));
