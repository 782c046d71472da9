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
