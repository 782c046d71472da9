/** Tasks that exist in every policy. To add a task, add it to `TASK_NAMES` and nowhere else. */
export const TASK_NAMES = [
  'general',
  'chat',
  'coding',
  'math',
  'reasoning',
  'writing',
  'summarization',
  'translation',
  'extraction',
  'classification',
  'tool_use',
  'vision',
] as const;

/** Tasks whose answers are code or run code. For these tasks, a programming language affects how well a model does. */
export const CODE_TASKS: ReadonlySet<string> = new Set(['coding', 'tool_use']);
