import type { Task } from '../../core/policy/snapshot.ts';
import { type CheckContext, checkNamed } from '../schema/section-checks.ts';
import { TrafficText } from '../schema/traffic.ts';
import { type LanguageVersion, needsLatest } from '../versions.ts';
import shares from './traffic.json' with { type: 'json' };

/** The typical requests of a task. */
export interface TaskTraffic {
  /** Index of the task. */
  readonly task: number;
  /** The share of all requests, 0..1. */
  readonly share: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Returns the traffic that a policy states, or the shipped one. The shares sum to 1. */
export function draftTraffic(context: CheckContext, tasks: readonly Task[], version: LanguageVersion): TaskTraffic[] {
  const stated = checkNamed('traffic', TrafficText, context);
  const place = context.sections.get('traffic')?.place;
  if (place && version === 1) needsLatest('traffic', place, context.report);
  const given = new Map<string, TrafficText>();
  for (const { name, data, place: at } of stated) {
    if (tasks.some((task) => task.name === name)) {
      if (data) given.set(name, data);
    } else
      context.report.addUnknown(
        'task',
        name,
        tasks.map((task) => task.name),
        at,
      );
  }
  const shipped = Object.entries(shares).map(([name, share]) => [name, { share }] as const);
  const mix = given.size > 0 ? given : new Map<string, TrafficText>(shipped);
  const sum = [...mix.values()].reduce((all, { share }) => all + share, 0);
  return tasks.flatMap(({ name, defaultInputTokens, expectedOutputTokens }, task) => {
    const one = mix.get(name);
    if (!one) return [];
    const {
      share,
      input_tokens: inputTokens = defaultInputTokens,
      output_tokens: outputTokens = expectedOutputTokens,
    } = one;
    return [{ task, share: share / sum, inputTokens, outputTokens }];
  });
}
