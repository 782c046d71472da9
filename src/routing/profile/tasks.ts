import { TASK_NAMES } from '../../core/request/tasks.ts';

/** The tasks that words can indicate, in the order of their weights. Images indicate the remaining task, `vision`. */
export const TASKS: readonly string[] = TASK_NAMES.filter((name) => name !== 'vision');
