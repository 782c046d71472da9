import { TASK_NAMES } from '../../core/tasks.ts';

/** The tasks that words can indicate, in the order of their weights. The remaining task, `vision`, is indicated by images. */
export const TASKS: readonly string[] = TASK_NAMES.filter((name) => name !== 'vision');
