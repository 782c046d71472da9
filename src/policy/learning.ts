import { Value } from '@sinclair/typebox/value';
import type { EstimatorPlugin } from '../contract/estimator.ts';
import type { LearningPolicy } from '../core/learning-policy.ts';
import { camelKeys } from './camel-keys.ts';
import { checkValue, optionsOf, type Subject, validPartsOf } from './check.ts';
import type { Report } from './report.ts';
import { LearningText } from './schema-learning.ts';
import { RecordsText } from './schema-records.ts';
import { type CheckContext, emptyMap, sectionSubject } from './sections.ts';
import { entryOf, placeAt, type Tree, valueAt } from './tree.ts';

const DAY_MS = 86_400_000;

/** The section `learning`, before its estimator checks the options. */
export type LearningDraft = ReturnType<typeof draftLearning>;

export function draftLearning(context: CheckContext) {
  const { report } = context;
  const stated = sectionSubject('learning', context);
  const subject = { ...stated, tree: withoutOff(stated.tree) };
  const { tree, place } = subject;
  const text = checkValue(LearningText, subject, report);
  const parts = text ?? validPartsOf(LearningText, tree);
  const daysMax = validPartsOf(RecordsText, sectionSubject('records', context).tree).retention_days;
  const days = parts.feedback_window_days;
  const isStated = valueAt(tree, 'feedback_window_days') !== undefined;
  if (isStated && days !== undefined && daysMax !== undefined && days > daysMax) {
    const message = `\`learning.feedback_window_days\` is ${days}, but decision records are kept for only ${daysMax} days`;
    report.add('out-of-range', placeAt(tree, 'feedback_window_days'), message, {
      expected: `at most ${daysMax}, or a larger \`records.retention_days\``,
      hint: 'an answer can be scored only while the record of its decision is kept',
    });
  }
  warnOfIdle(parts, tree, report);
  const options: Subject = { path: 'learning.options', tree: valueAt(tree, 'options') ?? emptyMap(place), place };
  return {
    /** Null if something is wrong. */
    policy: text && policyOf(text, daysMax ?? text.feedback_window_days),
    /** Null if it is not a name. */
    estimator: parts.estimator ?? null,
    estimatorPlace: placeAt(tree, 'estimator'),
    options,
  };
}

/** Checks the estimator's options, also if the policy is wrong elsewhere. Null if it cannot be used. */
export function compileLearning(
  { policy, estimator, estimatorPlace, options }: LearningDraft,
  { estimators, report }: { readonly estimators: ReadonlyMap<string, EstimatorPlugin>; readonly report: Report },
): LearningPolicy | null {
  if (estimator === null) return null;
  const plugin = estimators.get(estimator);
  if (!plugin) {
    report.addUnknownPlugin('estimator', estimator, estimators.keys(), estimatorPlace);
    return null;
  }
  const checked = options.tree.kind === 'map' ? optionsOf(plugin, options, report) : null;
  return checked && policy && { ...policy, options: checked };
}

function policyOf(text: LearningText, daysMax: number): Omit<LearningPolicy, 'options'> {
  const { explore, feedback_window_days: days, options: _, signals: _former, ...figures } = text;
  return {
    ...camelKeys(figures),
    feedbackWindowMs: Math.min(days, daysMax) * DAY_MS,
    explore: explore ? camelKeys(explore) : null,
  };
}

/** Leaves `explore: off` out: the default is not to explore. */
function withoutOff(section: Tree): Tree {
  if (section.kind !== 'map') return section;
  return { ...section, entries: section.entries.filter(({ key, value }) => key !== 'explore' || !isOff(value)) };
}

const isOff = (tree: Tree): boolean => tree.kind === 'scalar' && tree.value === 'off';

/** Warns of settings without effect. */
function warnOfIdle({ mode, feedback_weight: weight }: Partial<LearningText>, tree: Tree, report: Report): void {
  const explore = entryOf(tree, 'explore');
  if (explore && mode === 'off') {
    report.add('learning-idle', explore.place, '`learning.explore` has no effect while `learning.mode` is `off`', {
      hint: 'set `mode: shadow` or `mode: on`, or remove `explore`',
    });
  }
  if (mode !== undefined && mode !== 'off' && weight === 0) {
    report.add('learning-idle', placeAt(tree, 'mode'), `\`learning.mode\` is \`${mode}\`, but nothing is learned`, {
      hint: '`feedback_weight` is 0: set it above 0',
    });
  }
  const signals = entryOf(tree, 'signals');
  if (signals) {
    report.add('former-key', signals.place, '`learning.signals` has no effect any more', {
      hint: 'Signalbox no longer checks answers for signs of failure: score them with POST /v1/feedback, and remove `signals`',
    });
  }
}

/** The default without a section `learning`, for an estimator without options. */
export const LEARNING_OFF: LearningPolicy = { ...policyOf(Value.Parse(LearningText, {}), Infinity), options: {} };
