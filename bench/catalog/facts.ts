import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

/** Reasoning efforts from none to the highest. `minimal` counts as none. */
export const EFFORTS = ['none', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

const EffortText = Type.Unsafe<Effort>(Type.Union(EFFORTS.map((effort) => Type.Literal(effort))));
const Basis = Type.Union(
  ['measured', 'vendor', 'aggregator', 'derived', 'guessed'].map((basis) => Type.Literal(basis)),
);
const Day = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' });
const closed = { additionalProperties: false };

/** The origin of a fact: a key of `sources`, the day on which it was read, and its basis. */
const ORIGIN = { source: Type.String(), date: Day, basis: Basis, note: Type.Optional(Type.String()) };

const NumberFact = Type.Object({ value: Type.Number(), ...ORIGIN }, closed);

const ModelFacts = Type.Object(
  {
    /** Another model whose scores and tokens this model shares, because it has the same weights at another host. */
    like: Type.Optional(Type.String()),
    /** The vendor's default effort for requests that name no effort. Signalbox sends requests without an effort. */
    effort: Type.Optional(Type.Object({ value: EffortText, ...ORIGIN }, closed)),
    scores: Type.Optional(
      Type.Array(Type.Object({ measure: Type.String(), effort: EffortText, value: Type.Number(), date: Day }, closed)),
    ),
    /** The reasoning tokens of ordinary requests at the default effort. */
    reasoning: Type.Optional(
      Type.Array(Type.Object({ tokens: Type.Number(), what: Type.String(), ...ORIGIN }, closed)),
    ),
    /** The time to the first token of any kind, with a short prompt, in ms. */
    first_chunk_ms: Type.Optional(NumberFact),
    tokens_per_second: Type.Optional(NumberFact),
    /** The duration of whole calls that people measured at the default effort: the median in seconds. */
    calls: Type.Optional(
      Type.Array(
        Type.Object(
          { what: Type.String(), seconds: Type.Number(), task: Type.String(), answer_tokens: Type.Number(), ...ORIGIN },
          closed,
        ),
      ),
    ),
  },
  closed,
);

const Facts = Type.Object(
  {
    about: Type.Array(Type.String()),
    sources: Type.Record(Type.String(), Type.Object({ what: Type.String(), licence: Type.String() }, closed)),
    measures: Type.Record(
      Type.String(),
      Type.Object({ of: Type.String(), unit: Type.String(), source: Type.String(), basis: Basis }, closed),
    ),
    /** The amount in logits that one step of effort more was worth to a model, over several benchmarks. */
    effort_gains: Type.Array(
      Type.Object(
        {
          model: Type.String(),
          from: EffortText,
          to: EffortText,
          gain: Type.Number(),
          benchmarks: Type.Number(),
          ...ORIGIN,
        },
        closed,
      ),
    ),
    /** The reasoning tokens of a task, as a multiple of the tokens of an ordinary request. */
    reasoning_by_task: Type.Record(Type.String(), NumberFact),
    /** Ordinary requests that people sent to several models, and the mean share of good answers. `at`: `model effort`. */
    ordinary: Type.Array(
      Type.Object(
        {
          task: Type.String(),
          what: Type.String(),
          share: Type.Number(),
          requests: Type.Optional(Type.Number()),
          at: Type.Array(Type.String()),
          ...ORIGIN,
        },
        closed,
      ),
    ),
    models: Type.Record(Type.String(), ModelFacts),
  },
  closed,
);
export type Facts = Static<typeof Facts>;
export type ModelFacts = Static<typeof ModelFacts>;

export const FACTS_FILE = join(import.meta.dir, 'facts.json');

/** Reads the facts. Throws TypeError if the file does not have the required form. */
export function readFacts(text = readFileSync(FACTS_FILE, 'utf8')): Facts {
  const data: unknown = JSON.parse(text);
  if (Value.Check(Facts, data)) return data;
  const first = Value.Errors(Facts, data).First();
  throw new TypeError(`facts.json${first?.path ?? ''}: ${first?.message ?? 'not of the form'}`);
}

/** Returns a model's facts, including the facts that it shares with another model. */
export function factsOf(facts: Facts, model: string): ModelFacts {
  const own = facts.models[model];
  if (!own) throw new TypeError(`no facts of ${model}`);
  if (own.like === undefined) return own;
  const { effort, scores, reasoning } = factsOf(facts, own.like);
  return { effort, scores, reasoning, ...own };
}

/** Returns the effort with which a model answers requests that name no effort. */
export function defaultEffort(facts: Facts, model: string): Effort {
  const effort = factsOf(facts, model).effort?.value;
  if (effort === undefined) throw new TypeError(`${model} needs an effort`);
  return effort;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new TypeError('the median of nothing');
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
