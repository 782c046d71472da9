/** Tasks that are told by words; images and forced tools tell the others. */
export const TASKS = [
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
] as const;
