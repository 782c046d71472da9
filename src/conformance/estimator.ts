import fc from 'fast-check';
import type {
  EstimatorCatalog,
  EstimatorMemory,
  EstimatorPlugin,
  Finding,
  PreparedEstimator,
} from '../contract/estimator.ts';
import { savedParts } from '../learning/memory.ts';
import { describeHistory, type EstimatorHistory, findingFor, histories, replay } from './estimator-history.ts';
import { isEqual, type Law, law, shortJson } from './law.ts';
import { defaultsOf, optionsFrom, pluginOptionsLaw, preparedLaws } from './schema-values.ts';
import { repeatFault } from './sealed.ts';

export interface EstimatorSubject {
  readonly plugin: EstimatorPlugin;
}

type Subject = EstimatorSubject;

const SECRET = [0x1234_5678, 0x9abc_def0] as const;

const lawOf = preparedLaws<Subject, PreparedEstimator>({
  noun: 'options',
  all: ({ plugin }) => optionsFrom(plugin.options),
  prepare: ({ plugin }, options) => plugin.prepare(options, SECRET),
});

type EstimatorLawText = Omit<Parameters<typeof lawOf<EstimatorHistory>>[0], 'cases' | 'describe'>;

/** Makes a law about estimators with any history. */
const estimatorLaw = (text: EstimatorLawText): Law<Subject> =>
  lawOf({ ...text, cases: () => histories, describe: describeHistory });

const fresh = (prepared: PreparedEstimator): EstimatorMemory => prepared.open(new Map());

/** A memory with a history, its estimator, and the estimates that each step got. */
function lived(prepared: PreparedEstimator, history: EstimatorHistory) {
  const memory = fresh(prepared);
  const estimator = memory.over(history.catalog);
  return { memory, estimator, estimated: replay(estimator, prepared, history) };
}

const isShare = (value: number): boolean => value >= 0 && value <= 1;

function findingFault({ quality, outcomes, text, counts, length, trust }: Finding): string | null {
  const at = quality.findIndex((value) => !isShare(value));
  if (at >= 0) return `the quality of model ${at} is ${quality[at]}, or was not written: a share from 0 to 1`;
  for (const [name, list] of Object.entries({ outcomes, text, counts })) {
    const wrong = list.findIndex((value) => !Number.isFinite(value));
    if (wrong >= 0) return `\`${name}\` of model ${wrong} is ${list[wrong]}, or was not written`;
  }
  if (!Number.isFinite(length)) return `\`length\` is ${length}, or was not written`;
  return isShare(trust) ? null : `\`trust\` is ${trust}, or was not written: a share from 0 to 1`;
}

/** The growth in bytes that a bounded memory is allowed. */
const GROWTH_MAX = 16_384;

const ONE: EstimatorCatalog = {
  tasks: ['general'],
  models: [{ id: 'a', quality: new Float64Array([0.5]), stated: new Uint8Array(1), general: 0.5, basis: 'guessed' }],
};
const OUTCOME = { features: null, task: 0, model: 0, declared: 0.5, weight: 1, probability: 1, among: 1 };

const someWords = (n: number): string => Array.from({ length: n }, (_, at) => `w${at}`).join(' ');

/** Laws of every estimator. */
export const ESTIMATOR_LAWS: readonly Law<Subject>[] = [
  pluginOptionsLaw<Subject>(({ plugin }, given) => plugin.prepare(given, SECRET)),
  estimatorLaw({
    name: 'fills',
    says: '`estimate` overwrites every figure that it gets, with shares from 0 to 1 and finite numbers',
    fault(prepared, history) {
      const { estimator, estimated } = lived(prepared, history);
      const wrong = estimated.find((value) => !isShare(value));
      if (wrong !== undefined) return `\`learn\` returns ${wrong}: a share from 0 to 1`;
      const [one, other] = [findingFor(estimator, prepared, history), findingFor(estimator, prepared, history, 7)];
      return findingFault(one) ?? (isEqual(one, other) ? null : 'what it finds depends on what stood there before');
    },
  }),
  estimatorLaw({
    name: 'deterministic',
    says: 'the same outcomes in the same order give the same estimates, without clock, randomness or environment',
    fault(prepared, history) {
      const once = () => {
        const { estimator, estimated } = lived(prepared, history);
        return { estimated, found: findingFor(estimator, prepared, history) };
      };
      return repeatFault(once, (first, again) => `it finds ${shortJson(first)}, and then ${shortJson(again)}`);
    },
  }),
  estimatorLaw({
    name: 'unseen',
    says: 'explaining a request changes nothing',
    fault(prepared, history) {
      const { estimator } = lived(prepared, history);
      const first = findingFor(estimator, prepared, history);
      findingFor(estimator, prepared, { ...history, text: 'another question altogether', task: 0 });
      return isEqual(first, findingFor(estimator, prepared, history)) ? null : 'asked again it finds something else';
    },
  }),
  estimatorLaw({
    name: 'names',
    says: 'learned figures belong to model names: another order of the catalog changes nothing',
    fault(prepared, history) {
      const { memory } = lived(prepared, history);
      const turned = { ...history.catalog, models: history.catalog.models.toReversed() };
      const forth = findingFor(memory.over(history.catalog), prepared, history);
      const back = findingFor(memory.over(turned), prepared, { ...history, catalog: turned });
      const [qualities, again] = [[...forth.quality], [...back.quality].reverse()];
      const at = qualities.findIndex((value, i) => Math.abs(value - again[i]!) > 1e-9);
      return at < 0
        ? null
        : `model ${history.catalog.models[at]!.id} has ${qualities[at]}, and ${again[at]} in a catalog turned about`;
    },
  }),
  estimatorLaw({
    name: 'saved',
    says: '`open` restores the state that `save(true)` returned, and so do the parts of `save(false)`',
    fault(prepared, history) {
      const memory = fresh(prepared);
      const estimator = memory.over(history.catalog);
      const stored = new Map<string, Uint8Array>();
      const keep = () => {
        for (const [name, bytes] of memory.save(false)) bytes ? stored.set(name, bytes.slice()) : stored.delete(name);
      };
      const half = Math.ceil(history.steps.length / 2);
      replay(estimator, prepared, { ...history, steps: history.steps.slice(0, half) });
      keep();
      replay(estimator, prepared, { ...history, steps: history.steps.slice(half) });
      keep();
      const found = findingFor(estimator, prepared, history);
      for (const [how, parts] of Object.entries({ 'save(true)': savedParts(memory), 'save(false)': stored })) {
        const again = findingFor(prepared.open(parts).over(history.catalog), prepared, history);
        if (!isEqual(again, found))
          return `opened from what ${how} gave it finds ${shortJson([...again.quality])}, not ${shortJson([...found.quality])}`;
      }
      return memory.save(false).size === 0
        ? null
        : '`save(false)` gives parts that have not changed since the last call';
    },
  }),
  estimatorLaw({
    name: 'forgets',
    says: '`forget()` removes everything that was learned, and `forget(id)` everything about that model',
    fault(prepared, history) {
      const { memory } = lived(prepared, history);
      memory.forget('a');
      const known = memory.over(history.catalog).known();
      const left = known.find(({ model, outcomes }) => model === 'a' && outcomes > 0);
      if (left) return `after forget('a') it still knows ${shortJson(left)}`;
      memory.forget(null);
      const [after, before] = [memory, fresh(prepared)].map((one) =>
        findingFor(one.over(history.catalog), prepared, history),
      );
      return isEqual(after, before)
        ? null
        : `after forget(null) it finds ${shortJson([...after!.quality])}, and new ${shortJson([...before!.quality])}`;
    },
  }),
  law({
    name: 'bounded',
    isOnce: true,
    says: 'its memory of questions and outcomes is bounded',
    cases: ({ plugin }) => (optionsFrom(plugin.options) ? fc.constant(defaultsOf(plugin.options) ?? {}) : null),
    fault({ plugin }, given) {
      const prepared = plugin.prepare(given, SECRET);
      const [short, long] = [prepared.read(someWords(2_000)).length, prepared.read(someWords(40_000)).length];
      if (long > 4 * Math.max(4_096, short)) return `of 2,000 words it keeps ${short} bytes, of 40,000 ${long}`;
      const memory = fresh(prepared);
      const estimator = memory.over(ONE);
      const sizeAfter = (outcomes: number): number => {
        for (let at = 0; at < outcomes; at++) estimator.learn({ ...OUTCOME, score: at % 2 });
        return [...savedParts(memory).values()].reduce((sum, part) => sum + part.length, 0);
      };
      const [few, many] = [sizeAfter(10), sizeAfter(2_000)];
      return many - few <= GROWTH_MAX
        ? null
        : `of 10 outcomes of a model its memory has ${few} bytes, of 2,010 ${many}`;
    },
    describe: (given) => `options ${shortJson(given)}`,
  }),
  law({
    name: 'strange-parts',
    says: '`open` throws on parts of another plugin or version, and loads none of them',
    cases: ({ plugin }) => (optionsFrom(plugin.options) ? fc.uint8Array({ minLength: 1, maxLength: 20 }) : null),
    fault({ plugin }, bytes) {
      const prepared = plugin.prepare(defaultsOf(plugin.options) ?? {}, SECRET);
      try {
        const memory = prepared.open(new Map([['nobody-knows-this-part', bytes]]));
        return memory.over({ tasks: ['general'], models: [] }).known().length === 0
          ? null
          : 'it knows something of them';
      } catch (cause) {
        return cause instanceof Error ? null : `it throws ${shortJson(cause)}, which is no Error`;
      }
    },
    describe: (bytes) => `a part of the bytes ${[...bytes].join(' ')}`,
  }),
];
