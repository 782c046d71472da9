/** Kinds of requests that always exist, whatever a policy adds. This list is the only place to add one. */
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

/** Tasks whose answers are code, or act on it: there a programming language tells how well a model does. */
export const CODE_TASKS: ReadonlySet<string> = new Set(['coding', 'tool_use']);
