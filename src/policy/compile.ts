import { toNumber } from '../core/decimal.ts';
import type { GatewayPolicy, PolicySnapshot } from '../core/snapshot.ts';
import { environmentFacts, selectAvailable } from './availability.ts';
import { checkValue } from './check.ts';
import { compileSelectors, compileTasks } from './choices.ts';
import { deepFreeze } from './freeze.ts';
import { compileModels } from './models.ts';
import { decimalAt } from './prices.ts';
import { compileProviders } from './providers.ts';
import { CreditsText, GatewayText, RecordsText, ReferencePriceText, SECTIONS, WeightsText } from './schema.ts';
import { checkSection, type Scope, sectionSubject, unknownName } from './scope.ts';

/** A scope before the value of a Credit is known. */
export type CompileInput = Omit<Scope, 'usdPerCredit'>;

/** A compiled policy that still lacks its revision, and the facts of the environment that are part of it. */
export interface Compiled {
  readonly snapshot: Omit<PolicySnapshot, 'revision'>;
  readonly environment: readonly (readonly unknown[])[];
}

const USD_PER_CREDIT = { digits: 1n, scale: 3 };

/** Checks all sections and compiles them; null when anything is wrong, and then the report says what. */
export function compile(input: CompileInput): Compiled | null {
  const usdPerCredit = compileCredits(input);
  const scope: Scope = { ...input, usdPerCredit };
  checkVersion(scope);
  const tasks = compileTasks(scope);
  const taskIndex = new Map(tasks.map((task, index) => [task.name, index]));
  const providerStates = compileProviders(scope);
  const { drafts, ids } = compileModels({ ...scope, providerStates, taskIndex });
  const selectors = compileSelectors(scope, ids);
  const gateway = compileGateway(scope);
  const defaultWeights = compileWeights(scope);
  const referencePrice = compileReferencePrice(scope);
  const answerWorth = compileScalar('answer_worth', scope);
  const records = checkSection('records', RecordsText, scope);
  const baselineId = compileBaseline(ids, scope);
  // Whether anything can be served is asked only of a policy that is right.
  if (scope.report.failed || !gateway || !defaultWeights || !referencePrice || !records) return null;
  const { providers, models, leftOut } = selectAvailable(providerStates, drafts, scope);
  if (scope.report.failed) return null;
  const modelIndex = new Map(models.map((model, index) => [model.id, index]));
  const snapshot = {
    usdPerCredit: toNumber(usdPerCredit),
    gateway,
    tasks,
    taskIndex,
    providers,
    models,
    modelIndex,
    selectors,
    defaultWeights,
    referencePrice,
    answerWorth: answerWorth ?? SECTIONS.answer_worth.default,
    baseline: baselineId === null ? null : (modelIndex.get(baselineId) ?? null),
    recordDays: records.retention_days,
    leftOut,
  };
  return { snapshot: deepFreeze(snapshot), environment: environmentFacts(providerStates) };
}

function checkVersion({ sections, start, report }: Scope): void {
  const entry = sections.get('version');
  if (entry) checkValue(SECTIONS.version, { path: 'version', tree: entry.value, place: entry.place }, report);
  else report.add('no-version', start, 'the policy does not state its `version`', { expected: '`version: 1`' });
}

function compileCredits({ sections, start, report }: CompileInput) {
  const subject = sectionSubject('credits', { sections, start });
  const checked = checkValue(CreditsText, subject, report);
  return (checked && decimalAt(subject.tree, 'usd_per_credit', report)) ?? USD_PER_CREDIT;
}

function compileGateway(scope: Scope): GatewayPolicy | null {
  const text = checkSection('gateway', GatewayText, scope);
  return (
    text && {
      bodyBytesMax: text.body_bytes_max,
      messagesMax: text.messages_max,
      toolsMax: text.tools_max,
      commitAfterMs: text.commit_after_ms,
      alternatives: text.alternatives,
    }
  );
}

function compileWeights(scope: Scope): PolicySnapshot['defaultWeights'] | null {
  const text = checkSection('default_weights', WeightsText, scope);
  if (text?.cost === 0 && text.quality === 0) {
    const { place } = sectionSubject('default_weights', scope);
    scope.report.add('out-of-range', place, 'the weights cannot both be 0', { expected: 'at least one above 0' });
  }
  return text;
}

/** From USD to Credits; a yardstick for weights, so that doubles do. */
function compileReferencePrice(scope: Scope): PolicySnapshot['referencePrice'] | null {
  const text = checkSection('reference_price', ReferencePriceText, scope);
  const usdPerCredit = toNumber(scope.usdPerCredit);
  return text && { input: text.input / usdPerCredit, output: text.output / usdPerCredit };
}

function compileScalar(section: 'answer_worth', { sections, report }: Scope): number | null {
  const entry = sections.get(section);
  return entry ? checkValue(SECTIONS[section], { path: section, tree: entry.value, place: entry.place }, report) : null;
}

/** The ID of the baseline; null for none. A model that is only left out here is fine. */
function compileBaseline(ids: ReadonlySet<string>, { sections, report }: Scope): string | null {
  const entry = sections.get('baseline');
  if (!entry) return null;
  const id = checkValue(SECTIONS.baseline, { path: 'baseline', tree: entry.value, place: entry.place }, report);
  if (id !== null && !ids.has(id)) unknownName('model', id, ids, entry.value.place, report);
  return id;
}
