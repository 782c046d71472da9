import type { Runtime } from '../runtime/runtime.ts';
import type { Labels, PlainFamily } from '../telemetry/families.ts';
import { rounded } from './endpoint-metrics.ts';

/** How long the answers are that decisions of the policy in force count on, by task. */
export function taskFamilies(lease: () => Runtime): readonly PlainFamily[] {
  const of = (figure: (runtime: Runtime, task: string, at: number) => number) => (): [Labels, number][] => {
    const runtime = lease();
    return runtime.snapshot.tasks.map(({ name }, at) => [{ task: name }, rounded(figure(runtime, name, at))]);
  };
  return [
    {
      name: 'signalbox_task_output_tokens',
      help: 'Visible output tokens of a choice that are expected, by what the policy declares and what was seen.',
      labels: ['task'],
      type: 'gauge',
      samples: of(({ readings }, _, at) => readings().outputTokens[at]!),
    },
    {
      name: 'signalbox_task_answers',
      help: 'How many answers of the present moment those that were seen are worth; the declared figure is worth 20.',
      labels: ['task'],
      type: 'gauge',
      samples: of(({ outputs }, task) => outputs.weight(task)),
    },
  ];
}
