import { TASK_NAMES } from '../../core/tasks.ts';

/** Tasks that are told by words, in the order of their weights; images tell the other. */
export const TASKS: readonly string[] = TASK_NAMES.filter((name) => name !== 'vision');
