import type { ReadOf } from '../../api/reads.ts';
import { duration, figure, percent } from '../../design/format.ts';

export type DecisionRead = ReadOf<'/admin/decisions/dec_'>;
export type Candidate = NonNullable<DecisionRead['candidates']>[number];
export type Rule = Candidate['rejections'][number]['rules'][number];

/** A part of a sentence: words, the name of a model, or a rule with its place in the policy. */
export type Piece = string | { readonly model: string } | { readonly rule: Rule };
export type Sentence = readonly Piece[];

/** What a story is told of: a recorded decision, or one that was made again. */
export interface StoryFacts
  extends Pick<DecisionRead, 'candidates' | 'constraints' | 'preferences' | 'choice_without_preferences' | 'draw'> {
  readonly choice: string | null;
  readonly route_reason: string | null;
  readonly strategy_failed: boolean | null;
  readonly facts: Pick<DecisionRead['facts'], 'pinned' | 'alias' | 'model'>;
  /** Of a decision that was made again, null unless it is a refusal; absent for a recorded one. */
  readonly refusal?: { readonly message: string } | null;
}

/** How a cost in Credits is written. */
export type WriteCost = (credits: number | null) => string;

/** Names of models that a sentence lists; the rest is counted. */
const NAMED_MAX = 5;

/**
 * Why a request went where it went, the answer first: by the outcome, the choice, the rules, and the others that were left out.
 * @param cost writes Credits as this viewer reads them
 */
export function storyOf(
  of: StoryFacts & { readonly outcome?: DecisionRead['outcome'] },
  cost: WriteCost,
): readonly Sentence[] {
  const leftOut = [...constraintSentences(of), ...otherRejections(of)];
  const isAlone = of.candidates?.filter(({ rank }) => rank !== null).length === 1;
  return [
    ...(of.outcome ? turnOf(of.outcome, of.choice) : []),
    choiceSentence(of),
    ...(ENDS[of.outcome?.status ?? ''] ?? []),
    ...(isAlone ? [...leftOut, ...comparison(of, cost)] : [...comparison(of, cost), ...leftOut]),
    ...preferenceSentences(of),
  ];
}

/** Where the first choice did not answer: the turn that the request took. */
function turnOf(
  { attempts, status, error }: NonNullable<DecisionRead['outcome']>,
  choice: string | null,
): readonly Sentence[] {
  const last = attempts.at(-1);
  const why = attempts.flatMap(({ failure }) => (failure === null ? [] : [wordsOf(failure)]));
  if (status === 'failed') {
    const reason = error === null ? '' : ` (${error})`;
    return [
      [
        `No model answered${reason}: ${attempts.length === 0 ? 'nothing was tried' : `each attempt failed, by ${listed(why)}`}.`,
      ],
    ];
  }
  if (!last || choice === null || last.model === choice) return [];
  const before = attempts.slice(0, -1).flatMap(({ failure }) => (failure === null ? [] : [wordsOf(failure)]));
  return [
    [
      'It went to ',
      { model: last.model },
      ' after ',
      { model: choice },
      `, the first choice, failed (${listed(before)}).`,
    ],
  ];
}

const wordsOf = (failure: string): string => failure.replaceAll('_', ' ');

const ENDS: Readonly<Record<string, readonly Sentence[]>> = {
  broken: [['The answer was cut off.']],
  abandoned: [['It ended before the answer was whole: the caller left, or the server stopped.']],
};

function choiceSentence({
  choice,
  facts,
  candidates,
  draw,
  strategy_failed,
  route_reason,
  refusal,
  outcome,
}: StoryFacts & {
  readonly outcome?: DecisionRead['outcome'];
}): Sentence {
  if (choice === null) return [refusal?.message ?? 'No model is left.'];
  const isOther = outcome?.attempts.at(-1)?.model !== choice && (outcome?.attempts.length ?? 0) > 0;
  const went = refusal !== undefined ? 'It would go to ' : outcome === null ? 'The recommendation was ' : 'It went to ';
  const begin = isOther || outcome?.status === 'failed' ? 'The first choice was ' : went;
  const model = { model: choice };
  if (facts.pinned) {
    const by = facts.alias === null ? 'by name' : `by the alias \`${facts.alias}\``;
    return [begin, model, `, because the request asked for it ${by}.`];
  }
  if (candidates === null) return [begin, model, ` by \`${route_reason ?? facts.model}\`.`];
  const ranked = candidates.filter(({ rank }) => rank !== null);
  if (draw && draw.best !== choice) {
    const chance = `${percent(draw.probability).short} among ${draw.among}`;
    return [
      begin,
      model,
      ` by chance, to learn about it (a chance of ${chance}); the best was `,
      { model: draw.best },
      '.',
    ];
  }
  if (ranked.length <= 1) {
    const others = candidates.length - ranked.length;
    return [
      begin,
      model,
      `, the only model left: ${counted(others, 'other')} ${others === 1 ? 'was' : 'were'} left out.`,
    ];
  }
  const way = `the best of ${ranked.length} models that could serve it, by \`${route_reason ?? facts.model}\``;
  if (strategy_failed)
    return [begin, model, `, ${way}: the strategy gave no usable score, so quality, cost and time decided.`];
  return [begin, model, `, ${way}.`];
}

/** The choice beside the next best, in what people weigh. */
function comparison({ candidates, choice, facts }: StoryFacts, cost: WriteCost): readonly Sentence[] {
  const one = candidates?.find(({ model }) => model === choice);
  if (!one || !candidates) return [];
  const own = [
    one.quality === null ? 'no stated quality' : `an expected quality of ${percent(one.counted_quality).short}`,
    `a cost of ${cost(one.cost_credits)}`,
    `${duration(one.latency_ms).short} to the end`,
  ];
  const first: Sentence = [{ model: one.model }, ` promised ${listed(own)}.`];
  const next = facts.pinned ? undefined : candidates.find(({ rank, model }) => rank !== null && model !== choice);
  if (!next) return [first];
  const parts = [
    difference(
      next.counted_quality,
      one.counted_quality,
      'better',
      'worse',
      (value) => `${percent(value).short.replace(' %', '')} points`,
    ),
    times(next.cost_credits, one.cost_credits, 'dearer', 'cheaper'),
    times(next.latency_ms, one.latency_ms, 'slower', 'faster'),
  ].filter((part) => part !== '');
  return [
    first,
    [
      'The next best, ',
      { model: next.model },
      parts.length === 0 ? ', promised the same.' : `, was expected to be ${listed(parts)}.`,
    ],
  ];
}

function difference(
  other: number,
  one: number,
  above: string,
  below: string,
  write: (value: number) => string,
): string {
  const by = other - one;
  return Math.abs(by) < 0.000_5 ? '' : `${write(Number(Math.abs(by).toPrecision(2)))} ${by > 0 ? above : below}`;
}

function times(other: number, one: number, above: string, below: string): string {
  if (other === one) return '';
  const [most, least] = [Math.max(other, one), Math.min(other, one)];
  if (least <= 0) return other > one ? above : below;
  const by = most / least;
  const word = other > one ? above : below;
  if (by < 1.01) return '';
  return by < 1.95
    ? `${figure(Math.round((by - 1) * 100)).short} % ${word}`
    : `${figure(Number(by.toPrecision(2))).short} times ${word}`;
}

function constraintSentences({ constraints, candidates }: StoryFacts): readonly Sentence[] {
  return (constraints ?? []).map((rule) => {
    const against = (candidates ?? []).filter(({ rejections }) =>
      rejections.some(({ rules }) => rules.some((one) => isSame(one, rule))),
    );
    if (against.length === 0) return ['Rule ', { rule }, ' applied and left no model out.'];
    return ['Rule ', { rule }, ' left out ', ...named(against.map(({ model }) => model)), '.'];
  });
}

function preferenceSentences({
  preferences,
  choice_without_preferences: without,
  choice,
}: StoryFacts): readonly Sentence[] {
  const sentences = (preferences ?? []).map((rule): Sentence => {
    const points = `${figure(Number((Math.abs(rule.worth) * 100).toPrecision(3))).short} points`;
    if (rule.models.length === 0) return ['Preference ', { rule }, ' applied to no model here.'];
    return [
      'Preference ',
      { rule },
      ` ${rule.worth < 0 ? 'took' : 'added'} ${points} of quality ${rule.worth < 0 ? 'from' : 'to'} `,
      ...named(rule.models),
      '.',
    ];
  });
  if (sentences.length === 0 || without === null) return sentences;
  if (without === choice) return [...sentences, ['Without preferences the choice would be the same.']];
  return [...sentences, ['Without preferences the choice would be ', { model: without }, '.']];
}

/** Those that no rule left out, by their reasons, the most first. */
function otherRejections({ candidates }: StoryFacts): readonly Sentence[] {
  const others = (candidates ?? []).filter(({ rejections }) => rejections.some(({ rules }) => rules.length === 0));
  const groups = Map.groupBy(others, ({ rejections }) =>
    rejections
      .filter(({ rules }) => rules.length === 0)
      .map(({ text }) => withoutFigures(text))
      .join('; '),
  );
  return [...groups]
    .sort(([, one], [, other]) => other.length - one.length)
    .map(([why, models]) => [
      ...named(models.map(({ model }) => model)),
      ` ${models.length === 1 ? 'was' : 'were'} left out: ${why}.`,
    ]);
}

/** A reason without the model's own figure, so that models can be grouped by it. */
const withoutFigures = (text: string): string => text.replace(/ of \d\S*(?: (?:Credits|ms|tokens|%))?/, '');

const isSame = (one: Rule, other: Rule): boolean =>
  one.name === other.name && one.file === other.file && one.line === other.line;

const counted = (count: number, noun: string): string => `${figure(count).short} ${noun}${count === 1 ? '' : 's'}`;

function named(models: readonly string[]): Sentence {
  const shown = models.length > NAMED_MAX + 1 ? models.slice(0, NAMED_MAX) : models;
  const rest = models.length - shown.length;
  const parts: readonly Piece[] = [...shown.map((model) => ({ model })), ...(rest > 0 ? [`${rest} more`] : [])];
  return parts.flatMap((part, at) => (at === 0 ? [part] : [at === parts.length - 1 ? ' and ' : ', ', part]));
}

function listed(parts: readonly string[]): string {
  if (parts.length <= 1) return parts[0] ?? 'an unknown fault';
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
