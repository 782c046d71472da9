import type { Task, TaskTraffic } from '../../core/policy/snapshot.ts';
import { type CheckContext, checkNamed } from '../check/section-checks.ts';
import { TrafficText } from '../schema/traffic.ts';
import shipped from './traffic.json' with { type: 'json' };

/** Returns the traffic that a policy states, or the shipped one. */
export function draftTraffic(context: CheckContext, tasks: readonly Task[]): TaskTraffic[] {
  const guesses = new Map<string, TrafficText>(Object.entries(shipped));
  const stated = new Map<string, TrafficText>();
  const names = tasks.map(({ name }) => name);
  for (const { name, data, place: at } of checkNamed('traffic', TrafficText, context)) {
    if (!names.includes(name)) context.report.addUnknown('task', name, names, at);
    else if (data) stated.set(name, data);
  }
  const mix = tasks.flatMap(({ name, ...sizes }, task) => {
    const text = (stated.size > 0 ? stated : guesses).get(name);
    return text ? [{ task, sizes, text }] : [];
  });
  const sum = mix.reduce((total, { text }) => total + text.share, 0);
  return mix.map(({ task, sizes, text }) => ({
    task,
    share: text.share / sum,
    inputTokens: text.input_tokens ?? sizes.defaultInputTokens,
    outputTokens: text.output_tokens ?? sizes.expectedOutputTokens,
  }));
}
