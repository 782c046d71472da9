import type { Task } from '../core/snapshot.ts';
import { TASK_NAMES } from '../core/tasks.ts';
import { TaskText } from './schema.ts';
import { type CheckContext, checkNamed } from './sections.ts';

const GENERAL: Task = { name: 'general', expectedOutputTokens: 400, defaultInputTokens: 500, minUsefulOutput: 64 };
/** Keys of a model's `quality` that are not tasks. */
const NOT_TASKS = ['default', 'basis'];

/** The tasks of the policy and the built-in ones, `general` first. A built-in task without sizes has those of `general`. */
export function compileTasks(scope: CheckContext): Task[] {
  const tasks: Task[] = [];
  for (const { name, data, place } of checkNamed('tasks', TaskText, scope)) {
    if (NOT_TASKS.includes(name)) {
      scope.report.add('bad-name', place, `\`${name}\` cannot be the name of a task: it is a key of \`quality\``);
    }
    tasks.push({
      name,
      // An invalid task keeps its name, so that references to it are not reported too.
      expectedOutputTokens: data?.expected_output_tokens ?? GENERAL.expectedOutputTokens,
      defaultInputTokens: data?.default_input_tokens ?? GENERAL.defaultInputTokens,
      minUsefulOutput: data?.min_useful_output ?? GENERAL.minUsefulOutput,
    });
  }
  const general = tasks.find((task) => task.name === GENERAL.name) ?? GENERAL;
  const others = tasks.filter((task) => task !== general);
  const unsized = TASK_NAMES.filter((name) => ![general, ...others].some((task) => task.name === name));
  return [general, ...others, ...unsized.map((name) => ({ ...general, name }))];
}
