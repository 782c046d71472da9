import type { EstimatorPlugin } from '../contract/estimator.ts';
import type { PreparedStrategy, StrategyPlugin } from '../contract/strategy.ts';
import { checkOptions, type Subject } from './check.ts';
import type { Report } from './report.ts';

/**
 * Checks what a policy sets for a plugin, by its schema and then by the plugin itself; null where the schema has it otherwise.
 * `inherited` are options that stand where none of their own are stated.
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
      // A JavaScript file may give anything; without this, each request would be ranked as if the strategy had failed.
      const prepared: Partial<PreparedStrategy> | undefined = plugin.prepare(options);
      if (typeof prepared?.score !== 'function') return '`prepare` gives no `score`';
    }
    // Whether options can be used does not hang on the secret.
    else plugin.prepare(options, [0, 0]);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
