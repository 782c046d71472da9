import type { EstimatorPlugin } from '../contract/estimator.ts';
import type { PreparedStrategy, StrategyPlugin } from '../contract/strategy.ts';
import { checkOptions, type Subject } from './check.ts';
import type { Report } from './report.ts';

/**
 * Checks the options of a plugin by its schema, then by its `prepare`. Null if they do not fit the schema.
 * `inherited`: options that apply if the policy does not state them.
 */
export function optionsOf(
  plugin: StrategyPlugin | EstimatorPlugin,
  subject: Subject,
  report: Report,
  inherited: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> | null {
  const stated = checkOptions(plugin.options, subject, report);
  if (!stated) return null;
  const options = { ...inherited, ...stated };
  const refusal = refusalOf(plugin, options);
  if (refusal !== null) {
    const message = `${plugin.kind} \`${plugin.name}\` refuses its options: ${refusal}`;
    report.add('plugin-failed', subject.tree.place, message);
  }
  return options;
}

function refusalOf(
  plugin: StrategyPlugin | EstimatorPlugin,
  options: Readonly<Record<string, unknown>>,
): string | null {
  try {
    if (plugin.kind === 'strategy') {
      // JavaScript plugins are not type-checked. Without a `score`, the strategy would fail on every request.
      const prepared: Partial<PreparedStrategy> | undefined = plugin.prepare(options);
      if (typeof prepared?.score !== 'function') return '`prepare` returns no `score` function';
    }
    // The validity of options does not depend on the secret.
    else plugin.prepare(options, [0, 0]);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
