import type { Task } from '../../core/policy/snapshot.ts';
import { type CheckContext, checkNamed } from '../schema/section-checks.ts';
import { TrafficText } from '../schema/traffic.ts';
import { type LanguageVersion, needsLatest } from '../versions.ts';
import shipped from './traffic.json' with { type: 'json' };

/** The typical requests of a task. */
export interface TaskTraffic {
  /** Index of the task. */
  readonly task: number;
  /** The share of all requests, 0..1. */
  readonly share: number;
  /** The share of all hard requests, 0..1. */
  readonly hardShare: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The part of the requests of a task that is hard, if neither the policy nor `traffic.json` states one. */
const HARD = 0.1;

/** Returns the traffic that a policy states, or the shipped one. */
export function draftTraffic(context: CheckContext, tasks: readonly Task[], version: LanguageVersion): TaskTraffic[] {
  const place = context.sections.get('traffic')?.place;
  if (place && version === 1) needsLatest('traffic', place, context.report);
  const guesses = new Map<string, TrafficText>(Object.entries(shipped));
  const stated = new Map<string, TrafficText>();
  const names = tasks.map(({ name }) => name);
  for (const { name, data, place: at } of checkNamed('traffic', TrafficText, context)) {
    if (!names.includes(name)) context.report.addUnknown('task', name, names, at);
    else if (data) stated.set(name, data);
  }
  const mix = tasks.flatMap(({ name, ...sizes }, task) => {
    const text = (stated.size > 0 ? stated : guesses).get(name);
    return text ? [{ task, sizes, text, hard: text.hard ?? guesses.get(name)?.hard ?? HARD }] : [];
  });
  const sumOf = (weights: readonly number[]) => weights.reduce((sum, one) => sum + one, 0);
  const sum = sumOf(mix.map(({ text }) => text.share));
  const hardSum = sumOf(mix.map(({ text, hard }) => text.share * hard));
  return mix.map(({ task, sizes, text, hard }) => ({
    task,
    share: text.share / sum,
    // Without any hard request, the strong tier is derived for the mix of all requests.
    hardShare: hardSum === 0 ? text.share / sum : (text.share * hard) / hardSum,
    inputTokens: text.input_tokens ?? sizes.defaultInputTokens,
    outputTokens: text.output_tokens ?? sizes.expectedOutputTokens,
  }));
}
