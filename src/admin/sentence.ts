import { basename } from 'node:path';
import { type TArray, Type } from '@sinclair/typebox';
import {
  FIGURE_UNITS,
  type Part as NamedPart,
  SENTENCE_SUBJECTS,
  type Sentence as Told,
} from '../core/decision/sentence.ts';
import { annotated, type Worth } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { shownCredits } from '../core/money/ceiling.ts';
import { limitFromCredits, type Microcredits } from '../core/money/credits.ts';

const kind = <Kind extends string>(of: Kind, description: string) => Type.Literal(of, { description });
const text = (example: string) => f.text('The part as text.', example);

const Part = Type.Union([
  Type.Object({ kind: kind('text', 'A text.'), text: text(' was requested by name: expected quality ') }),
  Type.Object({ kind: kind('model', 'A model.'), text: f.text('The ID of a model.', 'gpt-6-luna') }),
  Type.Object({
    kind: kind('decision', 'Another decision.'),
    text: f.text('The ID of a decision.', 'dec_0a4x1wm3zk0'),
  }),
  Type.Object({
    kind: kind('rule', 'A rule of the policy.'),
    text: text('eu-only (rules.yaml:12)'),
    name: f.text('The rule’s name.', 'eu-only'),
    file: f.text('The policy file that states the rule.', 'rules.yaml'),
    line: Type.Integer({ minimum: 1, description: 'The line of the rule.' }),
  }),
  Type.Object({
    kind: kind('figure', 'A number with a unit.'),
    text: text('0.46 Credits'),
    value: f.figure('The figure in its unit.', 0.46),
    unit: f.word(FIGURE_UNITS, 'The unit of the figure. `share` is a number from 0 to 1.', 'credits'),
    usd: f.textOrNull(
      'An amount in USD, an exact decimal; null for other figures, and if the value of a Credit is unknown.',
      '0.00046',
    ),
  }),
]);

const Sentence = f.named(
  'Sentence',
  'A sentence about a decision, in parts. The texts of the parts, one after the other, are the sentence.',
  {
    about: f.word(SENTENCE_SUBJECTS, 'What the sentence is about.', 'choice'),
    parts: Type.Array(Part, {
      description: 'Texts, and what the sentence names: models, decisions, rules and figures.',
    }),
  },
);

/** The sentences of an answer about a decision. */
export const sentences = (description: string) =>
  annotated<TArray<typeof Sentence>, readonly Told[]>(Type.Array(Sentence, { description }), {
    codec: { encode: (value, worth) => sentencesJson(value as readonly Told[], worth), decode: (value) => value },
  });

/** Returns an estimate in microcredits, rounded up in the last digit that people are shown. */
export const estimatedAmount = (credits: number): Microcredits =>
  credits < 0 ? -limitFromCredits(shownCredits(-credits)) : limitFromCredits(shownCredits(credits));

/** Writes sentences in the form of answers. */
const sentencesJson = (told: readonly Told[], worth: Worth) =>
  told.map(({ about, parts }) => ({ about, parts: parts.map((part) => partJson(part, worth)) }));

function partJson(part: NamedPart, worth: Worth) {
  if (typeof part === 'string') return { kind: 'text' as const, text: part };
  if (part.kind === 'figure') {
    return { ...part, usd: part.unit === 'credits' ? worth.usd(estimatedAmount(part.value)) : null };
  }
  if (part.kind !== 'rule') return part;
  const { place, ...rule } = part;
  return { ...rule, file: basename(place.file), line: place.line };
}
