import { closed, mapOf, whole } from '../../core/define/fields.ts';
import type { Task } from '../../core/policy/snapshot.ts';
import { TASK_NAMES } from '../../core/request/tasks.ts';
import { checkNamed } from '../check/section-checks.ts';
import { asDrafted, type DraftContext, defineSection, ORDINARY } from '../define/section.ts';
import { camelKeys } from '../schema/camel-keys.ts';

const tokenCount = (description: string, example: number) =>
  whole(description, { minimum: 1, maximum: 10_000_000, example });

const TaskText = closed('A kind of request, with its usual sizes.', {
  expected_output_tokens: tokenCount('Usual length of the visible output, in tokens.', 400),
  default_input_tokens: tokenCount('Input size of a route query that states none, in tokens.', 500),
  min_useful_output: whole('Length of the shortest useful answer, in tokens.', {
    minimum: 1,
    maximum: 1_000_000,
    default: 64,
  }),
});

/** The section `tasks`: the tasks of the policy and the built-in tasks, `general` first. */
export const TASKS = defineSection({
  name: 'tasks',
  text: mapOf(TaskText, 'Name → task. `general` and the other built-in tasks always exist. Each has sizes of its own.'),
  guard: ORDINARY,
  page: ['Choose', '../route/estimates.md#the-task'],
  draft: draftTasks,
  compile: asDrafted,
});

type TaskSizes = Omit<Task, 'name'>;

const sizes = (expectedOutputTokens: number, defaultInputTokens: number, minUsefulOutput = 64): TaskSizes => ({
  expectedOutputTokens,
  defaultInputTokens,
  minUsefulOutput,
});

/**
 * Usual sizes of the built-in tasks, in tokens. The sizes of tasks are estimates; operators should replace them with figures from their own
 * records.
 */
const TASK_SIZES: Readonly<Record<(typeof TASK_NAMES)[number], TaskSizes>> = {
  general: sizes(400, 500),
  chat: sizes(250, 300),
  coding: sizes(1200, 2000, 128),
  math: sizes(700, 300),
  reasoning: sizes(800, 800),
  writing: sizes(900, 400, 128),
  summarization: sizes(350, 4000),
  translation: sizes(600, 600),
  extraction: sizes(250, 2000, 32),
  classification: sizes(20, 400, 8),
  tool_use: sizes(200, 1500),
  vision: sizes(300, 300),
};

/** Keys of a model's `quality` that are not tasks. */
const NOT_TASKS = ['default', 'basis'];

function draftTasks(scope: DraftContext): readonly Task[] {
  const stated = checkNamed('tasks', TaskText, scope).map(({ name, data, place }): Task => {
    if (NOT_TASKS.includes(name)) {
      scope.report.add('bad-name', place, `\`${name}\` cannot be the name of a task: it is a key of \`quality\``);
    }
    // A task with errors keeps its name, so that references to it are not also reported.
    if (!data) return { name, ...TASK_SIZES.general };
    return { name, ...camelKeys(data) };
  });
  const general = stated.find(({ name }) => name === 'general') ?? { name: 'general', ...TASK_SIZES.general };
  const others = stated.filter((task) => task !== general);
  const unsized = TASK_NAMES.filter((name) => ![general, ...others].some((task) => task.name === name));
  const filled = unsized.map((name) => ({ name, ...TASK_SIZES[name] }));
  return [general, ...others, ...filled];
}
