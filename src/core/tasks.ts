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
