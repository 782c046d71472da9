import fc from 'fast-check';
import type {
  Estimator,
  EstimatorCatalog,
  EstimatorModel,
  Finding,
  Outcome,
  PreparedEstimator,
} from '../contract/estimator.ts';
import { anyText } from './any-text.ts';

/** A request with its outcome. `model` is an ID. */
export interface PastRequest extends Pick<Outcome, 'task' | 'score' | 'weight' | 'probability' | 'among'> {
  readonly model: string;
  readonly text: string | null;
}

/** Past requests of an estimator, and the question to estimate next. */
export interface EstimatorHistory {
  readonly catalog: EstimatorCatalog;
  readonly steps: readonly PastRequest[];
  readonly task: number;
  readonly text: string | null;
}

/** The tasks of every generated catalog. */
export const TASKS = ['general', 'code', 'maths'];
const IDS = ['a', 'b', 'c', 'd'];

const share = fc.oneof(fc.constantFrom(0, 0.5, 0.9, 1), fc.double({ min: 0, max: 1, noNaN: true }));

const model = (id: string): fc.Arbitrary<EstimatorModel> =>
  fc
    .record({
      general: share,
      figures: fc.array(fc.option(share), { minLength: TASKS.length, maxLength: TASKS.length }),
      basis: fc.constantFrom('measured' as const, 'guessed' as const, 'unknown' as const),
    })
    .map(({ general, figures, basis }) => ({
      id,
      general,
      basis,
      quality: Float64Array.from(figures, (figure) => figure ?? general),
      stated: Uint8Array.from(figures, (figure) => (figure === null ? 0 : 1)),
    }));

const catalogs: fc.Arbitrary<EstimatorCatalog> = fc
  .integer({ min: 2, max: IDS.length })
  .chain((n) => fc.tuple(...IDS.slice(0, n).map(model)))
  .map((models) => ({ tasks: TASKS, models }));

const question = fc.oneof(
  fc
    .array(fc.constantFrom('poem', 'integral', 'Why', '?', '12', '\n', 'function', 'ż'), { maxLength: 9 })
    .map((words) => words.join(' ')),
  anyText(40),
);

/** Arbitrary past requests with the given questions. */
export const pastRequests = (questions: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<PastRequest[]> =>
  fc.array(
    fc.record({
      // These models are in every catalog.
      model: fc.constantFrom('a', 'b'),
      task: fc.nat(TASKS.length - 1),
      text: fc.option(questions),
      score: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
      weight: fc.oneof(fc.constant(1), fc.double({ min: 0.01, max: 1, noNaN: true })),
      probability: fc.oneof(fc.constant(1), fc.double({ min: 0.001, max: 1, noNaN: true })),
      among: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength },
  );

export const histories: fc.Arbitrary<EstimatorHistory> = fc.record({
  catalog: catalogs,
  steps: pastRequests(question, 10),
  task: fc.nat(TASKS.length - 1),
  text: fc.option(question),
});

/** A buffer for findings, with leftovers of an earlier request. */
function usedFinding({ models }: EstimatorCatalog, left: number): Finding {
  const figures = () => new Float32Array(models.length).fill(left);
  const quality = new Float64Array(models.length).fill(left);
  return { quality, outcomes: figures(), text: figures(), counts: figures(), length: left, trust: left };
}

/** The declared qualities of the models for a task. */
export const declaredQualities = ({ models }: EstimatorCatalog, task: number): Float64Array =>
  Float64Array.from(models, ({ quality }) => quality[task]!);

type FeatureReader = Pick<PreparedEstimator, 'read'>;

/** The finding for the question of a history, without counting it as a request. */
export function findingFor(
  estimator: Estimator,
  reader: FeatureReader,
  { catalog, task, text }: EstimatorHistory,
  left = Number.NaN,
): Finding {
  const into = usedFinding(catalog, left);
  const features = text === null ? null : reader.read(text);
  estimator.estimate({ features, task, declared: declaredQualities(catalog, task) }, into, false);
  return into;
}

/**
 * Applies a history to an estimator.
 * @returns its estimate before each outcome
 */
export function replay(
  estimator: Estimator,
  reader: FeatureReader,
  { catalog, steps }: Pick<EstimatorHistory, 'catalog' | 'steps'>,
): number[] {
  const into = usedFinding(catalog, 0);
  return steps.map(({ model: id, text, ...rest }) => {
    const features = text === null ? null : reader.read(text);
    const at = catalog.models.findIndex((one) => one.id === id);
    estimator.estimate({ features, task: rest.task, declared: declaredQualities(catalog, rest.task) }, into, true);
    return estimator.learn({ ...rest, model: at, features, declared: catalog.models[at]!.quality[rest.task]! });
  });
}

export function describeHistory({ catalog, steps, task, text }: EstimatorHistory): string {
  const models = catalog.models.map(({ id, quality }) => `${id} (declared ${[...quality].join(', ')})`).join(', ');
  const lived = steps.map(
    ({ model: id, task: of, score, weight }) => `${id} scores ${score} in ${TASKS[of]}, weight ${weight}`,
  );
  const asked = `asked ${text === null ? 'without text' : JSON.stringify(text)} in ${TASKS[task]}`;
  return `models ${models}; ${lived.length > 0 ? `${lived.join('; ')}; ` : ''}${asked}`;
}
