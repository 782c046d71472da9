import type { ReadOf } from '../../api/reads.ts';
import { duration, figure, listText, percent, plural } from '../../design/format.ts';

export type DecisionRead = ReadOf<'/admin/decisions/dec_'>;
export type Candidate = NonNullable<DecisionRead['candidates']>[number];
export type Rule = Candidate['rejections'][number]['rules'][number];

/** A part of a sentence: text, the name of a model, a rule with its location in the policy, or the ID of another decision. */
type Piece = string | { readonly model: string } | { readonly rule: Rule } | { readonly decision: string };
export type Sentence = readonly Piece[];

/** The facts from which a story is made: a recorded decision, or a decision that was made again. */
interface StoryFacts
  extends Pick<
    DecisionRead,
    'candidates' | 'constraints' | 'preferences' | 'choice_without_preferences' | 'choice_reason' | 'instead_of'
  > {
  readonly choice: string | null;
  readonly route_reason: string | null;
  readonly strategy_failed: boolean | null;
  readonly facts: Pick<DecisionRead['facts'], 'pinned' | 'alias' | 'model'>;
  /** For a decision that was made again: the refusal, or null if it chose a model. The member is absent for a recorded decision. */
  readonly refusal?: { readonly message: string } | null;
}

type Outcome = NonNullable<DecisionRead['outcome']>;
/** Only a recorded decision has an outcome and a status. */
type Told = StoryFacts & { readonly outcome?: Outcome | null; readonly status?: DecisionRead['status'] };

/** How a cost in Credits is written. */
type WriteCost = (credits: number | null) => string;

/** How many model names a sentence lists. The sentence counts the other models. */
const NAMED_MAX = 5;

/**
 * Explains in sentences why a request got its model. The answer comes first, then the comparison with other models, and the rules.
 * @param cost writes Credits as this viewer reads them
 */
export function storyOf(of: Told, cost: WriteCost): readonly Sentence[] {
  const leftOut = [...constraintSentences(of), ...otherRejections(of)];
  const isAlone = of.candidates?.filter(({ rank }) => rank !== null).length === 1;
  const isReasonFirst = isAlone || isFallback(of);
  const repeated = of.outcome?.repeats ?? null;
  if (repeated !== null) return [cacheSentence(of, repeated)];
  return [
    ...(of.outcome ? turnOf(of.outcome, of) : []),
    choiceSentence(of),
    ...(of.choice_reason === null ? [] : [[`${of.choice_reason}.`]]),
    ...(ENDS[of.outcome?.status ?? ''] ?? []),
    ...insteadSentence(of),
    ...(isReasonFirst ? [...leftOut, ...comparison(of, cost)] : [...comparison(of, cost), ...leftOut]),
    ...preferenceSentences(of),
  ];
}

/** A hit has no decision of its own. @param repeated the decision whose answer the cache repeated */
const cacheSentence = ({ choice }: Told, repeated: string): Sentence =>
  choice === null || choice === ''
    ? ['The cache repeated the answer to an equal request, ', { decision: repeated }, '.']
    : [
        'The cache repeated the answer that ',
        { model: choice },
        ' gave to an equal request, ',
        { decision: repeated },
        '.',
      ];

/** The model that the request names. If it cannot be served here, its name counts as an alias of its first fallback. */
const namedBy = ({ facts, instead_of: instead }: StoryFacts): string => instead?.model ?? facts.model;

/** Whether a fallback was chosen, because the model that the request names was left out. */
const isFallback = (of: StoryFacts): boolean => of.facts.pinned && of.choice !== null && of.choice !== namedBy(of);

/** Says why the model that the request names was left out, if the candidates do not say it. */
function insteadSentence({ instead_of: instead, candidates }: StoryFacts): readonly Sentence[] {
  if (instead === null || candidates?.some(({ model }) => model === instead.model)) return [];
  return [[{ model: instead.model }, ` was left out: ${instead.text}.`]];
}

/** Explains the failover if the first choice did not answer. */
function turnOf(
  { attempts, status, error }: Outcome,
  { choice, instead_of: instead }: StoryFacts,
): readonly Sentence[] {
  const failures = (of: Outcome['attempts']) =>
    listed(of.flatMap(({ failure }) => (failure === null ? [] : [failure.replaceAll('_', ' ')])));
  if (status === 'failed') {
    const reason = error === null ? '' : ` (${error})`;
    const tried = attempts.length === 0 ? 'nothing was tried' : `all attempts failed (${failures(attempts)})`;
    return [[`No model answered${reason}: ${tried}.`]];
  }
  const last = attempts.at(-1);
  if (!last || choice === null || last.model === choice) return [];
  if (instead?.model === choice) {
    return [['It went to ', { model: last.model }, ' instead of ', { model: choice }, `: ${instead.text}.`]];
  }
  const why = `, the first choice, failed (${failures(attempts.slice(0, -1))}).`;
  return [['It went to ', { model: last.model }, ' after ', { model: choice }, why]];
}

const ENDS: Readonly<Record<string, readonly Sentence[]>> = {
  broken: [['The answer is incomplete.']],
  abandoned: [['The answer is incomplete because the client disconnected or the server stopped.']],
};

function choiceSentence(of: Told): Sentence {
  const { choice, facts, candidates, route_reason, refusal, outcome, status } = of;
  if (choice === null) return [refusal?.message ?? 'No model can serve the request.'];
  const last = outcome?.attempts.at(-1);
  const isOther = (last !== undefined && last.model !== choice) || outcome?.status === 'failed';
  const recorded = status === 'recommended' ? 'The recommendation was ' : 'It went to ';
  const went = refusal !== undefined ? 'It would go to ' : recorded;
  const begin: Sentence = [isOther ? 'The first choice was ' : went, { model: choice }];
  const way = `by \`${route_reason ?? facts.model}\``;
  if (facts.pinned) {
    const named = namedBy(of);
    const by = facts.alias === null || facts.alias === named ? 'by name' : `by the alias \`${facts.alias}\``;
    if (isFallback(of)) return [...begin, ', a fallback of ', { model: named }, `, which the request named ${by}.`];
    return [...begin, `, because the request named it ${by}.`];
  }
  if (candidates === null) return [...begin, ` ${way}.`];
  const ranked = candidates.filter(({ rank }) => rank !== null).length;
  const others = candidates.length - ranked;
  if (ranked <= 1) {
    return [...begin, `, the only model left: ${plural(others, 'other')} ${others === 1 ? 'was' : 'were'} left out.`];
  }
  if (of.choice_reason !== null) return [...begin, `, ${way}.`];
  const failed = of.strategy_failed ? '. The strategy gave no usable score, so quality, cost and time decided' : '';
  return [...begin, `, the best of ${ranked} models that could serve the request, ${way}${failed}.`];
}

/** Compares the choice with the next best model in quality, cost and time. */
function comparison(
  { candidates, choice, choice_reason: reason, facts }: StoryFacts,
  cost: WriteCost,
): readonly Sentence[] {
  const one = candidates?.find(({ model }) => model === choice);
  if (!one || !candidates) return [];
  const own = [
    one.quality === null ? 'have no stated quality' : `have a quality of ${percent(one.counted_quality).short}`,
    `cost ${cost(one.cost_credits)}`,
    `finish in ${duration(one.latency_ms).short}`,
  ];
  const first: Sentence = [{ model: one.model }, ` was expected to ${listed(own)}.`];
  const next = facts.pinned ? undefined : candidates.find(({ rank, model }) => rank !== null && model !== choice);
  if (!next) return [first];
  const by = next.counted_quality - one.counted_quality;
  const points = percent(Number(Math.abs(by).toPrecision(2))).short.replace(' %', '');
  const parts = [
    Math.abs(by) < 0.000_5 ? '' : `${points} points ${by > 0 ? 'better' : 'worse'}`,
    times(next.cost_credits, one.cost_credits, 'more expensive', 'cheaper'),
    times(next.latency_ms, one.latency_ms, 'slower', 'faster'),
  ].filter((part) => part !== '');
  const than = parts.length === 0 ? ', was expected to be the same.' : `, was expected to be ${listed(parts)}.`;
  return [first, [reason === null ? 'The next best, ' : 'The next in the order, ', { model: next.model }, than]];
}

/** Compares with `one`: a share of it, such as "40 % cheaper", or from the double or half on, a number of times. */
function times(other: number, one: number, above: string, below: string): string {
  const word = other > one ? above : below;
  const [most, least] = [Math.max(other, one), Math.min(other, one)];
  if (most === least) return '';
  if (least <= 0) return word;
  const by = most / least;
  if (by < 1.01) return '';
  if (by >= 1.95) return `${figure(Number(by.toPrecision(2))).short} times ${word}`;
  return `${Math.round((Math.abs(other - one) / one) * 100)} % ${word}`;
}

function constraintSentences({ constraints, candidates }: StoryFacts): readonly Sentence[] {
  return (constraints ?? []).map((rule) => {
    const isOf = (one: Rule) => one.name === rule.name && one.file === rule.file && one.line === rule.line;
    const against = (candidates ?? []).filter(({ rejections }) => rejections.some(({ rules }) => rules.some(isOf)));
    if (against.length === 0) return ['Rule ', { rule }, ' applied and left out no model.'];
    return ['Rule ', { rule }, ' left out ', ...named(against.map(({ model }) => model)), '.'];
  });
}

function preferenceSentences({ preferences, choice_without_preferences: without, choice }: StoryFacts) {
  const sentences = (preferences ?? []).map((rule): Sentence => {
    const points = `${figure(Number((Math.abs(rule.worth) * 100).toPrecision(3))).short} points`;
    const effect = rule.worth < 0 ? ` subtracted ${points} of quality from ` : ` added ${points} of quality to `;
    if (rule.models.length === 0) return ['Preference ', { rule }, ' applied to no candidate of this request.'];
    return ['Preference ', { rule }, effect, ...named(rule.models), '.'];
  });
  if (sentences.length === 0 || without === null) return sentences;
  const same: Sentence = ['The choice would be the same without preferences.'];
  return [
    ...sentences,
    without === choice ? same : ['Without preferences, the choice would be ', { model: without }, '.'],
  ];
}

/** Models that were left out for a reason other than a rule, grouped by reason. The largest group comes first. */
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

/** Removes the model's own figure from a reason, so that models can be grouped by reason. */
const withoutFigures = (text: string): string => text.replace(/ of \d\S*(?: (?:Credits|ms|tokens|%))?/, '');

function named(models: readonly string[]): Sentence {
  const shown = models.length > NAMED_MAX + 1 ? models.slice(0, NAMED_MAX) : models;
  const rest = models.length - shown.length;
  const parts: readonly Piece[] = [...shown.map((model) => ({ model })), ...(rest > 0 ? [`${rest} more`] : [])];
  return parts.flatMap((part, at) => (at === 0 ? [part] : [at === parts.length - 1 ? ' and ' : ', ', part]));
}

const listed = (parts: readonly string[]): string => (parts.length === 0 ? 'an unknown fault' : listText(parts));
