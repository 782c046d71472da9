import type { Runtime } from '../runtime/runtime.ts';
import { family, rounded, type Sample } from './exposition.ts';

/** How long the answers are that decisions count on, by task. */
export function taskMetrics({ snapshot: { tasks }, outputs, readings }: Runtime): string {
  const { outputTokens } = readings();
  const of = (figure: (task: string, at: number) => number): Sample[] =>
    tasks.map(({ name }, at) => [{ task: name }, rounded(figure(name, at))]);
  return [
    family(
      'signalbox_task_output_tokens',
      'gauge',
      'Visible output tokens of a choice that are expected, by what the policy declares and what was seen.',
      of((_, at) => outputTokens[at]!),
    ),
    family(
      'signalbox_task_answers',
      'gauge',
      'How many answers of the present moment those that were seen are worth; the declared figure is worth 20.',
      of((name) => outputs.weight(name)),
    ),
  ].join('');
}
