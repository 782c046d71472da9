import { TASK_NAMES } from '../../core/tasks.ts';

/** Tasks that words reveal, in the order of their weights; images reveal the other. */
export const TASKS: readonly string[] = TASK_NAMES.filter((name) => name !== 'vision');
