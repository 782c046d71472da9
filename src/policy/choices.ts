import type { StrategyPlugin } from '../contract/strategy.ts';
import type { Selector, Task } from '../core/snapshot.ts';
import { checkOptions } from './check.ts';
import type { Place } from './diagnostics.ts';
import { SelectorText, TaskText } from './schema.ts';
import { checkNamed, emptyMap, type Scope, unknownName } from './scope.ts';
import { entryOf, placeAt, type Tree, valueAt } from './tree.ts';

/** Selectors that every policy has, each with the strategy of its name. */
const BUILT_IN = ['auto', 'auto-fast', 'auto-cheap'] as const;
const GENERAL: Task = { name: 'general', expectedOutputTokens: 400, defaultInputTokens: 500, minUsefulOutput: 64 };
/** Kinds of requests that every caller may name. One that the policy does not size takes the sizes of `general`. */
const ALWAYS = [
  'chat',
  'coding',
  'math',
  'reasoning',
  'writing',
  'summarization',
  'translation',
  'extraction',
  'classification',
  'tool_use',
  'vision',
] as const;
/** Words with a meaning of their own beside task names in a model's `quality`. */
const NOT_TASKS = ['default', 'basis'];

/** The tasks of the policy and those that always exist, `general` first. */
export function compileTasks(scope: Scope): Task[] {
  const tasks: Task[] = [];
  for (const { name, data, place } of checkNamed('tasks', TaskText, scope)) {
    if (NOT_TASKS.includes(name)) {
      scope.report.add('bad-name', place, `\`${name}\` cannot be a task: it has a meaning in \`quality\``);
    }
    tasks.push({
      name,
      // A faulty task keeps its name, so that what refers to it is not reported too.
      expectedOutputTokens: data?.expected_output_tokens ?? GENERAL.expectedOutputTokens,
      defaultInputTokens: data?.default_input_tokens ?? GENERAL.defaultInputTokens,
      minUsefulOutput: data?.min_useful_output ?? GENERAL.minUsefulOutput,
    });
  }
  const general = tasks.find((task) => task.name === GENERAL.name) ?? GENERAL;
  const others = tasks.filter((task) => task !== general);
  const unsized = ALWAYS.filter((name) => !others.some((task) => task.name === name));
  return [general, ...others, ...unsized.map((name) => ({ ...general, name }))];
}

/** The selectors of the policy and those that always exist. */
export function compileSelectors(scope: Scope, modelIds: ReadonlySet<string>): Map<string, Selector> {
  const selectors = new Map<string, Selector>();
  const stated = checkNamed('selectors', SelectorText, scope);
  for (const { name, data, path, tree, place } of stated) {
    if (modelIds.has(name)) refuseClash(name, place, scope);
    if (!data) continue;
    const options = { path: `${path}.options`, tree: valueAt(tree, 'options') ?? emptyMap(place), place };
    const selector = compileSelector(name, data.strategy, placeAt(tree, 'strategy'), options, scope);
    if (selector) selectors.set(name, selector);
  }
  for (const name of BUILT_IN) {
    if (stated.some((selector) => selector.name === name)) continue;
    if (modelIds.has(name)) refuseClash(name, scope.start, scope);
    const place = scope.sections.get('selectors')?.place ?? scope.start;
    const options = { path: `selectors.${name}.options`, tree: emptyMap(place), place };
    const selector = compileSelector(name, name, place, options, scope);
    if (selector) selectors.set(name, selector);
  }
  return selectors;
}

interface Options {
  readonly path: string;
  readonly tree: Tree;
  readonly place: Place;
}

function compileSelector(
  name: string,
  strategy: string,
  place: Place,
  options: Options,
  { strategies, report }: Scope,
): Selector | null {
  const plugin = strategies.get(strategy);
  if (!plugin) {
    unknownName('strategy', strategy, strategies.keys(), place, report);
    return null;
  }
  const checked = checkOptions(plugin.options, options, report);
  if (!checked) return null;
  const refusal = refusalOf(plugin, checked);
  if (refusal !== null) {
    const message = `strategy \`${strategy}\` refuses its options: ${refusal}`;
    report.add('plugin-failed', options.tree.place, message);
  }
  return { name, strategy, options: checked };
}

function refusalOf(plugin: StrategyPlugin, options: Readonly<Record<string, unknown>>): string | null {
  try {
    plugin.prepare(options);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function refuseClash(name: string, place: Place, { sections, report }: Scope): void {
  const models = sections.get('models')?.value;
  const model = models && entryOf(models, name);
  report.add('duplicate-name', place, `\`${name}\` names both a selector and a model`, {
    hint: 'callers give either as `model`, so the names must differ',
    ...(model && { related: { place: model.place, message: 'the model' } }),
  });
}
