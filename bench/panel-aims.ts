import { hypotheticalFacts } from '../src/admin/use-cases/policy/hypothetical.ts';
import { USUAL_TIME } from '../src/admin/use-cases/policy/reasons.ts';
import { OPERATOR } from '../src/core/people/caller.ts';
import type { Facts } from '../src/core/request/facts.ts';
import type { Runtime } from '../src/policy/runtime/runtime.ts';
import { decideAll, decideFacts, runtimeWith, type Verdict } from '../test/panel/decide.ts';
import { type Reckoned, reckonAll, SELECTORS, type Selector } from '../test/panel/judge.ts';
import { WORTHS } from '../test/panel/kinds.ts';
import type { KeySet } from '../test/panel/offers.ts';
import { type Case, paraphrases } from '../test/panel/panel.ts';
import { CLIENTS, SESSIONS, type Session, turnsOf } from '../test/routing/sessions/sessions.ts';
import { behind, bracket, cheapestAdequate, digits, drawn, type Regrets } from './panel-regret.ts';
import type { Interval } from './routing/bootstrap.ts';
import { median } from './stats.ts';

type Figure = Interval & { readonly value: number };

/** A choice of a selector next to all models that can serve the request. */
interface Chosen {
  readonly one: Case;
  readonly chosen: Reckoned;
  readonly options: readonly Reckoned[];
  readonly isWeak: boolean;
}

/** Returns the choices of a selector; requests that no model of the keys can serve are left out. */
const chosenBy = (selector: Selector, cases: readonly Case[], keys: KeySet, verdicts: readonly Verdict[]): Chosen[] =>
  cases.flatMap((one, at) => {
    const options = reckonAll(one, keys);
    const { model, faults } = verdicts[at]!.choices[selector];
    const chosen = options.find(({ id }) => id === model);
    return chosen ? [{ one, chosen, options, isWeak: faults.includes('weak') }] : [];
  });

/**
 * What `auto-cheap` pays, and the cheapest model that does each task well. Requests with a choice that is too weak are left out, because a weak
 * model is cheap.
 */
export interface CheapResult {
  /** Mean Credits of a request. */
  readonly cost: number;
  readonly adequate: number;
  readonly ratio: Figure;
  readonly weak: number;
}

export function cheapResult(cases: readonly Case[], keys: KeySet, verdicts: readonly Verdict[]): CheapResult {
  const chosen = chosenBy('auto-cheap', cases, keys, verdicts);
  const all = chosen.filter(({ isWeak }) => !isWeak);
  const paid = all.map((one) => one.chosen.credits);
  const least = all.map(({ options }) => cheapestAdequate(options)!.credits);
  const sum = (values: readonly number[], times: ArrayLike<number>) =>
    values.reduce((total, value, at) => total + value * times[at]!, 0);
  const ones = new Float64Array(all.length).fill(1);
  return {
    cost: sum(paid, ones) / all.length,
    adequate: sum(least, ones) / all.length,
    ratio: drawn(all.length, (times) => sum(paid, times) / sum(least, times)),
    weak: chosen.length - all.length,
  };
}

/** How long whole answers to usual requests (ordinary and demanding ones) take. */
export interface FastResult {
  /** The median of the choices of `auto-fast`, in seconds. */
  readonly seconds: Figure;
  /** The median of the fastest models that do each task well, in seconds. */
  readonly quickest: number;
  readonly weak: number;
}

export function fastResult(cases: readonly Case[], keys: KeySet, verdicts: readonly Verdict[]): FastResult {
  const usual = chosenBy('auto-fast', cases, keys, verdicts).filter(
    ({ one }) => WORTHS[one.worth].difficulty === 'usual',
  );
  const least = usual.map(({ options }) =>
    Math.min(...options.filter(({ lacks }) => lacks === Math.min(...options.map((o) => o.lacks))).map((o) => o.totalS)),
  );
  return {
    seconds: drawn(usual.length, (times) =>
      median(usual.flatMap(({ chosen }, at) => Array.from({ length: times[at]! }, () => chosen.totalS))),
    ),
    quickest: median(least),
    weak: usual.filter(({ isWeak }) => isWeak).length,
  };
}

/** Returns the share of the pairs of wordings with different results: of each selector's model, and of the task. */
export async function rewordingOf(keys: KeySet): Promise<Record<Selector | 'task', number>> {
  const pairs = paraphrases();
  const verdicts = await decideAll(pairs.flat(), keys);
  const share = (read: (verdict: Verdict) => unknown) =>
    pairs.filter((_, at) => read(verdicts[2 * at]!) !== read(verdicts[2 * at + 1]!)).length / pairs.length;
  const [auto, cheap, fast] = SELECTORS.map((selector) => share(({ choices }) => choices[selector].model));
  return { auto: auto!, 'auto-cheap': cheap!, 'auto-fast': fast!, task: share(({ task }) => task) };
}

/** Whether a request shows a signal of failure. */
const hasSignal = (facts: Facts): boolean => facts.stuck !== undefined || 'escalation' in facts;

/** How often the model of `auto` changes between two turns of a session. */
export interface SessionResult {
  readonly turns: number;
  /** Changes between turns of which both show a signal, or neither. */
  readonly unasked: number;
  /** Changes at the beginning or the end of a signal. */
  readonly onSignal: number;
}

export function sessionResult(runtime: Runtime, sessions: readonly Session[] = SESSIONS): SessionResult {
  let [turns, unasked, onSignal] = [0, 0, 0];
  for (const session of sessions) {
    const { body, read } = CLIENTS[session.client];
    let last: { readonly model: string | null; readonly signal: boolean } | null = null;
    for (const { steps } of turnsOf(session)) {
      const request = read(body(steps));
      const facts = hypotheticalFacts({ request, caller: OPERATOR, timeMs: Date.parse(USUAL_TIME) }, runtime);
      const now = { model: decideFacts(facts, runtime), signal: hasSignal(facts) };
      turns++;
      // A refusal is no change of model.
      if (last?.model && now.model && last.model !== now.model) {
        if (last.signal === now.signal) unasked++;
        else onSignal++;
      }
      last = now;
    }
  }
  return { turns, unasked, onSignal };
}

/** All results for a set of keys. */
export interface Result {
  readonly keys: string;
  readonly regrets: readonly Regrets[];
  readonly cheap: CheapResult;
  readonly fast: FastResult;
  readonly rewording: Record<Selector | 'task', number>;
  readonly sessions: SessionResult;
}

export async function resultOf(
  cases: readonly Case[],
  keys: KeySet,
  verdicts: readonly Verdict[],
  regrets: readonly Regrets[],
): Promise<Result> {
  return {
    keys: keys.name,
    regrets,
    cheap: cheapResult(cases, keys, verdicts),
    fast: fastResult(cases, keys, verdicts),
    rewording: await rewordingOf(keys),
    sessions: sessionResult(runtimeWith(keys)),
  };
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;

export const cheapRows = (all: readonly Result[]): string[][] => [
  ['keys', '`auto-cheap`, Credits', 'cheapest adequate, Credits', 'times', 'too weak'],
  ...all.map(({ keys, cheap: { cost, adequate, ratio, weak } }) => [
    keys,
    digits(cost),
    digits(adequate),
    `${digits(ratio.value)} ${bracket(ratio)}`,
    String(weak),
  ]),
];

export const fastRows = (all: readonly Result[]): string[][] => [
  ['keys', '`auto-fast`, s', 'quickest adequate, s', 'too weak'],
  ...all.map(({ keys, fast: { seconds, quickest, weak } }) => [
    keys,
    `${digits(seconds.value)} ${bracket(seconds)}`,
    digits(quickest),
    String(weak),
  ]),
];

/** The aims: a figure of the result, the most that it may be, and how it is written. */
const AIMS: readonly (readonly [
  aim: string,
  figure: (result: Result) => number,
  most: number,
  text: (value: number) => string,
])[] = [
  [
    '`auto`: at most 0.5 Credits more regret than the one model chosen before',
    ({ regrets: [auto] }) => -behind(auto!.one, auto!).mean,
    0.5,
    (value) => digits(value, true),
  ],
  ['`auto-cheap`: costs at most 1.2 times the cheapest adequate', ({ cheap }) => cheap.ratio.value, 1.2, digits],
  [
    '`auto-fast`: a median of at most 5 s on usual requests',
    ({ fast }) => fast.seconds.value,
    5,
    (value) => `${digits(value)} s`,
  ],
  ['`auto-fast`: no model too weak for a usual request', ({ fast }) => fast.weak, 0, String],
  ["rewording changes `auto`'s model in at most 5 %", ({ rewording }) => rewording.auto, 0.05, percent],
  ['sessions: no change of model without a signal', ({ sessions }) => sessions.unasked, 0, String],
];

/** Returns the aims, and for each set of keys whether it is met, and the figure. */
export const aimRows = (all: readonly Result[]): string[][] => [
  ['aim', ...all.map(({ keys }) => keys)],
  ...AIMS.map(([aim, figure, most, text]) => [
    aim,
    ...all.map((result) => {
      const value = figure(result);
      return `${value <= most ? 'met' : 'missed'}: ${text(value)}`;
    }),
  ]),
];
